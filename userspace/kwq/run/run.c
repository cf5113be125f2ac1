// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: parses the options. worker.c does the work.
 */
#include <errno.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "jobs_spec.h"
#include "base/number.h"
#include "processors.h"
#include "kwq/job/template.h"
#include "worker.h"

enum {
	OPT_EXIT_WHEN_EMPTY = OPT_FIRST, OPT_STDIN, OPT_OUTPUT, OPT_RETRY_AFTER,
	OPT_RETRY_MAX, OPT_ON_FAIL, OPT_DROP_ON, OPT_DEAD_ON, OPT_ATTEMPTS,
	OPT_NO_PROGRESS, OPT_HALT, OPT_TIMEOUT, OPT_KILL_AFTER, OPT_CONFIG, OPT_TAG,
	OPT_DRY_RUN, OPT_LOG, OPT_LOG_KEEP,
};

#define NOT_GIVEN UINT64_MAX
#define RETRY_MAX (300 * NS_PER_S)
#define KILL_AFTER (10 * NS_PER_S)
#define LOG_KEEP (7 * 86400 * NS_PER_S)

static const struct option run_options[] = {
	{ "jobs", required_argument, NULL, 'j' },
	{ "max-args", required_argument, NULL, 'n' },
	{ "tag", no_argument, NULL, OPT_TAG },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "exit-when-empty", no_argument, NULL, OPT_EXIT_WHEN_EMPTY },
	{ "stdin", optional_argument, NULL, OPT_STDIN },
	{ "output", required_argument, NULL, OPT_OUTPUT },
	{ "retry-after", required_argument, NULL, OPT_RETRY_AFTER },
	{ "retry-max", required_argument, NULL, OPT_RETRY_MAX },
	{ "on-fail", required_argument, NULL, OPT_ON_FAIL },
	{ "drop-on", required_argument, NULL, OPT_DROP_ON },
	{ "dead-on", required_argument, NULL, OPT_DEAD_ON },
	{ "max-attempts", required_argument, NULL, OPT_ATTEMPTS },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "log-keep", required_argument, NULL, OPT_LOG_KEEP },
	{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
	{ "halt", required_argument, NULL, OPT_HALT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "kill-after", required_argument, NULL, OPT_KILL_AFTER },
	{ "config", required_argument, NULL, OPT_CONFIG },
	OPTION_QUIET, OPTION_VERBOSE, OPTION_HELP, OPTION_END
};

static enum output_mode parse_output(const char *s)
{
	if (!strcmp(s, "group"))
		return OUTPUT_GROUP;
	if (!strcmp(s, "line"))
		return OUTPUT_LINE;
	if (!strcmp(s, "pass"))
		return OUTPUT_PASS;
	if (!strcmp(s, "journal"))
		return OUTPUT_JOURNAL;
	usage("--output %s: must be group, line, pass or journal", s);
}

static enum job_input parse_stdin(const char *s)
{
	if (!s || !strcmp(s, "key"))
		return INPUT_KEY;
	if (!strcmp(s, "value"))
		return INPUT_VALUE;
	usage("--stdin=%s: must be key or value", s);
}

static unsigned int parse_jobs(const char *s)
{
	unsigned int jobs;

	switch (jobs_spec_parse(s, processors(), JOBS_MAX, &jobs)) {
	case 0:
		return jobs;
	case -ERANGE:
		usage("--jobs %s: must be from 1 to %d; 100%% is one a processor", s, JOBS_MAX);
	default:
		usage("--jobs %s: must be a number such as 8, 50%%, +1 or -1", s);
	}
}

static void parse_halt(struct run_options *o, const char *s)
{
	if (halt_spec_parse(&o->halt, s))
		usage("--halt %s: must be such as now,fail=1 or soon,done=30, or never", s);
	o->halt_text = s;
}

static void parse_statuses(struct status_set *set, const char *name, const char *s)
{
	if (status_set_parse(set, s))
		usage("--%s %s: must be statuses from 1 to 255, such as 1,2,100-110", name, s);
}

