// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Q2: adds that a look at the board answers. The test wraps ioctl() (the linker's --wrap). It has
 * a queue whose keys are only ever added and cleared, and a board that the module's own
 * code writes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kwq.h>

#include "../../kmod/keyed/board_key.h"
#include "tap.h"
#include "wrap-ioctl.h"

#define SLOTS	63
#define SIZE	(sizeof(struct kwq_board) + SLOTS * sizeof(struct kwq_board_slot))

/* ---- The kernel's part ---- */

static struct {
	struct kwq_board *board;
	int memfd;
	int board_ret;		/* of BOARD, if negative */
	bool board_unmappable;
	int answer;		/* of adds: KWQ_ADDED, or else the key is put on the board */
	atomic_int adds, boards, tells;
	atomic_ullong told;
} kernel;

/* The slots of a key. */
static struct kwq_board_slot *slot_of(const void *bytes, size_t len, bool second,
				      struct kwq_board_key *key)
{
	__u64 hash;

	kwq_board_pack(key, bytes, len);
	hash = kwq_board_hash(kernel.board->seed, key);
	return kwq_board_slot_of(kernel.board, kwq_board_slot_nr(hash, kernel.board->nr_slots,
								 second));
}

static void post_in(bool second, const void *bytes, size_t len, int result)
{
	struct kwq_board_key key;
	struct kwq_board_slot *slot = slot_of(bytes, len, second, &key);

	kwq_board_write(slot, &key, result);
}

static void post(const void *bytes, size_t len, int result)
{
	post_in(false, bytes, len, result);
}

static void clear_in(bool second, const void *bytes, size_t len)
{
	struct kwq_board_key key;

	kwq_board_clear(slot_of(bytes, len, second, &key));
}

static void clear(const void *bytes, size_t len)
{
	clear_in(false, bytes, len);
}

static int take_add(const struct kwq_batch *batch)
{
	bool coalesced = kernel.answer == KWQ_COALESCED || kernel.answer == KWQ_DIRTY;
	const struct kwq_add_entry *entry = (void *)(uintptr_t)batch->entries;

	atomic_fetch_add(&kernel.adds, 1);
	if (coalesced && !entry->flags && kwq_board_fits(entry->key_len))
		post((void *)(uintptr_t)batch->keys, entry->key_len, kernel.answer);
	*(__s32 *)(uintptr_t)batch->results = kernel.answer;
	return 1;
}

static int give_board(struct kwq_board_args *args)
{
	atomic_fetch_add(&kernel.boards, 1);
	if (kernel.board_ret)
		return kernel.board_ret;
	args->map_size = SIZE;
	return kernel.board_unmappable ? dup(STDERR_FILENO) : dup(kernel.memfd);
}

static int answer(int fd, unsigned long request, void *arg)
{
	int ret = 0;

	(void)fd;
	switch (request) {
	case KWQ_IOC_ADD:
		ret = take_add(&((struct kwq_batch_args *)arg)->batch);
		break;
	case KWQ_IOC_BOARD:
		ret = give_board(arg);
		break;
	case KWQ_IOC_TELL:
		atomic_fetch_add(&kernel.tells, 1);
		atomic_fetch_add(&kernel.told, ((struct kwq_tell_args *)arg)->adds);
		break;
	}
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* A new queue and a handle. */
static struct kwq *begin(void)
{
	struct kwq *q = NULL;

	memset(kernel.board, 0, SIZE);
	kernel.board->seed = 0x1234567890abcdef;
	kernel.board->nr_slots = SLOTS;
	kernel.board_ret = 0;
	kernel.board_unmappable = false;
	kernel.answer = KWQ_COALESCED;
	kernel.adds = 0;
	kernel.boards = 0;
	kernel.tells = 0;
	kernel.told = 0;
	if (kwq_from_fd(&q, dup(STDERR_FILENO)))
		abort();
	return q;
}

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int nr = 0;

	while (maps && fgets(line, sizeof(line), maps))
		nr += !!strstr(line, "kwq-board");
	if (maps)
		fclose(maps);
	return nr;
}

