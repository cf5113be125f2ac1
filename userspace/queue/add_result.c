// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "add_result.h"

#include <kwq.h>

const char *add_result(int result)
{
	switch (result) {
	case KWQ_ADDED:
		return "added";
	case KWQ_COALESCED:
		return "coalesced";
	case KWQ_DIRTIED:
		return "dirtied";
	case KWQ_DIRTY:
		return "dirty";
	case KWQ_WAITING:
		return "waiting";
	case KWQ_DEAD:
		return "dead";
	default:
		return "taken";
	}
}
