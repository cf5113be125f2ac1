// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Job output and the progress line.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "kwq/job/job.h"
#include "base/output.h"
#include "base/progress.h"
#include "tap.h"

static char written[1 << 20];

/* The file that receives a stream's output in these tests. */
static int target;

static void new_target(void)
{
	if (target)
		close(target);
	target = memfd_create("target", 0);
}

static const char *so_far(void)
{
	ssize_t len = pread(target, written, sizeof(written) - 1, 0);

	written[len < 0 ? 0 : len] = '\0';
	return written;
}

static void child_writes(const struct stream *s, const char *text)
{
	if (write(s->child_fd, text, strlen(text)) < 0)
		perror("write");
}

static int bytes_left(int pipe)
{
	int nr = -1;

	ioctl(pipe, FIONREAD, &nr);
	return nr;
}

static void test_lines(void)
{
	struct stream s = { 0 };

	new_target();
	is_number(stream_open(&s, OUTPUT_LINE, target), 0, "a stream by lines opens");
	is_number(stream_pump(&s), 0, "nothing there yet");
	child_writes(&s, "one\ntwo");
	stream_pump(&s);
	is_string(so_far(), "one\n", "a complete line goes out, half a line stays");
	child_writes(&s, "\nthree\nfour");
	stream_pump(&s);
	is_string(so_far(), "one\ntwo\nthree\n", "until it is complete");
	ok(stream_has_output(&s, OUTPUT_LINE), "half a line is output still to come");
	child_writes(&s, "\nfive");
	is_number(stream_flush(&s, OUTPUT_LINE), 0, "at the job's end");
	is_string(so_far(), "one\ntwo\nthree\nfour\nfive\n",
		  "the rest goes out, and a newline behind it");
	ok(!stream_has_output(&s, OUTPUT_LINE), "then nothing is left");
	stream_started(&s);
	is_number(stream_pump(&s), 1, "the end is told when no writer is left");
	stream_close(&s);
	is_number(s.fd, -1, "closed");
	free(s.line);
}

static void test_long_line(void)
{
	enum { LEN = 3 * OUTPUT_LINE_MAX + 5 };
	char *text = malloc(LEN + 1);
	struct stream s = { 0 };

	memset(text, 'x', LEN);
	text[LEN] = '\0';
	new_target();
	stream_open(&s, OUTPUT_LINE, target);
	child_writes(&s, text);
	stream_flush(&s, OUTPUT_LINE);
	so_far();
	ok(strlen(written) == LEN + 1 && !memcmp(written, text, LEN) && written[LEN] == '\n',
	   "a line that is longer than the room comes through whole");
	stream_close(&s);
	free(s.line);
	free(text);
}

/* U6: a limit of the file size stands for a full file system. */
static void test_room(void)
{
	const struct rlimit limit = { 0, RLIM_INFINITY };
	int fd = output_open_room(), err;
	struct rlimit was;
	struct stat st;

	ok(fd >= 0, "U6: a file to look for room");
	is_number(output_check_room(fd), 0, "U6: there is some");
	ok(!fstat(fd, &st) && !st.st_size && !st.st_blocks, "U6: the look needs none for long");
	getrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	err = output_check_room(fd);
	/* The output of this test may be a file, too. */
	setrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, SIG_DFL);
	is_number(err, -EFBIG, "U6: there is none");
	is_number(output_check_room(fd), 0, "U6: there is some again");
	close(fd);
}

static void test_group(void)
{
	struct stream s = { 0 };
	struct stat st;
	char *text = malloc(300001);

	new_target();
	is_number(stream_open(&s, OUTPUT_GROUP, target), 0, "a stream by groups opens");
	ok(!fstat(s.fd, &st) && S_ISREG(st.st_mode) && !st.st_nlink,
	   "it is a file without a name");
	ok(!stream_has_output(&s, OUTPUT_GROUP), "without output at first");
	memset(text, 'y', 300000);
	text[300000] = '\0';
	child_writes(&s, text);
	is_string(so_far(), "", "nothing goes out while the job runs");
	ok(stream_has_output(&s, OUTPUT_GROUP), "but there is some");
	is_number(stream_flush(&s, OUTPUT_GROUP), 0, "at the job's end");
	ok(!strcmp(so_far(), text), "all of it goes out, unchanged");
	stream_close(&s);

	setenv("TMPDIR", "/nonexistent", 1);
	is_number(stream_open(&s, OUTPUT_GROUP, target), 0, "also without a folder for it");
	stream_close(&s);
	unsetenv("TMPDIR");
	free(text);
}

