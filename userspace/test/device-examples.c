// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Runs the examples of libkwq(3) with a real queue. Needs /dev/kwq and the right to use
 * it. examples.h has the page's text between .Bd -literal and .Ed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kwq.h>
#include "tap.h"

void work(const char *key, size_t len);

#include "examples.h"

static int worked;

void work(const char *key, size_t len)
{
	(void)key;
	(void)len;
	worked++;
}

/* A queue with a manual clock, so that no test sleeps. */
static struct kwq *manual_queue(uint64_t lease)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.lease = lease,
	};
	struct kwq *q = NULL;

	if (!ok(!kwq_create(&q, NULL, &options), "a queue on a manual clock"))
		exit(1);
	return q;
}

static void test_handles(void)
{
	struct kwq *q, *adder, *own, *inherited;
	char number[16];
	int fds[2], status;
	pid_t pid;

	is_number(make_jobs(&q), 0, "make_jobs()");
	is_number(open_jobs_to_add(&adder), 0, "open_jobs_to_add()");
	is_number(open_own_jobs(&own), 0, "open_own_jobs()");
	kwq_close(own);
	is_number(kwq_add(adder, "a", 1), KWQ_ADDED, "and it adds");
	is_number(own_handle(&own, q), 0, "own_handle()");
	unsetenv("KWQ_FD");
	is_number(from_environment(&inherited), -ENOENT, "from_environment() without one");
	snprintf(number, sizeof(number), "%d", dup(kwq_fd(q)));
	setenv("KWQ_FD", number, 1);
	is_number(from_environment(&inherited), 0, "from_environment()");

	ok(!pipe(fds), "a pipe");
	ok(wait_for_item_or(q, fds[0]), "wait_for_item_or(): an item");
	ok(work_a_little(q) && worked == 1, "work_a_little(): something to do");
	ok(!work_a_little(q), "work_a_little(): nothing");
	ok(write(fds[1], "", 1) == 1 && !wait_for_item_or(q, fds[0]),
	   "wait_for_item_or(): something else");

	pid = fork();
	if (!pid)
		give_back_and_go(q);
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "give_back_and_go()");
	ok(has_priorities(), "has_priorities()");
	fflush(stdout);
	is_number(print_queues(), 0, "print_queues()");
	remove_jobs();
	is_number(kwq_unlink("jobs"), -ENOENT, "remove_jobs()");
	kwq_close(inherited);
	kwq_close(own);
	kwq_close(adder);
	kwq_close(q);
	close(fds[0]);
	close(fds[1]);
}

static void test_items(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];

	is_number(file_changed(q, "/etc/passwd"), 0, "file_changed()");
	ok(withdraw(q, "/etc/passwd", 11), "withdraw(): in time");
	ok(withdraw(q, "/etc/passwd", 11), "withdraw(): nothing to do");
	is_number(try_again_later(q, "k", 1), KWQ_WAITING, "try_again_later()");
	is_number(add_urgent(q, "k", 1), KWQ_ADDED, "add_urgent()");
	ok(!kwq_try_get(q, &item, key, sizeof(key)) && item.priority == KWQ_PRIORITY_MAX,
	   "and it comes with that priority");
	ok(!withdraw(q, "k", 1), "withdraw(): too late");
	ok(may_still_add(q) && !is_busy(q), "may_still_add(), is_busy()");
	kwq_done(q, item.ticket);
	is_number(add_next_hour(q, "h", 1), KWQ_WAITING, "add_next_hour()");
	is_number(waiting_items(q), 1, "waiting_items()");
	is_number(to_the_next_hour(q), 0, "to_the_next_hour()");
	is_number(waiting_items(q), 0, "and then it comes");
	worked = 0;
	is_number(stop_workers_when_empty(q), 0, "stop_workers_when_empty()");
	is_number(work_until_shut_down(q), 0, "work_until_shut_down()");
	is_number(worked, 1, "and the item was worked on");
	ok(!may_still_add(q), "may_still_add(): no longer");
	ok(drained(q), "drained()");
	kwq_close(q);
}

