/* SPDX-License-Identifier: GPL-2.0-only */
/* The Makefile defines the macros of linux/export.h. */
