// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq ls
 */
#include <inttypes.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "queue/owner.h"

enum { PAGE = 64 };

static const struct option ls_options[] = {
	{ "long", no_argument, NULL, 'l' },
	{ "numeric", no_argument, NULL, 'n' },
	OPTION_NULL, OPTION_NO_HEADINGS, OPTION_JSON, OPTION_HELP, OPTION_END
};

enum format { FORMAT_NAMES, FORMAT_LONG, FORMAT_NULL, FORMAT_JSON };

static void print_line(const char *name, size_t len)
{
	print_escaped(stdout, name, len);
	putchar('\n');
}

/* Prints the mode as ls(1) does: owner, group, others. */
static void print_mode(unsigned int mode)
{
	int bit;

	for (bit = 8; bit >= 0; bit--)
		putchar(mode & 1U << bit ? "xwr"[bit % 3] : '-');
}

/* Reads how many keys are ready. Returns false if the queue may not be opened, or is gone. */
static bool read_depth(const char *name, uint64_t *ready)
{
	struct kwq_stat st = { .size = sizeof(st) };
	char argument[sizeof("name:") + KWQ_NAME_MAX];
	struct kwq *q;
	bool known;

	snprintf(argument, sizeof(argument), "name:%s", name);
	if (open_to_look(&q, argument))
		return false;
	known = !kwq_stat(q, &st);
	kwq_close(q);
	*ready = st.ready;
	return known;
}

static void print_header(void)
{
	printf("%-9s %-8s %-8s %7s %s\n", "MODE", "OWNER", "GROUP", "READY", "NAME");
}

static void print_long(const struct kwq_list_entry *entry, bool numeric)
{
	const char *name = (const char *)entry->name;
	uint64_t ready;

	print_mode(entry->mode);
	printf(" %-8s ", owner_user(entry->uid, numeric));
	printf("%-8s ", owner_group(entry->gid, numeric));
	if (read_depth(name, &ready))
		printf("%7" PRIu64 " ", ready);
	else
		printf("%7s ", "-");
	print_line(name, strlen(name));
}

/* The depth is null if it is not known. */
static void print_json(const struct kwq_list_entry *entry)
{
	const char *name = (const char *)entry->name, *owner;
	uint64_t ready;

	json_bytes(stdout, "name", name, strlen(name));
	printf(",\"uid\":%u,\"gid\":%u,\"mode\":\"%04o\",", entry->uid, entry->gid,
	       entry->mode);
	owner = owner_user(entry->uid, false);
	json_bytes(stdout, "owner", owner, strlen(owner));
	putchar(',');
	owner = owner_group(entry->gid, false);
	json_bytes(stdout, "group", owner, strlen(owner));
	if (read_depth(name, &ready))
		printf(",\"ready\":%" PRIu64 "}", ready);
	else
		fputs(",\"ready\":null}", stdout);
}

/* What stands before a name that as an argument would be an option, or mean something else. */
static const char *prefix_of(const char *name)
{
	if (*name == '-' || !strncmp(name, "fd:", 3) || !strncmp(name, "name:", 5))
		return "name:";
	return "";
}

static void print_entry(const struct kwq_list_entry *entry, enum format format,
			bool numeric, bool first)
{
	const char *name = (const char *)entry->name;
	size_t len = strlen(name);

	switch (format) {
	case FORMAT_NULL:
		fputs(prefix_of(name), stdout);
		fwrite(name, 1, len + 1, stdout);
		break;
	case FORMAT_JSON:
		fputs(first ? "[\n{" : ",\n{", stdout);
		print_json(entry);
		break;
	case FORMAT_LONG:
		print_long(entry, numeric);
		break;
	case FORMAT_NAMES:
		fputs(prefix_of(name), stdout);
		print_line(name, len);
		break;
	}
}

static int ls_main(int argc, char **argv)
{
	static struct kwq_list_entry entries[PAGE];
	char after[KWQ_NAME_MAX + 1] = "";
	enum format format = FORMAT_NAMES;
	bool first = true, numeric = false, no_headings = false;
	int opt, nr, i;

	while ((opt = getopt_long(argc, argv, "ln0Hh", ls_options, NULL)) != -1) {
		switch (opt) {
		case 'l':
			format = FORMAT_LONG;
			break;
		case 'n':
			format = FORMAT_LONG;
			numeric = true;
			break;
		case '0':
			format = FORMAT_NULL;
			break;
		case 'H':
			no_headings = true;
			break;
		case OPT_JSON:
			format = FORMAT_JSON;
			break;
		default:
			option_common(opt);
		}
	}
	if (optind < argc)
		usage("\"%s\" is one argument too many", argv[optind]);
	if (no_headings && format != FORMAT_LONG)
		usage("--no-headings needs --long or --numeric: nothing else has a header");

	while ((nr = kwq_list(entries, PAGE, after)) >= 0) {
		/* Not before the first page has come: it may be an error. */
		if (first && format == FORMAT_LONG && !no_headings)
			print_header();
		if (!nr)
			break;
		for (i = 0; i < nr; i++, first = false)
			print_entry(&entries[i], format, numeric, first);
		memcpy(after, entries[nr - 1].name, sizeof(after));
	}
	if (nr < 0)
		return complain("/dev/kwq", nr);
	if (format == FORMAT_JSON)
		puts(first ? "[]" : "\n]");
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

const struct command command_ls = {
	.name = "ls",
	.arguments = "[OPTION...]",
	.summary = "List the named queues",
	.options =
	"  -l, --long         print mode, owner, group and the number of ready keys, too\n"
	"  -n, --numeric      as --long, with the numbers of owner and group\n"
	"  -H, --no-headings  with --long or --numeric: no header line\n"
	"  -0, --null         print names unescaped, each ended by NUL, as arguments\n"
	"      --json         print a JSON array\n"
	"  -h, --help\n"
	"\n"
	"The number is - if the queue may not be opened.\n"
	"\n"
	"  kwq ls -l                        who owns which queue, and how long is it?\n"
	"  kwq ls -0 | xargs -0 -n1 kwq rm  remove all queues without keys\n",
	.table = ls_options,
	.main = ls_main,
};