static void test_looks(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];

	is_number(kwq_add(q, "held", 4), KWQ_ADDED, "a key");
	ok(!is_being_processed(q, "held"), "is_being_processed(): not yet");
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "it is got");
	ok(is_being_processed(q, "held"), "is_being_processed(): now");
	fflush(stdout);
	is_number(print_held(q), 1, "print_held()");
	kwq_close(q);
}

static void test_retries(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];
	int i;

	is_number(limit_retries(q), 0, "limit_retries()");
	ok(lets_items_die(q), "lets_items_die()");
	kwq_add(q, "k", 1);
	for (i = 0; i < 20; i++) {
		ok(!kwq_try_get(q, &item, key, sizeof(key)) && item.requeues == (unsigned int)i,
		   "try %d", i + 1);
		is_number(finish(q, &item, key, false), KWQ_STILL_WAITING, "finish(): it failed");
		ok(!kwq_advance(q, 60000000000), "a minute later");
	}
	ok(fails_often(q, "k", 1), "fails_often()");
	kwq_try_get(q, &item, key, sizeof(key));
	is_number(finish(q, &item, key, false), KWQ_FINISHED, "finish(): once too often");
	is_number(clean_up(q), 0, "clean_up()");
	ok(!kwq_try_get(q, &item, key, sizeof(key)) && !item.requeues,
	   "brings back what died just now");
	is_number(finish(q, &item, key, true), KWQ_FINISHED, "finish(): it succeeded");
	kwq_add_rate_limited(q, "k", 1);
	mended(q, "k", 1);
	is_number(kwq_num_requeues(q, "k", 1), 0, "mended()");
	kwq_close(q);
}

static void test_refusals(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];

	kwq_add(q, "k", 1);
	kwq_add(q, "l", 1);
	kwq_try_get(q, &item, key, sizeof(key));
	is_number(refuse(q, &item, "no such file", false), KWQ_RETURNED, "refuse(): it goes back");
	ok(!kwq_try_get(q, &item, key, sizeof(key)) && *key == 'k' && !item.abandoned,
	   "to its old place");
	is_number(refuse(q, &item, "no such file", true), KWQ_BURIED, "refuse(): it dies");
	is_number(kwq_kick(q, "k", 1), KWQ_ADDED, "and can be brought back");
	kwq_close(q);
}

static void test_batches(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_got got[64];
	char keys[64 * 16];

	is_number(add_two(q), 2, "add_two()");
	is_number(forget_both(q), 0, "forget_both()");
	is_number(get_many(q, got, keys, sizeof(keys)), 2, "get_many()");
	is_number(finish_two(q, got), 2, "finish_two()");
	add_two(q);
	is_number(remove_two(q), 2, "remove_two()");
	ok(comes_after_a_second(), "comes_after_a_second()");
	worked = 0;
	add_two(q);
	kwq_shut_down(q);
	is_number(work_faster(q), 0, "work_faster()");
	is_number(worked, 2, "both were worked on");
	kwq_close(q);
}

static struct kwq *leased;
static int steps_left;
static uint64_t step_takes, step_ticket;

static bool step(uint64_t ticket)
{
	step_ticket = ticket;
	kwq_advance(leased, step_takes);
	return --steps_left;
}