/* Adds a key so often. Returns whether all adds had this result. */
static bool add(struct kwq *q, const char *key, int times, int result)
{
	bool right = true;

	while (times--)
		right &= kwq_add(q, key, strlen(key)) == result;
	return right;
}

/* How many calls of the kernel some adds needed. */
static int calls_of(struct kwq *q, const char *key, int times, int result)
{
	int before = kernel.adds;

	return add(q, key, times, result) ? kernel.adds - before : -1;
}

/* ---- The tests ---- */

static void test_default(void)
{
	struct kwq *q = begin();

	kernel.answer = KWQ_ADDED;
	is_number(calls_of(q, "a", 100, KWQ_ADDED), 100, "adds of new keys call the kernel");
	is_number(kernel.boards, 0, "they ask for no board");
	kernel.answer = KWQ_COALESCED;
	is_number(calls_of(q, "a", 15, KWQ_COALESCED), 15, "so do 15 that coalesce");
	is_number(kernel.boards + mappings(), 1, "there is still no board");
	is_number(calls_of(q, "a", 1, KWQ_COALESCED), 1, "and the 16th");
	is_number(kernel.boards, 1, "then the handle asks for the board");
	is_number(mappings(), 2, "and maps it");
	is_number(calls_of(q, "a", 1000, KWQ_COALESCED), 0, "1,000 adds need no call");
	is_number(kernel.boards, 1, "it asks once");

	clear("a", 1);
	kernel.answer = KWQ_DIRTIED;
	is_number(calls_of(q, "a", 1, KWQ_DIRTIED), 1, "Q4: an add after a hand-out calls");
	kernel.answer = KWQ_DIRTY;
	is_number(calls_of(q, "a", 1, KWQ_DIRTY), 1, "the next one puts the key there");
	is_number(calls_of(q, "a", 9, KWQ_DIRTY), 0, "with the result of dirty keys");
	is_number(calls_of(q, "b", 1, KWQ_DIRTY), 1, "another key is not there");
	clear("a", 1);
	post_in(true, "a", 1, KWQ_COALESCED);
	is_number(calls_of(q, "a", 1, KWQ_COALESCED), 0, "a key may be in its second slot");
	kernel.board->closed = 1;
	kernel.answer = -ESHUTDOWN;
	is_number(calls_of(q, "a", 1, -ESHUTDOWN), 1, "Q8: after a shut down the kernel decides");
	kwq_close(q);
	is_number(mappings(), 1, "the close of the handle ends the mapping");
}

static void test_which_adds(void)
{
	struct kwq_add_options o = { .size = sizeof(o) };
	char longest[KWQ_BOARD_KEY_MAX + 1];
	struct kwq *q = begin();
	int before;

	is_number(kwq_use_board(q, true), 0, "use_board: at once");
	is_number(kernel.boards, 1, "use_board: asks for the board");
	add(q, "a", 1, KWQ_COALESCED);
	is_number(calls_of(q, "a", 1, KWQ_COALESCED), 0, "use_board: the next add needs no call");

	before = kernel.adds;
	is_number(kwq_add_with(q, "a", 1, NULL), KWQ_COALESCED, "an add with no options");
	is_number(kwq_add_with(q, "a", 1, &o), KWQ_COALESCED, "and with empty ones");
	is_number(kernel.adds, before, "need no call");
	o.flags = KWQ_ADD_PRIORITY;
	kwq_add_with(q, "a", 1, &o);
	o.flags = KWQ_ADD_END_WAIT;
	kwq_add_with(q, "a", 1, &o);
	o.flags = 0;
	o.priority = 1;
	kwq_add_with(q, "a", 1, &o);
	o.priority = 0;
	o.time = 1;
	kwq_add_with(q, "a", 1, &o);
	kwq_add_after(q, "a", 1, 0);
	kwq_add_rate_limited(q, "a", 1);
	kwq_kick(q, "a", 1);
	kwq_add_value(q, "a", 1, "v", 1);
	kwq_add_group(q, "a", 1, "g", 1);
	kwq_add_debounced(q, "a", 1, 1, 2);
	kwq_add_wait(q, "a", 1, 0);
	is_number(kernel.adds - before, 11, "Q12 D3: each add with an option calls the kernel");

	memset(longest, 'k', sizeof(longest));
	kwq_add(q, longest, KWQ_BOARD_KEY_MAX);
	before = kernel.adds;
	kwq_add(q, longest, KWQ_BOARD_KEY_MAX);
	is_number(kernel.adds - before, 0, "a key of 56 bytes is there");
	kwq_add(q, longest, sizeof(longest));
	kwq_add(q, longest, sizeof(longest));
	is_number(kernel.adds - before, 2, "a longer one never");
	kwq_add(q, "", 0);
	is_number(kernel.adds - before, 3, "the kernel refuses a key of no bytes");
	kwq_add(q, NULL, 0);
	is_number(kernel.adds - before, 4, "and one without an address");
	kwq_close(q);

	q = begin();
	for (int i = 0; i < 100; i++)
		kwq_add(q, longest, sizeof(longest));
	is_number(kernel.boards, 0, "long keys ask for no board");
	kwq_close(q);
}

