/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#define EXPORT_SYMBOL_GPL(symbol)	struct symbol