static void test_errors(void)
{
	struct stream s = { 0 };
	int full = open("/dev/full", O_WRONLY);

	stream_open(&s, OUTPUT_GROUP, full);
	child_writes(&s, "lost\n");
	is_number(stream_flush(&s, OUTPUT_GROUP), -ENOSPC, "an error of writing is told");
	stream_close(&s);
	stream_open(&s, OUTPUT_LINE, full);
	child_writes(&s, "lost\n");
	is_number(stream_pump(&s), -ENOSPC, "also line by line");
	stream_close(&s);
	free(s.line);
	stream_open(&s, OUTPUT_PASS, full);
	ok(s.fd < 0 && s.child_fd < 0 && !stream_has_output(&s, OUTPUT_PASS),
	   "what is passed on needs nothing");
	is_number(stream_flush(&s, OUTPUT_PASS), 0, "and there is nothing to write");
	stream_close(&s);
	close(full);
}

static void test_unreadable(void)
{
	struct stream s = { 0 };

	new_target();
	stream_open(&s, OUTPUT_GROUP, target);
	child_writes(&s, "lost\n");
	close(s.fd);
	s.fd = open("/dev/null", O_WRONLY);
	is_number(stream_flush(&s, OUTPUT_GROUP), -EBADF, "an error of reading is not the end");
	stream_close(&s);
}

static void test_after_error(void)
{
	struct stream s = { 0 };
	int full = open("/dev/full", O_WRONLY);

	stream_open(&s, OUTPUT_LINE, full);
	child_writes(&s, "lost\n");
	stream_pump(&s);
	new_target();
	s.target = target;
	child_writes(&s, "more\n");
	is_number(stream_pump(&s), 0, "an error is told once");
	is_number(bytes_left(s.fd), 0, "what comes after it is read");
	is_string(so_far(), "", "and dropped");
	is_number(stream_flush(&s, OUTPUT_LINE), -ENOSPC, "but not forgotten");
	stream_close(&s);
	free(s.line);
	close(full);
}

/* State of the callback of write_watch() in these tests. */
struct watched {
	int signals[2], target[2];
	int left;	/* calls until it gives up */
	bool drain;
};

static bool take(void *arg)
{
	struct watched *w = arg;
	char byte;

	if (read(w->signals[0], &byte, 1) != 1)
		perror("read");
	if (w->drain)
		while (bytes_left(w->target[0]) && read(w->target[0], written, sizeof(written)) > 0)
			;
	return --w->left > 0;
}

static void open_watched(struct watched *w)
{
	if (pipe(w->signals) || pipe(w->target))
		perror("pipe");
	write_watch(w->signals[0], take, w);
}

static void close_watched(struct watched *w)
{
	write_watch(-1, NULL, NULL);
	close(w->signals[0]);
	close(w->signals[1]);
	close(w->target[0]);
	close(w->target[1]);
}

static void test_interrupted(void)
{
	struct watched w = { .left = 2 };
	static char text[100000];

	open_watched(&w);
	if (write(w.signals[1], "12", 2) != 2)
		perror("write");
	is_number(write_all(w.target[1], text, sizeof(text)), -ECANCELED,
		  "a write to a full pipe is given up");
	is_number(w.left, 0, "at the second signal");
	is_number(write_all(w.target[1], text, sizeof(text)), -ECANCELED, "as is the next one");
	is_number(bytes_left(w.signals[0]), 0, "which asks nobody");
	close_watched(&w);

	w = (struct watched){ .left = 2, .drain = true };
	open_watched(&w);
	fcntl(w.target[1], F_SETPIPE_SZ, 65536);
	memset(text, 'z', 65536);
	if (write(w.target[1], text, 65536) != 65536 || write(w.signals[1], "1", 1) != 1)
		perror("write");
	is_number(write_all(w.target[1], "more", 4), 0, "one signal does not");
	is_number(bytes_left(w.target[0]), 4, "lose any output");
	close_watched(&w);
}

/* A child outside the job's process group. */
static void test_kill(void)
{
	struct job job = { .pid = fork(), .pidfd = -1 };
	int status;

	if (!job.pid)
		for (;;)
			pause();
	job_kill(&job);
	status = job_reap(&job);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	   "a job that left its group is killed");
}