/* O3 */
static void test_leases(void)
{
	struct kwq_got got[64];
	char keys[64 * 16], key[16];
	struct kwq_item item;

	leased = manual_queue(1000);
	kwq_add(leased, "k", 1);
	kwq_try_get(leased, &item, key, sizeof(key));
	steps_left = 5;
	step_takes = 999;
	ok(work_in_steps(leased, &item, step) && step_ticket == item.ticket,
	   "work_in_steps(): in time");
	kwq_add(leased, "k", 1);
	kwq_try_get(leased, &item, key, sizeof(key));
	steps_left = 5;
	step_takes = 1000;
	ok(!work_in_steps(leased, &item, step) && steps_left == 4,
	   "work_in_steps(): ends when the item is lost");

	kwq_try_get(leased, &item, key, sizeof(key));
	ok(still_ours(leased, "k", 1), "still_ours()");
	kwq_advance(leased, 1000);
	ok(!still_ours(leased, "k", 1), "still_ours(): no longer");
	kwq_remove(leased, "k", 1);

	add_two(leased);
	is_number(get_many(leased, got, keys, sizeof(keys)), 2, "two items");
	kwq_done(leased, got[1].ticket);
	is_number(extend_all(leased, got, 2), 1, "extend_all(): one is still held");
	ok(got[0].ticket && !got[1].ticket, "and which");
	kwq_close(leased);
}

/* U8 */
static void test_restore(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_listed was;

	kwq_add_after(q, "a", 1, 1000);
	is_number(kwq_look(q, "a", 1, &was), 0, "a key waits");
	kwq_remove(q, "a", 1);
	is_number(put_back(q, "a", &was), KWQ_RESTORED, "put_back()");
	is_number(kwq_look(q, "a", 1, &was), 0, "it is back");
	ok(was.state == KWQ_IS_WAITING && was.due_in == 1000, "as it was");
	kwq_close(q);
}

static int move_fails(void)
{
	return -EIO;
}

static int move_works(void)
{
	return 0;
}

/* Q14, D9 */
static void test_pause_and_debounce(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];

	is_number(file_saved(q, "kwq"), KWQ_WAITING, "file_saved()");
	kwq_advance(q, 1999999999);
	is_number(file_saved(q, "kwq"), KWQ_COALESCED, "file_saved() again");
	kwq_advance(q, 1999999999);
	is_number(kwq_try_get(q, &item, key, sizeof(key)), -EAGAIN, "it is postponed");
	kwq_advance(q, 1);
	is_number(move_database(q, move_fails), -EIO, "move_database() fails");
	is_number(kwq_try_get(q, &item, key, sizeof(key)), -EAGAIN, "the queue is paused");
	kwq_advance(q, 60000000000);
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "the pause has ended");
	is_number(move_database(q, move_works), 0, "move_database()");
	kwq_add(q, "a", 1);
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "the queue is not paused");
	kwq_close(q);
}

static bool renewal_works(void)
{
	return true;
}

static bool renewal_fails(void)
{
	return false;
}

static struct kwq *ended;

/* Nothing is handed out any more. */
static void expect_end(void)
{
	struct kwq_stat st = { .size = sizeof(st) };

	kwq_stat(ended, &st);
	ok(st.state == KWQ_STATE_TERM_OVER && !st.processing, "end_lease() ends it when it may");
}

/* Q20 */
static void test_term(void)
{
	struct kwq *q = manual_queue(0);
	struct kwq_item item;
	char key[16];

	kwq_add(q, "a", 1);
	is_number(keep_working(q, renewal_works), 0, "keep_working()");
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "work goes on");
	kwq_advance(q, 9999999999);
	is_number(keep_working(q, renewal_fails), 0, "keep_working(), without a lease");
	is_number(kwq_extend(q, item.ticket), 0, "work goes on");
	kwq_advance(q, 1);
	is_number(kwq_done(q, item.ticket), -ESTALE, "and ends in time");
	is_number(keep_working(q, renewal_works), 0, "keep_working() again");
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "work goes on");
	ended = q;
	is_number(end_lease(q, expect_end), 0, "end_lease()");
	kwq_close(q);
}

static char stored[16];

static void store(const char *change, size_t len)
{
	snprintf(stored, sizeof(stored), "%.*s", (int)len, change);
}

