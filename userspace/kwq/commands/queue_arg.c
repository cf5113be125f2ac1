// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The QUEUE argument: NAME, name:NAME or fd:N. Also runs a command that inherits a
 * queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "base/near.h"
#include "base/number.h"
#include "queue/owner.h"
#include "queue/shared.h"

enum { PAGE = 64 };

static const char fd_prefix[] = "fd:";
static const char name_prefix[] = "name:";

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool queue_is_fd(const char *argument)
{
	return has_prefix(argument, fd_prefix);
}

/* name: allows queues with a name such as "fd:3". */
static const char *name_of(const char *argument)
{
	return has_prefix(argument, name_prefix) ?
		argument + strlen(name_prefix) : argument;
}

const char *must_be_name(const char *argument)
{
	if (queue_is_fd(argument))
		usage("%s: must be the name of a queue, not a descriptor", argument);
	return name_of(argument);
}

int open_queue(struct kwq **q, const char *argument, unsigned int rights)
{
	uint64_t fd;

	if (!queue_is_fd(argument))
		return kwq_open(q, name_of(argument), rights, O_CLOEXEC);
	if (parse_number(argument + strlen(fd_prefix), 0, INT_MAX, &fd))
		return -EBADF;
	return kwq_from_fd(q, fd);
}

int open_own_queue(struct kwq **q, const char *argument, unsigned int rights,
		   int open_flags)
{
	struct kwq *theirs;
	int err;

	if (!queue_is_fd(argument))
		return kwq_open(q, name_of(argument), rights, open_flags | O_CLOEXEC);
	err = open_queue(&theirs, argument, rights);
	if (err)
		return err;
	err = kwq_reopen(q, theirs, rights, open_flags | O_CLOEXEC);
	kwq_close(theirs);
	return err;
}

/* Says why a name is none. */
static void complain_name(const char *argument)
{
	const char *name = name_of(argument);

	if (strchr(name, '/'))
		message("%s: names have no slash", argument);
	else if (!*name)
		message("\"%s\": a name has 1 to 255 bytes", argument);
	else
		message("%s: not a valid name", argument);
}

/* Copies the name of the queue that @argument may have meant to @best, or "". */
static void find_near(const char *argument, char best[KWQ_NAME_MAX + 1])
{
	static struct kwq_list_entry entries[PAGE];
	char after[KWQ_NAME_MAX + 1] = "";
	const char *name = name_of(argument);
	struct near near;
	int nr, i;

	*best = '\0';
	near_begin(&near, name, strlen(name));
	while ((nr = kwq_list(entries, PAGE, after)) > 0) {
		for (i = 0; i < nr; i++) {
			name = (const char *)entries[i].name;
			near_offer(&near, name, strlen(name));
			if (near.best == name)
				memcpy(best, entries[i].name, sizeof(entries[i].name));
		}
		/* The next page replaces the entries. */
		near.best = near.best ? best : NULL;
		memcpy(after, entries[nr - 1].name, sizeof(after));
	}
}

static void complain_missing(const char *argument)
{
	char best[KWQ_NAME_MAX + 1], text[ESCAPED_SIZE(KWQ_NAME_MAX)];

	find_near(argument, best);
	if (*best)
		message("%s: %s; did you mean %s?", argument, meaning(-ENOENT),
			escape_text(text, best, strlen(best)));
	else
		message("%s: %s (see kwq ls and kwq create)", argument, meaning(-ENOENT));
}

int complain_open(const char *argument, int err)
{
	if (err == -ENOENT)
		complain_missing(argument);
	else if (err == -EBADF)
		message("%s: not an open descriptor", argument);
	else if (err == -EINVAL)
		complain_name(argument);
	else
		return complain(argument, err);
	return err == -ENOENT ? STATUS_NOT_FOUND : STATUS_FAILED;
}

/* Whether this is the outbox that kwq share makes for a queue. */
static bool is_outbox(const char *name)
{
	static const char end[] = ".outbox";
	size_t len = strlen(name);

	return len >= sizeof(end) && !strcmp(name + len - (sizeof(end) - 1), end);
}

const char *shared_queue(const struct kwq *q)
{
	static char name[ESCAPED_SIZE(KWQ_NAME_MAX)];
	struct kwq_stat st = { .size = sizeof(st) };

	if (kwq_stat(q, &st) || !(st.create_flags & KWQ_CREATE_OUTBOX))
		return NULL;
	return escape_text(name, (const char *)st.name, strlen((const char *)st.name));
}

void tell_nobody_keeps(const char *name, const struct kwq_stat *st)
{
	const char *who = "kwq keep";

	if (st->create_flags & KWQ_CREATE_OUTBOX)
		who = "its manager, such as kwq share";
	else if (is_outbox(name))
		who = "kwq share or kwq keep";
	message("%s: nobody keeps this queue; waiting for %s", name, who);
}

void warn_of_wait(const struct kwq *q, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!kwq_stat(q, &st) && st.create_flags & KWQ_CREATE_SYNC && !st.followers)
		tell_nobody_keeps(name, &st);
}

bool must_reach_all(const struct kwq *q, const char *queue)
{
	const char *name = shared_queue(q);
	int err;

	if (!name)
		return false;
	err = shared_attach(q);
	if (!err)
		return true;
	if (err == -ECONNREFUSED)
		message("%s: this queue is shared, and its keys are reached by kwq share, which does not run here (systemctl start kwq-share@%s)",
			queue, name);
	else
		message("%s: kwq share: %s", queue, meaning(err));
	exit(STATUS_FAILED);
}

int check_owner(const struct kwq *q, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_check_owner(q);

	if (err != -EPERM || kwq_stat(q, &st))
		return err ? complain(name, err) : STATUS_OK;
	message("%s: exists already, and belongs to %s, who can do anything with its keys: it has to be removed first, or created by its owner",
		name, owner_user(st.uid, false));
	return STATUS_FAILED;
}

struct kwq *must_open_queue(const char *argument, unsigned int rights)
{
	struct kwq *q;
	int err = open_queue(&q, argument, rights);

	if (err)
		exit(complain_open(argument, err));
	return q;
}

int open_to_look(struct kwq **q, const char *argument)
{
	int err = open_queue(q, argument, KWQ_RIGHT_READ);

	if (err == -EACCES)
		err = open_queue(q, argument, KWQ_RIGHT_WRITE);
	return err == -EACCES ? open_queue(q, argument, KWQ_RIGHT_MANAGE) : err;
}

struct kwq *must_open_to_look(const char *argument)
{
	struct kwq *q;
	int err = open_to_look(&q, argument);

	if (err)
		exit(complain_open(argument, err));
	return q;
}

int exec_with_queue(struct kwq *q, char **argv)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", kwq_fd(q));
	if (setenv("KWQ_FD", number, 1) || fcntl(kwq_fd(q), F_SETFD, 0)) {
		message("%s", strerror(errno));
		return STATUS_FAILED;
	}
	execvp(argv[0], argv);
	message("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? STATUS_NO_COMMAND : STATUS_CANNOT_RUN;
}
