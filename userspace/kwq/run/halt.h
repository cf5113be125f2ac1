/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --halt: when to end early, written as in GNU parallel. Pure.
 */
#ifndef KWQ_HALT_H
#define KWQ_HALT_H

#include <stdbool.h>
#include <stdint.h>

enum halt_when { HALT_NEVER, HALT_SOON, HALT_NOW };
enum halt_why { HALT_FAIL, HALT_SUCCESS, HALT_DONE };

struct halt_spec {
	enum halt_when when;
	enum halt_why why;
	uint64_t bound;	/* jobs: from 1 */
};

/*
 * Parses never, or now or soon, then a comma, then fail, success or done with =N.
 * Returns 0 or -EINVAL. @spec changes only on success.
 */
int halt_spec_parse(struct halt_spec *spec, const char *s);

/* Whether the bound is reached. @failed and @succeeded count jobs that have ended. */
bool halt_is_due(const struct halt_spec *spec, uint64_t failed, uint64_t succeeded);

#endif /* KWQ_HALT_H */