/* Q16 */
static void test_groups(void)
{
	struct kwq_item item[3];
	struct kwq *pages;
	char data[64];

	is_number(make_pages(&pages), 0, "make_pages()");
	is_number(add_page(pages, "a", "host"), KWQ_ADDED, "add_page()");
	is_number(add_page(pages, "b", "host"), KWQ_ADDED, "add_page() of the same host");
	is_number(add_page(pages, "c", "host"), KWQ_ADDED, "and another one");
	is_number(kwq_try_get_value(pages, &item[0], data, sizeof(data)), 0, "a page");
	is_number(item[0].group_len, 4, "it has a group");
	is_number(memcmp(data, "ahost", 5), 0, "which is behind the key");
	is_number(kwq_try_get(pages, &item[1], data, sizeof(data)), 0, "a second one");
	is_number(kwq_try_get(pages, &item[2], data, sizeof(data)), -EAGAIN, "but no third one");
	is_number(kwq_done(pages, item[0].ticket), KWQ_FINISHED, "the first one is done");
	is_number(kwq_try_get(pages, &item[2], data, sizeof(data)), 0, "so here it is");
	kwq_close(pages);
}

/* Q18 */
static void test_values(void)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.values = true,
	};
	struct kwq *users;

	is_number(kwq_create(&users, NULL, &options), 0, "a queue with values");
	is_number(note_change(users, "user 7", "one"), KWQ_ADDED, "note_change()");
	is_number(note_change(users, "user 7", "two"), KWQ_COALESCED, "note_change() again");
	is_number(store_change(users, store, false), KWQ_FINISHED, "store_change()");
	is_string(stored, "two", "the last change counts");
	is_number(store_change(users, store, false), -EAGAIN, "store_change(): there is none");
	kwq_close(users);
}

static bool third_time(void)
{
	static int times;

	return ++times == 3;
}

static bool right_at_once(void *arg)
{
	(void)arg;
	return false;
}

static void test_backoff(void)
{
	const struct kwq_backoff backoff = {
		.duration = 1, .factor = 2 * KWQ_ONE, .steps = 100,
	};

	is_number(tenth_pause(&backoff), 512, "tenth_pause()");
	connect_with_pauses(third_time);
	ok(third_time() == false, "connect_with_pauses()");
	ok(restart_pause(1) == 1000000000 && restart_pause(2) == 2000000000,
	   "restart_pause()");
	is_number(look_again_and_again(right_at_once, NULL, -1), 0, "look_again_and_again()");
}

/* N8 */
static void test_changes(void)
{
	const struct kwq_create_options options = {
		.size = sizeof(options), .clockid = CLOCK_MONOTONIC, .changes = true,
	};
	struct pollfd news = { .events = POLLPRI };
	uint64_t after = 0;
	struct kwq *q;
	int status;

	kwq_create(&q, NULL, &options);
	/* The first call also reads that the queue was made. */
	is_number(print_changes(q, &after), 0, "print_changes(): the first call");
	ok(after != 0, "print_changes(): follows");
	kwq_add(q, "a", 1);
	ok(!is_kept(q), "is_kept(): not yet");
	is_number(print_changes(q, &after), 0, "print_changes(): a key is there");
	kwq_remove(q, "a", 1);
	is_number(print_changes(q, &after), 0, "print_changes(): it is gone");
	ok(is_kept(q), "is_kept(): now");
	fflush(stdout);
	if (!fork())
		_exit(add_for_sure(q, "b"));
	news.fd = kwq_fd(q);
	poll(&news, 1, -1);
	is_number(print_changes(q, &after), 0, "print_changes(): another one");
	wait(&status);
	is_number(status, 0, "add_for_sure()");
	kwq_close(q);
}

int main(void)
{
	test_handles();
	test_items();
	test_looks();
	test_retries();
	test_refusals();
	test_batches();
	test_leases();
	test_restore();
	test_pause_and_debounce();
	test_term();
	test_changes();
	test_groups();
	test_values();
	test_backoff();
	return done_testing();
}
