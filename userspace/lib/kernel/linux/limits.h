/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#include_next <linux/limits.h>

#define U32_MAX	UINT32_MAX
#define S64_MAX	INT64_MAX
