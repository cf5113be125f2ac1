// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq ls
 */
#include <string.h>

#include "cmd.h"
#include "escape.h"

enum { PAGE = 64 };

static const struct option ls_options[] = {
	{ "long", no_argument, NULL, 'l' },
	OPTION_NULL, OPTION_JSON, OPTION_HELP, OPTION_END
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

static void print_entry(const struct kwq_list_entry *entry, enum format format,
			bool first)
{
	const char *name = (const char *)entry->name;
	size_t len = strlen(name);

	switch (format) {
	case FORMAT_NULL:
		fwrite(name, 1, len + 1, stdout);
		break;
	case FORMAT_JSON:
		fputs(first ? "[\n{" : ",\n{", stdout);
		json_bytes(stdout, "name", name, len);
		printf(",\"uid\":%u,\"gid\":%u,\"mode\":\"%04o\"}", entry->uid,
		       entry->gid, entry->mode);
		break;
	case FORMAT_LONG:
		print_mode(entry->mode);
		printf(" %5u %5u ", entry->uid, entry->gid);
		print_line(name, len);
		break;
	case FORMAT_NAMES:
		print_line(name, len);
		break;
	}
}

static int ls_main(int argc, char **argv)
{
	static struct kwq_list_entry entries[PAGE];
	char after[KWQ_NAME_MAX + 1] = "";
	enum format format = FORMAT_NAMES;
	bool first = true;
	int opt, nr, i;

	while ((opt = getopt_long(argc, argv, "l0h", ls_options, NULL)) != -1) {
		switch (opt) {
		case 'l':
			format = FORMAT_LONG;
			break;
		case '0':
			format = FORMAT_NULL;
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

	while ((nr = kwq_list(entries, PAGE, after)) > 0) {
		for (i = 0; i < nr; i++, first = false)
			print_entry(&entries[i], format, first);
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
	"  -l, --long       print mode, owner and group, too\n"
	"  -0, --null       print names unescaped, each ended by NUL\n"
	"      --json       print a JSON array\n"
	"  -h, --help\n",
	.main = ls_main,
};