/* A handle that looks in vain stops to look. */
static void test_vain_looks(void)
{
	struct kwq *q = begin();

	kwq_use_board(q, true);
	add(q, "a", 1, KWQ_COALESCED);
	kernel.answer = KWQ_ADDED;
	add(q, "b", 61, KWQ_ADDED);
	is_number(calls_of(q, "a", 1, KWQ_COALESCED), 0, "after 62 looks in vain it still looks");
	add(q, "b", 63, KWQ_ADDED);
	is_number(calls_of(q, "a", 1, KWQ_COALESCED), 0, "each hit makes it look for longer");
	add(q, "b", 64, KWQ_ADDED);
	kernel.answer = KWQ_COALESCED;
	is_number(calls_of(q, "a", 15, KWQ_COALESCED), 15, "after 64 it does not look");
	is_number(calls_of(q, "a", 2, KWQ_COALESCED), 1, "until 16 adds have coalesced");
	is_number(kernel.boards, 1, "the board stays mapped");
	kwq_close(q);
}

static void test_off(void)
{
	struct kwq *q = begin();

	is_number(kwq_use_board(q, false), 0, "use_board: never");
	is_number(calls_of(q, "a", 100, KWQ_COALESCED), 100, "then each add calls the kernel");
	is_number(kernel.boards, 0, "and no board is asked for");
	is_number(kwq_use_board(q, true), 0, "use_board: now");
	is_number(calls_of(q, "a", 100, KWQ_COALESCED), 0, "then none");
	is_number(kwq_use_board(q, false), 0, "use_board: never again");
	is_number(calls_of(q, "a", 100, KWQ_COALESCED), 100, "then each");
	kwq_close(q);
}

/* Nothing fails because there is no board. */
static void test_refused(void)
{
	static const int errors[] = { -EBADF, -EDQUOT, -EMFILE, -ENOMEM, -ENOTTY, -EOPNOTSUPP };
	struct kwq *q;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		q = begin();
		kernel.board_ret = errors[i];
		is_number(calls_of(q, "a", 1000, KWQ_COALESCED), 1000, "without a board: each calls");
		is_number(kernel.boards, 1, "it is asked for once");
		is_number(kwq_use_board(q, true), errors[i], "use_board: its error");
		is_number(calls_of(q, "a", 1, KWQ_COALESCED), 1, "and nothing has changed");
		kwq_close(q);
	}
	q = begin();
	kernel.board_unmappable = true;
	ok(kwq_use_board(q, true) < 0, "use_board: the error of mmap()");
	is_number(calls_of(q, "a", 50, KWQ_COALESCED), 50, "an unmappable board is none");
	kwq_close(q);
}