static void parse_option(struct run_options *o, int opt)
{
	switch (opt) {
	case 'j':
		o->jobs = parse_jobs(optarg);
		break;
	case 'n':
		o->keys_max = must_parse_number("--max-args", optarg, 1, KWQ_BATCH_MAX);
		break;
	case OPT_TAG:
		o->tag = true;
		break;
	case OPT_DRY_RUN:
		o->dry_run = true;
		break;
	case OPT_EXIT_WHEN_EMPTY:
		o->exit_when_empty = true;
		break;
	case OPT_STDIN:
		o->input = parse_stdin(optarg);
		break;
	case OPT_OUTPUT:
		o->output = parse_output(optarg);
		break;
	case OPT_RETRY_AFTER:
		o->retry_after = must_parse_duration("--retry-after", optarg);
		break;
	case OPT_RETRY_MAX:
		o->retry_max = must_parse_duration("--retry-max", optarg);
		break;
	case OPT_ON_FAIL:
		if (fate_parse_on_fail(optarg, &o->fate.on_fail))
			usage("--on-fail %s: must be retry, dead or drop", optarg);
		break;
	case OPT_DROP_ON:
		parse_statuses(&o->fate.drop_on, "drop-on", optarg);
		break;
	case OPT_DEAD_ON:
		parse_statuses(&o->fate.dead_on, "dead-on", optarg);
		break;
	case OPT_TIMEOUT:
		o->timeout = must_parse_duration("--timeout", optarg);
		break;
	case OPT_KILL_AFTER:
		o->kill_after = must_parse_duration("--kill-after", optarg);
		break;
	case OPT_ATTEMPTS:
		o->fate.attempts_max = must_parse_number("--max-attempts", optarg, 1, INT32_MAX);
		break;
	case OPT_LOG:
		o->log = optarg;
		break;
	case OPT_LOG_KEEP:
		o->log_keep = must_parse_duration("--log-keep", optarg);
		break;
	case OPT_HALT:
		parse_halt(o, optarg);
		break;
	case OPT_CONFIG:
		o->config = optarg;
		break;
	case OPT_NO_PROGRESS:
		o->no_progress = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	default:
		option_common(opt);
	}
}

/* Stops at the first argument that is not an option: CMD has options of its own. */
static void parse_options(struct run_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+j:n:qvh", run_options, NULL)) != -1)
		parse_option(o, opt);
}

static void choose_delays(struct run_options *o)
{
	if (o->retry_after == NOT_GIVEN && o->retry_max == NOT_GIVEN) {
		o->use_limiters = true;
		return;
	}
	if (o->retry_after == NOT_GIVEN)
		o->retry_after = NS_PER_S;
	if (o->retry_max == NOT_GIVEN)
		o->retry_max = o->retry_after > RETRY_MAX ? o->retry_after : RETRY_MAX;
	if (o->retry_max < o->retry_after)
		usage("--retry-max is less than --retry-after");
}

static void choose_log(struct run_options *o)
{
	if (o->log && o->output == OUTPUT_PASS)
		usage("--log needs --output group, line or journal: kwq run must see the output");
	if (o->log_keep == NOT_GIVEN)
		o->log_keep = LOG_KEEP;
	else if (!o->log)
		usage("--log-keep needs --log");
}

static void check_statuses(const struct fate_options *fate)
{
	int i;

	for (i = 0; i < 256; i++)
		if (fate->drop_on.has[i] && fate->dead_on.has[i])
			usage("--drop-on and --dead-on both name status %d", i);
}

static void choose_keys(struct run_options *o)
{
	o->many = o->keys_max;
	if (!o->keys_max)
		o->keys_max = 1;
	if (o->many && o->input == INPUT_VALUE)
		usage("--stdin=value: a value belongs to one key; without -n a job has one");
}

static void check_output(const struct run_options *o)
{
	if (o->tag && (o->output == OUTPUT_PASS || o->output == OUTPUT_JOURNAL))
		usage("--tag needs --output group or line: kwq run must see each line%s",
		      o->output == OUTPUT_JOURNAL ? "; entries of the journal have KWQ_KEY" : "");
}

static void check_script(const struct run_options *o)
{
	const char *interpreter = o->input == INPUT_KEY ? NULL : template_script(o->command);

	if (interpreter)
		usage("{} in the script of %s would run parts of a key as code: write \"$1\" there, and sh {} behind the script, or \"$KWQ_KEY\"",
		      interpreter);
	if (o->input != INPUT_KEY && template_is_remote_code(o->command))
		usage("ssh would have the shell of the other machine run parts of a key as code: write --stdin, and ssh HOST 'xargs -0 CMD --'");
}

static int run_main(int argc, char **argv)
{
	struct run_options o = {
		.retry_after = NOT_GIVEN,
		.retry_max = NOT_GIVEN,
		.kill_after = NOT_GIVEN,
		.log_keep = NOT_GIVEN,
	};
	bool ended;

	parse_options(&o, argc, argv);
	ended = options_have_ended(argv);
	if (optind == argc)
		usage("QUEUE is missing");
	o.queue = argv[optind++];
	if (!ended)
		parse_options(&o, argc, argv);
	if (optind == argc)
		usage("CMD is missing");
	o.command = argv + optind;
	choose_keys(&o);
	check_script(&o);
	check_output(&o);
	choose_delays(&o);
	choose_log(&o);
	check_statuses(&o.fate);
	if (o.kill_after == NOT_GIVEN)
		o.kill_after = KILL_AFTER;
	else if (!o.timeout)
		usage("--kill-after needs --timeout");
	if (!o.jobs)
		o.jobs = processors();
	return o.dry_run ? print_commands(&o) : work(&o);
}

