// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "foreign.h"

#include <stddef.h>
#include <string.h>

#include "cmd.h"

static const struct {
	const char *words;	/* with a space before and behind each */
	const char *here;
} commands[] = {
	/* A queue. */
	{ " new make mk mkqueue ", "create" },
	{ " list queues list-tubes list-tubes-watched list-tube-used ", "ls" },
	{ " stats stats-tube info show inspect describe ", "stat" },
	{ " -s ", "status" },
	{ " size count depth length ", "len" },
	{ " quota usage ulimit ", "limits" },
	{ " pause-tube suspend stop stash ", "pause" },
	{ " unpause unsuspend continue cont start ", "resume" },
	{ " destroy unlink rmqueue delete-queue reset -K ", "rm --force" },
	{ " config set ", "configure" },
	{ " dump export backup ", "save" },
	{ " import restore ", "load" },
	{ " monitor watch htop ", "top" },
	/* Keys. */
	{ " put push enqueue lpush rpush insert submit send append ", "add" },
	{ " reserve reserve-with-timeout reserve-job pop dequeue take fetch lpop rpop receive "
	  "next shift ", "get" },
	{ " delete del -r ", "remove" },
	{ " ack finish complete ", "done" },
	{ " release nack requeue return unreserve ", "done --return" },
	{ " reject ", "done --dead" },
	{ " touch renew heartbeat ", "extend" },
	{ " peek-ready ", "peek --ready" },
	{ " peek-delayed ", "peek --waiting" },
	{ " peek-buried ", "peek --dead" },
	{ " kick-job retry unbury ", "kick" },
	{ " stats-job -i jobs ", "keys --long" },
	{ " clean -C ", "dead drop --all" },
	{ " failed dlq dead-letters ", "dead ls" },
	{ " switch -u ", "edit --priority" },
	{ " delay schedule at ", "add --after" },
	/* Jobs. */
	{ " work worker exec xargs each foreach ", "run" },
	{ " parallel -S ", "run-ctl --jobs" },
	{ " logs finished history ", "log" },
	{ " tail output -c -t ", "follow" },
	{ " -k signal ", "kill" },
	{ " inotify watch-dir watchfiles ", "watch-files" },
	{ " metrics prometheus ", "exporter" },
	{ " version -v ", "--version" },
	{ " -l ", "ls" },
};

static const struct {
	const char *subcommand;
	const char *options;	/* as above */
	const char *instead;
} options[] = {
	{ "run", " -P --max-procs ", "kwq's option is --jobs" },
	{ "run", " -I -i --replace ", "not needed: {} is always replaced" },
	{ "run", " -L --max-lines --max-replace-args ", "kwq's option is --max-args" },
	{ "run", " -a --arg-file ", "keys come from the queue: kwq add QUEUE <FILE" },
	{ "run", " -0 --null -d --delimiter ",
	  "keys come from the queue: kwq add --null QUEUE" },
	{ "run", " -r --no-run-if-empty ", "not needed: nothing runs without a key" },
	{ "run", " -m ", "kwq's option is --xargs" },
	{ "run", " --dryrun ", "kwq's option is --dry-run" },
	{ "run", " -C --colsep ", "a key can carry more text: kwq add --value" },
	{ "run", " --retries ", "kwq's option is --max-attempts" },
	{ "run", " -u --ungroup ", "kwq's option is --output pass" },
	{ "run", " --group ", "kwq's option is --output group" },
	{ "run", " --lb --line-buffer --linebuffer ", "kwq's option is --output line" },
	{ "run", " --pipe --pipepart --pipe-part ", "kwq's option is --stdin" },
	{ "run", " --progress ", "not needed: a terminal shows it; see --eta and --bar" },
	{ "run", " --results --res ",
	  "kwq's option is --log" },
	{ "run", " --tmpdir ", "kwq uses the folder of the variable TMPDIR" },
	{ "run", " -t ", "kwq's option is --verbose" },
	{ "run", " -S --sshlogin --sshloginfile --slf ",
	  "kwq run starts no jobs on other machines" },
	{ "run", " --will-cite --citation ", "not needed" },
	{ "run", " --ttr --ttl ", "the queue has it: kwq create --lease" },
	{ "add", " -d --delay ", "kwq's option is --after" },
	{ "add", " --ttr ", "the queue has it: kwq create --lease" },
	{ "add", " -l --label ", "a key can carry a text: --value" },
	{ "add", " -s --stashed ", "kwq pause hands out no key of a queue until kwq resume" },
	{ "add", " --pri ", "kwq's option is --priority" },
	{ "get", " --wait ", "not needed: kwq get waits; see --timeout and --nonblock" },
	{ "get", " --limit --max ", "kwq's option is --count" },
	{ "create", " --ttr --ttl --visibility-timeout ", "kwq's option is --lease" },
	{ "create", " --retries --max-attempts --max-retries ", "kwq's option is --dead-after" },
	{ "configure", " --retries --max-attempts --max-retries ", "kwq's option is --dead-after" },
	{ "pause", " -w --wait --delay ", "kwq's option is --for" },
	{ "drain", " -t -w --wait ", "kwq's option is --timeout" },
	{ "kill", " -1 -2 -3 -6 -9 -15 -H -I -K -T -U -S -Q ",
	  "kwq's option is --signal, such as --signal TERM" },
	{ "rm", " -r -R ", "not needed: --force removes a queue with its keys" },
	{ "follow", " -f --follow ", "not needed: kwq follow follows anyhow" },
	{ "run-ctl", " -P --max-procs --parallel ", "kwq's option is --jobs" },
	{ "top", " -d --delay ", "kwq's option is --interval" },
	{ "top", " -b --batch ", "kwq's option is --once" },
};

/* Whether the words contain the word, with spaces round it. */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);
	const char *at = words;

	if (!len || strchr(word, ' '))
		return false;
	while ((at = strstr(at, word))) {
		if (at > words && at[-1] == ' ' && at[len] == ' ')
			return true;
		at += len;
	}
	return false;
}

const char *foreign_command(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (has_word(commands[i].words, word))
			return commands[i].here;
	return NULL;
}

const char *foreign_option(const char *subcommand, const char *option)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].subcommand, subcommand) &&
		    has_word(options[i].options, option))
			return options[i].instead;
	return NULL;
}

const char *foreign_list(char **arguments)
{
	static const char *const lists[] = { ":::", ":::+", "::::", "::::+" };
	size_t i;

	for (; *arguments && strcmp(*arguments, "--"); arguments++)
		for (i = 0; i < ARRAY_SIZE(lists); i++)
			if (!strcmp(*arguments, lists[i]))
				return lists[i];
	return NULL;
}
