/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * N5, N6: if the network loses messages for any time, and then is calm, each ready key is granted and done. A
 * machine may die.
 */
#define EPOCHS		1
#define LOSSES		FOREVER
#define LIVE
#include "share.pml"

#define IS_SERVED	(world == ADDS && seen == ADDS && !a && job[0] == NOTHING && job[1] == NOTHING)

ltl all_is_served { <>calm -> <>[]IS_SERVED }
