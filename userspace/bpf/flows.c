// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* kwq-flows: see the manual page. */
#include <errno.h>
#include "feed.h"
/* Made of flows.bpf.c. It loads the program without a library. */
#include "flows.skel.h"

static int start(uint64_t token)
{
	struct flows *flows = flows__open();
	int err;

	if (!flows)
		return -ENOMEM;
	flows->rodata->token = token;
	err = flows__load(flows);
	return err < 0 ? err : flows__attach(flows);
}

static const struct feed flows_feed = {
	.name = "kwq-flows",
	.help =
	"Adds each TCP flow that sends a segment again to QUEUE, until it is interrupted.\n"
	"A key is \"tcp ADDRESS:PORT ADDRESS:PORT\", with the address of this machine first.\n",
	.start = start,
};

int main(int argc, char **argv)
{
	return feed(&flows_feed, argc, argv);
}