const struct command command_run = {
	.name = "run",
	.arguments = "[OPTION...] QUEUE -- CMD [ARGUMENT...]",
	.summary = "Run CMD for every key; the key replaces {} or is the last argument",
	.options =
	"  -j, --jobs N|N%|+N|-N     run N jobs at once; N% of the processors; N more or\n"
	"                            fewer than the processors (100%)\n"
	"  -n, --max-args N          give up to N ready keys to a job; {} stands for all\n"
	"      --tag                 print the key and a tab before each line of output\n"
	"      --dry-run             print the commands for the ready keys; take none\n"
	"      --halt now|soon,fail|success|done=N\n"
	"                            end after N of such jobs; now kills the others\n"
	"      --exit-when-empty     end when nothing is ready, waiting or processing;\n"
	"                            without it, when the queue is shut down and empty\n"
	"      --stdin[=key]         the key is CMD's standard input, not an argument\n"
	"      --stdin=value         what the key carries is CMD's standard input\n"
	"      --output group|line|pass|journal\n"
	"                            print a job's output when the job ends, each line\n"
	"                            when it is complete, or at once (group); or send\n"
	"                            each line to the journal, with the key as KWQ_KEY\n"
	"      --config FILE         lines such as \"jobs 4\", in place of these options:\n"
	"                            jobs, on-fail, max-attempts; SIGHUP reads it again\n"
	"      --on-fail retry|dead|drop\n"
	"                            of a key whose job fails: exit status, signal or\n"
	"                            timeout (retry)\n"
	"      --dead-on STATUS[,...], --drop-on STATUS[,...]\n"
	"                            make it a dead letter, or drop it, after these\n"
	"                            exit statuses or ranges of them\n"
	"      --retry-after DURATION  ignore the queue's limiters: retry this long after\n"
	"                            the first failure, then after twice that ... (1s)\n"
	"      --retry-max DURATION  ... up to this (5m), each up to a quarter longer\n"
	"      --max-attempts N      failure N makes it dead, or drops it with --on-fail drop\n"
	"      --timeout DURATION    end a job that runs for longer, by SIGTERM ...\n"
	"      --kill-after DURATION ... and so long after that by SIGKILL (10s)\n"
	"      --log DIR             keep the status and last output of each job, for kwq log\n"
	"      --log-keep DURATION   ... at least this long (7d)\n"
	"      --no-progress         no progress line\n"
	"  -q, --quiet               print no messages about single keys\n"
	"  -v, --verbose             print a message about each failure, however many\n"
	"  -h, --help\n"
	"\n"
	"{.} is the key without its extension, {/} its last part, {/.} both of these,\n"
	"{//} its directory, {#} the number of the job and {%} that of its slot.\n"
	"CMD has KWQ_KEY, KWQ_VALUE, KWQ_GROUP, KWQ_ATTEMPT, KWQ_ABANDONED and\n"
	"KWQ_TICKET in its environment; with -n KWQ_KEYS, the number of its keys.\n"
	"If a job with several keys fails, each of them runs once more, alone.\n"
	"After SIGTERM or SIGINT running jobs finish and no new one starts.\n"
	"A second signal kills the jobs. Keys that are not done go back to the queue.\n",
	.brief =
	"  -j, --jobs N|N%|+N|-N   run N jobs at once (100%: one for each processor)\n"
	"      --exit-when-empty   end when nothing is ready, waiting or processing\n"
	"  -n, --max-args N        give up to N ready keys to a job\n"
	"      --stdin             the key is CMD's standard input, not an argument\n"
	"      --output group|line|pass|journal\n"
	"                          when a job's output is printed, or where (group)\n"
	"      --on-fail retry|dead|drop\n"
	"                          of a key whose job fails (retry)\n"
	"      --max-attempts N    failure N makes a key dead, or drops it\n"
	"      --timeout DURATION  end a job that runs for longer\n"
	"      --halt now|soon,fail=N\n"
	"                          end after N jobs that failed; now kills the others\n"
	"      --log DIR           keep status and output of each job, for kwq log\n"
	"  -q, --quiet             print no messages about single keys\n"
	"      --help=all          all options\n"
	"\n"
	"{.} is the key without its extension, {/} its last part, {//} its directory.\n"
	"SIGTERM or SIGINT lets running jobs finish; a second one kills them.\n",
	.examples =
	"  kwq run -j 4 thumbs -- convert {} {.}.png   four at once\n"
	"  kwq run --exit-when-empty --on-fail dead q -- ./job\n",
	.table = run_options,
	.main = run_main,
};