/* M2: the kernel is told of each add that the board answered, once. */
static void test_tell(void)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct kwq *q = begin();

	kwq_use_board(q, true);
	add(q, "a", 1, KWQ_COALESCED);
	add(q, "a", 1023, KWQ_COALESCED);
	is_number(kernel.tells, 0, "tell: not of 1,023 adds");
	add(q, "a", 1, KWQ_COALESCED);
	is_number(kernel.tells, 1, "tell: of 1,024");
	is_number(kernel.told, 1024, "tell: their number");
	add(q, "a", 10, KWQ_COALESCED);
	kwq_stat(q, &st);
	is_number(kernel.told, 1034, "tell: of the rest before a stat");
	kwq_stat(q, &st);
	is_number(kernel.tells, 2, "tell: not of nothing");
	add(q, "a", 5, KWQ_COALESCED);
	kwq_close(q);
	is_number(kernel.told, 1039, "tell: of the rest at the close");
}

/* ---- Threads ---- */

#define THREADS	4
#define ADDS	20000

static void *add_many(void *q)
{
	return (void *)(uintptr_t)add(q, "a", ADDS, KWQ_COALESCED);
}

/* Threads begin to look, and count, at once. */
static void test_threads(void)
{
	struct kwq *q = begin();
	pthread_t threads[THREADS];
	bool right = true;
	void *ret;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, add_many, q))
			abort();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &ret);
		right &= !!ret;
	}
	ok(right, "threads: each add coalesced");
	is_number(kernel.boards, 1, "threads: one board");
	kwq_close(q);
	is_number(kernel.told + kernel.adds, THREADS * ADDS, "threads: each add counts once");
	is_number(mappings(), 1, "threads: no mapping is left");
}

/* Keys of one slot. The third one has the first half of one and the second half of the other. */
#define HALF	(KWQ_BOARD_KEY_MAX / 2)

static char torn_keys[3][KWQ_BOARD_KEY_MAX];
static _Atomic bool stop;

static void *write_in_turns(void *unused)
{
	(void)unused;
	while (!stop) {
		post(torn_keys[0], KWQ_BOARD_KEY_MAX, KWQ_COALESCED);
		post(torn_keys[1], KWQ_BOARD_KEY_MAX, KWQ_DIRTY);
		clear(torn_keys[1], KWQ_BOARD_KEY_MAX);
	}
	return NULL;
}

/* No reader sees parts of two keys, or the result of another key. */
static void test_torn(void)
{
	struct kwq *q = begin();
	int found[3] = { 0 }, wrong = 0;
	struct kwq_board_key key;
	pthread_t writer;

	/* With one slot, all keys share it. */
	kernel.board->nr_slots = 1;
	memset(torn_keys[0], 'x', KWQ_BOARD_KEY_MAX);
	memset(torn_keys[1], 'y', KWQ_BOARD_KEY_MAX);
	memset(torn_keys[2], 'x', HALF);
	memset(torn_keys[2] + HALF, 'y', HALF);
	stop = false;
	if (pthread_create(&writer, NULL, write_in_turns, NULL))
		abort();
	/* The writer may not run for long. */
	for (unsigned int i = 0; i < 300000 || !found[0] || !found[1]; i++) {
		int n = i % 3, result;

		kwq_board_pack(&key, torn_keys[n], KWQ_BOARD_KEY_MAX);
		result = kwq_board_look(kernel.board, &key);
		found[n] += !!result;
		wrong += result && result != (n ? KWQ_DIRTY : KWQ_COALESCED);
	}
	stop = true;
	pthread_join(writer, NULL);
	is_number(found[2], 0, "torn: a mixture never");
	is_number(wrong, 0, "torn: each with its own result");
	kwq_close(q);
}

int main(void)
{
	kernel.memfd = memfd_create("kwq-board", MFD_CLOEXEC);
	if (kernel.memfd < 0 || ftruncate(kernel.memfd, SIZE))
		return 1;
	kernel.board = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.memfd, 0);
	if (kernel.board == MAP_FAILED)
		return 1;
	test_default();
	test_which_adds();
	test_vain_looks();
	test_off();
	test_refused();
	test_tell();
	test_threads();
	test_torn();
	return done_testing();
}
