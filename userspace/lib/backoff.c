// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kernel's arithmetic, compiled once more: what it wants of the kernel's headers
 * is in the folder kernel.
 */
#include "../../kmod/backoff.c"
