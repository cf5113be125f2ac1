// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compiles the kernel's backoff arithmetic for the library. The folder kernel/ has the
 * few kernel headers that it needs.
 */
#include "../../kmod/core/backoff.c"
