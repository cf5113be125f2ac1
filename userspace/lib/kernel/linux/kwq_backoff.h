/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#include "../../internal.h"