/* The number of columns of a line, without its colour codes. */
static size_t columns(const char *line)
{
	size_t nr = 0;

	while (*line) {
		if (*line == '\033') {
			line += strcspn(line, "m") + 1;
			continue;
		}
		nr++;
		line++;
	}
	return nr;
}

static void test_progress(void)
{
	const struct progress_counts some = {
		.done = 30, .failed = 1, .retried = 2, .running = 4, .held = 4,
		.ready = 20, .waiting = 5,
	};
	const struct progress_counts most = {
		.done = UINT64_MAX / 2, .failed = UINT64_MAX / 4, .retried = UINT64_MAX,
		.running = UINT32_MAX, .held = UINT32_MAX, .ready = 1000, .waiting = 1000,
	};
	const struct progress_counts none = { 0 };
	struct progress_counts dead;
	char line[512];
	bool fits = true;
	unsigned int width;

	progress_format(line, sizeof(line), 200, false, &some, 9.34,
			3725 * NS_PER_S);
	ok(!strcmp(line + 61, " 1:02:05 [##########..........]"), "the time, and a bar half full");
	line[61] = '\0';
	is_string(line, "30 done 1 failed 2 retried 4 running 20 ready 5 waiting 9.3/s",
		  "the counts before it");
	progress_format(line, sizeof(line), 40, false, &some, 9.34, 0);
	is_string(line, "30 done 1 failed 2 retried 4 running", "what fits");
	dead = some;
	dead.dead = 3;
	progress_format(line, sizeof(line), 200, true, &dead, 0, 0);
	ok(strstr(line, "failed\033[0m\033[31m 3 dead\033[0m\033[33m 2 retried"),
	   "L11: the dead, in red, where there are any");
	dead = none;
	dead.dead = 1;
	progress_format(line, sizeof(line), 200, false, &dead, 0, 0);
	ok(strstr(line, "[####################]"), "what is dead has ended");
	progress_format(line, sizeof(line), 200, true, &some, 1, 0);
	ok(strstr(line, "\033[31m 1 failed\033[0m"), "failures in red");
	progress_format(line, sizeof(line), 200, true, &none, 0, 0);
	ok(!strstr(line, "\033[31m"), "no red without failures");
	ok(strstr(line, "[....................]"), "an empty bar");

	for (width = 0; width < 300; width++) {
		progress_format(line, sizeof(line), width, true, &most, 1e9,
				UINT64_MAX);
		fits = fits && columns(line) <= width;
		progress_format(line, sizeof(line), width, false, &some, 1e9, 0);
		fits = fits && strlen(line) <= width;
	}
	ok(fits, "never wider than the terminal");
}

static char tail[OUTPUT_TAIL];

static size_t tail_of(enum output_mode mode, const char *text)
{
	struct stream s = { 0 };
	size_t len;

	new_target();
	stream_open(&s, mode, target);
	child_writes(&s, text);
	stream_flush(&s, mode);
	len = stream_tail(&s, mode, tail);
	stream_started(&s);
	stream_close(&s);
	return len;
}

static void test_tail(enum output_mode mode, const char *name)
{
	static char text[3 * OUTPUT_TAIL + 1];

	ok(!tail_of(mode, ""), "%s: the tail of nothing", name);
	ok(tail_of(mode, "one\ntwo\n") == 8 && !memcmp(tail, "one\ntwo\n", 8),
	   "%s: of little is all", name);
	memset(text, 'x', 3 * OUTPUT_TAIL);
	text[3 * OUTPUT_TAIL - 1] = '\n';
	ok(tail_of(mode, text) == OUTPUT_TAIL, "%s: of a long line its end", name);
	text[2 * OUTPUT_TAIL + 10] = '\n';
	text[3 * OUTPUT_TAIL - 10] = '\n';
	ok(tail_of(mode, text) == OUTPUT_TAIL - 11, "%s: of much the last whole lines", name);
}

int main(void)
{
	test_tail(OUTPUT_GROUP, "group");
	test_tail(OUTPUT_LINE, "line");

	test_lines();
	test_long_line();
	test_group();
	test_room();
	test_errors();
	test_unreadable();
	test_after_error();
	test_interrupted();
	test_kill();
	test_progress();
	return done_testing();
}
