// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "shebang.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "add_result.h"
#include "cmd.h"
#include "config_options.h"
#include "each_key.h"

int shebang_split(int *argc, char ***argv)
{
	size_t words = 0, room;
	char **split, *line, *word, *rest;

	if (*argc < 2 || strncmp((*argv)[1], "run ", 4) || !strstr((*argv)[1], " --shebang"))
		return 0;
	line = strdup((*argv)[1]);
	room = strlen((*argv)[1]) / 2 + 1 + *argc + 1;
	split = calloc(room, sizeof(*split));
	if (!line || !split) {
		free(line);
		free(split);
		return -ENOMEM;
	}
	split[words++] = (*argv)[0];
	for (word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		split[words++] = word;
	memcpy(split + words, *argv + 2, (*argc - 2) * sizeof(*split));
	*argc += words - 2;
	*argv = split;
	return 0;
}

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	struct kwq_add_entry *add = entry;

	(void)key;
	(void)context;
	*add = (struct kwq_add_entry){ .key_len = len };
	return len > KWQ_KEY_MAX ? -EMSGSIZE : (int)len;
}

/* The lines of the script that are left. */
struct script {
	FILE *from;
	char *line;
	size_t room;
	bool begun;
};

static int next_key(void *list, const char **key, size_t *len)
{
	struct script *script = list;
	bool first = !script->begun;
	ssize_t n;

	script->begun = true;
	do {
		n = getline(&script->line, &script->room, script->from);
		if (n < 0)
			return ferror(script->from) ? -EIO : 0;
		if (script->line[n - 1] == '\n')
			n--;
		if (first && n >= 2 && !memcmp(script->line, "#!", 2))
			n = 0;
		first = false;
	} while (!n);
	*key = script->line;
	*len = n;
	return 1;
}

/* Opens the queue, and creates it as kwq create would. */
static int open_or_create(struct kwq **q, const char *queue)
{
	struct config_options config = { 0 };
	struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.mode = 0700,
		.clockid = CLOCK_MONOTONIC,
	};
	int err;

	err = open_queue(q, queue, KWQ_RIGHT_WRITE);
	if (err != -ENOENT || queue_is_fd(queue))
		return err;
	if (module_has(KWQ_FEATURE_LIMITERS))
		options.config = config_options_new(&config);
	err = kwq_create(q, must_be_name(queue), &options);
	/* Another script may have created it meanwhile. */
	return err == -EEXIST ? open_queue(q, queue, KWQ_RIGHT_WRITE) : err;
}

int shebang_add(const char *queue, const char *path)
{
	static const struct key_options options;
	struct script script = { 0 };
	const struct key_verb verb = {
		.entry_size = sizeof(struct kwq_add_entry),
		.fill = fill,
		.submit = kwq_add_batch,
		.outcome = add_result,
		.next = next_key,
		.list = &script,
	};
	char *none[1] = { NULL };
	struct kwq *q;
	int err, status;

	script.from = fopen(path, "re");
	if (!script.from) {
		message("%s: %s", path, strerror(errno));
		return STATUS_FAILED;
	}
	err = open_or_create(&q, queue);
	if (err) {
		fclose(script.from);
		return complain_open(queue, err);
	}
	status = each_key(q, queue, &verb, &options, 0, none);
	kwq_close(q);
	free(script.line);
	fclose(script.from);
	return status;
}
