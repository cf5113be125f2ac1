/* SPDX-License-Identifier: GPL-2.0-only */
/* Nobody else looks at the tree. */
#define rcu_assign_pointer(p, v)	((p) = (v))
#define rcu_dereference_raw(p)		(p)
