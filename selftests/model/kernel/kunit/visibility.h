/* SPDX-License-Identifier: GPL-2.0-only */
/* Of what is in linux/export.h the Makefile says what there is to it. */
