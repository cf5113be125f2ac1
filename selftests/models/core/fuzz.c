// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same comparison with libFuzzer: any bytes are a sequence of operations.
 */
#include <stdlib.h>
#include <string.h>

#include "sequence.h"

#define LONGEST	1024

static bool differs(const struct op *ops, size_t nr)
{
	struct difference difference;

	return !sequence_run(ops, nr, &difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct op ops[LONGEST];
	struct difference difference;
	size_t nr = size / sizeof(*ops);

	if (nr > LONGEST)
		nr = LONGEST;
	memcpy(ops, data, nr * sizeof(*ops));
	if (sequence_run(ops, nr, &difference))
		return 0;
	nr = sequence_shrink(ops, nr, differs);
	sequence_run(ops, nr, &difference);
	fprintf(stderr, "%s is %lld and not %lld, after %zu operations:\n",
		difference.what[0] ? difference.what : "the answer", difference.got,
		difference.wanted, nr);
	sequence_print(stderr, ops, nr, "found_by_fuzzing", &difference);
	abort();
}
