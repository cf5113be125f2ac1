/* SPDX-License-Identifier: GPL-2.0-only */
/* The Makefile says what there is to it. */
