/* SPDX-License-Identifier: GPL-2.0-only */
/* A warning of the kernel is a failure here. */
#define WARN_ON_ONCE(condition)	({ if (condition) __builtin_trap(); })
