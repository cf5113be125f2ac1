// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"

enum { PAGE = 64 };

void gather_init(struct gather *g, char **arguments)
{
	size_t nr = 0, i;
	int err;

	memset(g, 0, sizeof(*g));
	g->arguments = arguments;
	while (arguments[nr])
		nr++;
	g->inherited = calloc(nr + 1, sizeof(*g->inherited));
	if (!g->inherited)
		exit(complain("memory", -ENOMEM));
	for (i = 0; i < nr; i++) {
		if (!queue_is_fd(arguments[i])) {
			const char *name = must_be_name(arguments[i]);

			if (!*name || strchr(name, '/'))
				exit(complain_open(arguments[i], -EINVAL));
			if (strlen(name) > KWQ_NAME_MAX)
				exit(complain_open(arguments[i], -ENAMETOOLONG));
			continue;
		}
		err = open_to_look(&g->inherited[i], arguments[i]);
		if (err)
			exit(complain_open(arguments[i], err));
	}
}

/* Adds the numbers of one queue. A queue that cannot be read is left out. */
static int take(struct gather *g, const struct kwq *q, const char *name)
{
	struct metrics_queue *m;

	if (g->nr == g->room) {
		size_t room = g->room ? 2 * g->room : PAGE;

		m = reallocarray(g->queues, room, sizeof(*m));
		if (!m)
			return -ENOMEM;
		g->queues = m;
		g->room = room;
	}
	m = &g->queues[g->nr];
	m->stat.size = sizeof(m->stat);
	if (!kwq_stat(q, &m->stat)) {
		metrics_label(m, name ? name : (const char *)m->stat.name);
		g->nr++;
	}
	return 0;
}

static int take_name(struct gather *g, const char *name)
{
	struct kwq *q;
	int err = kwq_open(&q, name, KWQ_RIGHT_READ, O_CLOEXEC);

	if (err == -EACCES)
		err = kwq_open(&q, name, KWQ_RIGHT_WRITE, O_CLOEXEC);
	if (err == -EACCES)
		err = kwq_open(&q, name, KWQ_RIGHT_MANAGE, O_CLOEXEC);
	if (!err) {
		err = take(g, q, name);
		kwq_close(q);
		return err;
	}
	/* Errors of the machine or of this process, not of the queue. */
	return err == -ENODEV || err == -EMFILE || err == -ENFILE || err == -ENOMEM ? err : 0;
}

static int take_all(struct gather *g)
{
	struct kwq_list_entry entries[PAGE];
	char after[KWQ_NAME_MAX + 1] = "";
	int nr, i, err;

	while ((nr = kwq_list(entries, PAGE, after)) > 0) {
		for (i = 0; i < nr; i++) {
			err = take_name(g, (const char *)entries[i].name);
			if (err)
				return err;
		}
		memcpy(after, entries[nr - 1].name, sizeof(after));
	}
	return nr;
}

static int take_argument(struct gather *g, size_t i)
{
	const struct kwq *q = g->inherited[i];
	const char *argument = g->arguments[i];
	struct kwq_stat st = { .size = sizeof(st) };
	char label[16];

	if (!q)
		return take_name(g, must_be_name(argument));
	/* The label of a queue without a name: fd:N without leading zeros. */
	snprintf(label, sizeof(label), "fd:%d", kwq_fd(q));
	if (kwq_stat(q, &st))
		return 0;
	return take(g, q, st.name[0] ? NULL : label);
}

int gather(struct gather *g)
{
	int err = 0;
	size_t i;

	g->nr = 0;
	if (!g->arguments[0])
		err = take_all(g);
	for (i = 0; !err && g->arguments[i]; i++)
		err = take_argument(g, i);
	if (err)
		g->nr = 0;
	g->nr = metrics_unique(g->queues, g->nr);
	return err;
}

int gather_open(const struct gather *g, const struct metrics_queue *m, unsigned int rights,
		struct kwq **q)
{
	int fd;
	size_t i;

	if (m->stat.name[0])
		return kwq_open(q, (const char *)m->stat.name, rights, O_CLOEXEC);
	if (sscanf(m->label, "fd:%d", &fd) != 1)
		return -ENOENT;
	for (i = 0; g->arguments[i]; i++)
		if (g->inherited[i] && kwq_fd(g->inherited[i]) == fd)
			return kwq_reopen(q, g->inherited[i], rights, O_CLOEXEC);
	return -ENOENT;
}

void gather_free(struct gather *g)
{
	size_t i;

	for (i = 0; g->arguments[i]; i++)
		kwq_close(g->inherited[i]);
	free(g->inherited);
	free(g->queues);
}
