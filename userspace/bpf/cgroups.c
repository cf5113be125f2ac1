// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* kwq-cgroups: see the manual page. */
#include <errno.h>
#include "feed.h"
/* Made of cgroups.bpf.c. It loads the program without a library. */
#include "cgroups.skel.h"

static int start(uint64_t token)
{
	struct cgroups *cgroups = cgroups__open();
	int err;

	if (!cgroups)
		return -ENOMEM;
	cgroups->rodata->token = token;
	err = cgroups__load(cgroups);
	return err < 0 ? err : cgroups__attach(cgroups);
}

static const struct feed cgroups_feed = {
	.name = "kwq-cgroups",
	.help =
	"Adds each cgroup that is throttled (\"cpu NUMBER\") or reaches its memory limit (\"memory NUMBER\")\n"
	"to QUEUE, until it is interrupted. The number is that of its folder in /sys/fs/cgroup (ls -i).\n",
	.start = start,
};

int main(int argc, char **argv)
{
	return feed(&cgroups_feed, argc, argv);
}
