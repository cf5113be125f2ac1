// SPDX-License-Identifier: GPL-2.0-only
/*
 * U1, U3, O6: the shape of the requests. Sizes, unknown flags, padding, unknown
 * requests, foreign descriptors, invalid addresses. Built for 32 bits, too.
 */
#include "abi_layout.h"
#include "kwq_test.h"

#include <sys/socket.h>

/* A caller that does not wait may pass a struct kwq_batch_args. */
_Static_assert(offsetof(struct kwq_add_args, deadline) == sizeof(struct kwq_batch_args),
	       "kwq_add_args");

/*
 * Every request that takes a structure, in a form that succeeds. The queue has the item
 * "r" ready and the item "p" processing, and a named queue is open.
 */

/* Larger than a page, for structures of the future. */
union argument {
	__u32 size;
	struct kwq_info info;
	struct kwq_create_args create;
	struct kwq_open_args open;
	struct kwq_unlink_args unlink;
	struct kwq_list_args list;
	struct kwq_batch_args op;
	struct kwq_add_args add;
	struct kwq_get_args get;
	struct kwq_stat stat;
	struct kwq_shut_down_args shut_down;
	struct kwq_drain_args drain;
	struct kwq_config config;
	struct kwq_list_items_args list_items;
	struct kwq_advance_args advance;
	struct kwq_tell_args tell;
	struct kwq_changes_args changes;
	struct kwq_sync_args sync;
	__u8 bytes[3 * 4096];
};

struct buffers {
	union {
		struct kwq_add_entry add;
		struct kwq_done_entry done;
		struct kwq_extend_entry extend;
		struct kwq_remove_entry remove;
		struct kwq_got got;
		struct kwq_key_entry key;
		struct kwq_restore_entry restore;
		struct kwq_listed listed;
		struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
		struct kwq_list_entry list[2];
		__u8 bytes[3 * 4096];
	} entries;
	__u8 key[KEY_ROOM];
	__s32 result;
};

static struct buffers buffers;
static char queue_name[32];

static struct kwq_batch one_entry(size_t entry_size)
{
	memset(&buffers, 0, sizeof(buffers));
	return (struct kwq_batch){
		.entries = user_ptr(&buffers.entries),
		.keys = user_ptr(buffers.key),
		.results = user_ptr(&buffers.result),
		.keys_len = 1,
		.nr = 1,
		.entry_size = entry_size,
	};
}

static void fill_nothing(union argument *arg)
{
	(void)arg;
}

static void fill_create(union argument *arg)
{
	arg->create.open_flags = O_CLOEXEC;
	arg->create.rights = ALL_RIGHTS;
	arg->create.clockid = CLOCK_MONOTONIC;
}

static void fill_open_name(union argument *arg)
{
	arg->open.open_flags = O_CLOEXEC;
	arg->open.rights = ALL_RIGHTS;
	set_name(arg->open.name, queue_name);
}

static void fill_open_handle(union argument *arg)
{
	arg->open.open_flags = O_CLOEXEC;
	arg->open.rights = ALL_RIGHTS;
}

static void fill_unlink(union argument *arg)
{
	set_name(arg->unlink.name, queue_name);
}

static void fill_list(union argument *arg)
{
	memset(&buffers, 0, sizeof(buffers));
	arg->list.entries = user_ptr(&buffers.entries);
	arg->list.nr = 1;
	arg->list.entry_size = sizeof(struct kwq_list_entry);
}

static void fill_add(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_add_entry));
	buffers.entries.add.key_len = 1;
	buffers.key[0] = 'n';
}

static void fill_restore(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_restore_entry));
	buffers.entries.restore.key_len = 1;
	buffers.entries.restore.state = KWQ_IS_READY;
	buffers.key[0] = 'n';
}

static void fill_get(union argument *arg)
{
	arg->get.flags = KWQ_GET_NONBLOCK;
	arg->get.get = one_entry(sizeof(struct kwq_got));
	arg->get.get.results = 0;
	arg->get.get.keys_len = KEY_ROOM;
}

static void fill_done(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_done_entry));
	buffers.entries.done.key_len = 1;
	buffers.key[0] = 'p';
}

static void fill_extend(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_extend_entry));
	buffers.entries.extend.key_len = 1;
	buffers.key[0] = 'p';
}

static void fill_remove(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_remove_entry));
	buffers.entries.remove.key_len = 1;
	buffers.key[0] = 'r';
}

static void fill_drain(union argument *arg)
{
	arg->drain.deadline = 1;
}

static void fill_key(union argument *arg)
{
	arg->op.batch = one_entry(sizeof(struct kwq_key_entry));
	buffers.entries.key.key_len = 1;
	buffers.key[0] = 'r';
}

static void fill_configure(union argument *arg)
{
	memset(&buffers, 0, sizeof(buffers));
	buffers.entries.limiters[0] = (struct kwq_limiter)EXPONENTIAL(1, 2);
	arg->config.nr = 1;
	arg->config.limiters = user_ptr(buffers.entries.limiters);
	arg->config.limiter_size = sizeof(struct kwq_limiter);
}

static void fill_config(union argument *arg)
{
	memset(&buffers, 0, sizeof(buffers));
	arg->config.nr = KWQ_LIMITERS_MAX;
	arg->config.limiters = user_ptr(buffers.entries.limiters);
	arg->config.limiter_size = sizeof(struct kwq_limiter);
}

static void fill_list_items(union argument *arg)
{
	arg->list_items.states = KWQ_IS_READY;
	arg->list_items.batch = one_entry(sizeof(struct kwq_listed));
	arg->list_items.batch.results = 0;
	arg->list_items.batch.keys_len = KEY_ROOM;
	/* Room for one more than there are, so that each call reaches the end. */
	arg->list_items.batch.nr = 2;
}

static void fill_advance(union argument *arg)
{
	arg->advance.time = 1;
}

static void fill_tell(union argument *arg)
{
	arg->tell.adds = 1;
}

static void fill_changes(union argument *arg)
{
	arg->changes.flags = KWQ_CHANGES_NONBLOCK;
	arg->changes.after = CREATION;
	arg->changes.batch = one_entry(sizeof(struct kwq_listed));
	arg->changes.batch.results = 0;
	arg->changes.batch.keys_len = KEY_ROOM;
}

static void fill_sync(union argument *arg)
{
	arg->sync.deadline = 1;
}

enum target { DEVICE, QUEUE };

FIXTURE(request)
{
	int dev;
	int q;
	int named;
	struct item held;
	struct kwq_stat before;
	int fd_before;
	union argument arg;
};

FIXTURE_VARIANT(request)
{
	unsigned long cmd;
	enum target target;
	size_t size;
	size_t first;	/* its size as it was first published; 0: the same */
	void (*fill)(union argument *arg);
	int ret;	/* of success; a new descriptor counts as 0 */
	size_t flags;	/* where its flags are, 0: none */
	bool out;	/* only its size goes in */
	__u32 create;	/* KWQ_CREATE_* flags of the queue */
	bool follows;	/* the handle follows the changes */
};

typedef FIXTURE_DATA(request) request_fixture;
typedef FIXTURE_VARIANT(request) request_variant;

#define REQUEST(name, cmd_, target_, structure, ...)				\
	FIXTURE_VARIANT_ADD(request, name) {					\
		.cmd = cmd_, .target = target_, .size = sizeof(structure), __VA_ARGS__	\
	}

REQUEST(info, KWQ_IOC_INFO, DEVICE, struct kwq_info, .fill = fill_nothing, .out = true);
REQUEST(create, KWQ_IOC_CREATE, DEVICE, struct kwq_create_args, .fill = fill_create, .flags = 4);
REQUEST(open_name, KWQ_IOC_OPEN, DEVICE, struct kwq_open_args, .fill = fill_open_name, .flags = 4);
REQUEST(open_handle, KWQ_IOC_OPEN, QUEUE, struct kwq_open_args,
	.fill = fill_open_handle, .flags = 4);
REQUEST(unlink, KWQ_IOC_UNLINK, DEVICE, struct kwq_unlink_args, .fill = fill_unlink, .flags = 4);
REQUEST(list, KWQ_IOC_LIST, DEVICE, struct kwq_list_args, .fill = fill_list, .ret = 1, .flags = 4);
REQUEST(add, KWQ_IOC_ADD, QUEUE, struct kwq_add_args,
	.first = sizeof(struct kwq_batch_args), .fill = fill_add, .ret = 1, .flags = 4);
REQUEST(get, KWQ_IOC_GET, QUEUE, struct kwq_get_args, .fill = fill_get, .ret = 1, .flags = 4);
REQUEST(done, KWQ_IOC_DONE, QUEUE, struct kwq_batch_args, .fill = fill_done, .ret = 1, .flags = 4);
REQUEST(restore, KWQ_IOC_RESTORE, QUEUE, struct kwq_batch_args,
	.fill = fill_restore, .ret = 1, .flags = 4);
REQUEST(extend, KWQ_IOC_EXTEND, QUEUE, struct kwq_batch_args,
	.fill = fill_extend, .ret = 1, .flags = 4);
REQUEST(remove, KWQ_IOC_REMOVE, QUEUE, struct kwq_batch_args,
	.fill = fill_remove, .ret = 1, .flags = 4);
REQUEST(stat, KWQ_IOC_STAT, QUEUE, struct kwq_stat, .fill = fill_nothing, .out = true);
REQUEST(pause, KWQ_IOC_PAUSE, QUEUE, struct kwq_pause_args, .fill = fill_nothing, .flags = 4);
REQUEST(term, KWQ_IOC_TERM, QUEUE, struct kwq_term_args, .fill = fill_nothing, .flags = 4);
REQUEST(resume, KWQ_IOC_RESUME, QUEUE, struct kwq_resume_args, .fill = fill_nothing, .flags = 4);
REQUEST(shut_down, KWQ_IOC_SHUT_DOWN, QUEUE, struct kwq_shut_down_args,
	.fill = fill_nothing, .flags = 4);
REQUEST(drain, KWQ_IOC_DRAIN, QUEUE, struct kwq_drain_args,
	.fill = fill_drain, .ret = -ETIMEDOUT, .flags = 4);
REQUEST(forget, KWQ_IOC_FORGET, QUEUE, struct kwq_batch_args,
	.fill = fill_key, .ret = 1, .flags = 4);
REQUEST(requeues, KWQ_IOC_REQUEUES, QUEUE, struct kwq_batch_args,
	.fill = fill_key, .ret = 1, .flags = 4);
REQUEST(configure, KWQ_IOC_CONFIGURE, QUEUE, struct kwq_config, .fill = fill_configure, .flags = 4);
REQUEST(config, KWQ_IOC_CONFIG, QUEUE, struct kwq_config, .fill = fill_config, .flags = 4);
REQUEST(list_items, KWQ_IOC_LIST_ITEMS, QUEUE, struct kwq_list_items_args,
	.fill = fill_list_items, .ret = 1, .flags = 4);
REQUEST(advance, KWQ_IOC_ADVANCE, QUEUE, struct kwq_advance_args,
	.fill = fill_advance, .ret = -EOPNOTSUPP, .flags = 4);
REQUEST(board, KWQ_IOC_BOARD, QUEUE, struct kwq_board_args, .fill = fill_nothing, .flags = 4);
REQUEST(tell, KWQ_IOC_TELL, QUEUE, struct kwq_tell_args, .fill = fill_tell, .flags = 4);
REQUEST(follow, KWQ_IOC_FOLLOW, QUEUE, struct kwq_follow_args,
	.fill = fill_nothing, .flags = 4, .create = KWQ_CREATE_CHANGES);
REQUEST(changes, KWQ_IOC_CHANGES, QUEUE, struct kwq_changes_args,
	.fill = fill_changes, .ret = 1, .flags = 4, .create = KWQ_CREATE_CHANGES, .follows = true);
REQUEST(sync, KWQ_IOC_SYNC, QUEUE, struct kwq_sync_args,
	.fill = fill_sync, .ret = -ETIMEDOUT, .flags = 4, .create = KWQ_CREATE_CHANGES);

FIXTURE_VARIANT_ADD(request, bpf) {
	.cmd = KWQ_IOC_BPF, .target = QUEUE, .size = sizeof(struct kwq_bpf_args),
	.fill = fill_nothing, .flags = 4,
};

FIXTURE_SETUP(request)
{
	struct item item;
	__u64 number;

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_flagged_queue(self->dev, variant->create);
	ASSERT_LE(0, self->q);
	if (variant->follows)
		ASSERT_EQ(0, q_follow(self->q, &number));
	if (variant->cmd == KWQ_IOC_BPF && q_bpf(self->q, &number) == -EOPNOTSUPP)
		SKIP(return, "this kernel, or the module, has no BTF");
	snprintf(queue_name, sizeof(queue_name), "abi.%d", getpid());
	self->named = q_create(self->dev, queue_name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, self->named);

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "p"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "r"));
	self->held = item;

	ASSERT_EQ(0, q_stat(self->q, &self->before));
	self->fd_before = next_fd();

	memset(&self->arg, 0, sizeof(self->arg));
	self->arg.size = variant->size;
	variant->fill(&self->arg);
}

FIXTURE_TEARDOWN(request)
{
	close(self->q);
	close(self->named);
	q_unlink(self->dev, queue_name);
	close(self->dev);
}

static int run(request_fixture *self, const request_variant *variant, const void *arg)
{
	return request(variant->target == DEVICE ? self->dev : self->q, variant->cmd, arg);
}

/* Checks that queues, names and descriptors are unchanged. */
static void check_unchanged(struct __test_metadata *_metadata, request_fixture *self)
{
	struct kwq_stat after;
	int again;

	EXPECT_EQ(self->fd_before, next_fd());
	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&self->before, &after));
	again = q_open(self->dev, queue_name, O_CLOEXEC);
	EXPECT_LE(0, again);
	close(again);
}

static void check_success(struct __test_metadata *_metadata, request_fixture *self,
			  const request_variant *variant, int ret)
{
	bool opens = variant->cmd == KWQ_IOC_CREATE || variant->cmd == KWQ_IOC_OPEN ||
		     variant->cmd == KWQ_IOC_BOARD;

	if (opens) {
		EXPECT_EQ(self->fd_before, ret);
		close(ret);
	} else {
		EXPECT_EQ(variant->ret, ret);
	}
}

/* U3 */
TEST_F(request, its_own_size)
{
	check_success(_metadata, self, variant, run(self, variant, &self->arg));
}

static size_t first_size(const request_variant *variant)
{
	return variant->first ?: variant->size;
}

/* U3: an old program, of every size between the first one and today's. */
TEST_F(request, its_first_size)
{
	for (size_t size = variant->size - 1; size >= first_size(variant); size--) {
		poison(self->arg.bytes + size, sizeof(self->arg) - size);
		self->arg.size = size;
		check_success(_metadata, self, variant, run(self, variant, &self->arg));
		EXPECT_EQ(size, self->arg.size);
		EXPECT_TRUE(is_poison(self->arg.bytes + size, sizeof(self->arg) - size));
	}
}

/* U3: no structure is shorter than the first one published. */
TEST_F(request, size_too_small)
{
	for (__u32 size = 0; size < first_size(variant); size++) {
		self->arg.size = size;
		EXPECT_EQ(-EINVAL, run(self, variant, &self->arg)) {
			TH_LOG("size %u", size);
		}
	}
	check_unchanged(_metadata, self);
}

/* U3: no structure is longer than a page. */
TEST_F(request, size_beyond_a_page)
{
	static const __u32 sizes[] = { 4097, 8192, 1U << 31, ~0U };

	for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
		self->arg.size = sizes[i];
		EXPECT_EQ(-EINVAL, run(self, variant, &self->arg)) {
			TH_LOG("size %u", sizes[i]);
		}
	}
	check_unchanged(_metadata, self);
}

/* U3: a newer program that uses none of the new members. */
TEST_F(request, longer_with_zero_tail)
{
	self->arg.size = variant->size + 8;
	check_success(_metadata, self, variant, run(self, variant, &self->arg));
}

TEST_F(request, a_page_with_zero_tail)
{
	self->arg.size = 4096;
	check_success(_metadata, self, variant, run(self, variant, &self->arg));
}

/*
 * U3: a newer program that uses new members. A structure that is only filled in has the
 * caller's size, is zero beyond the known members, and its former content does not
 * matter.
 */
TEST_F(request, longer_with_tail)
{
	__u32 size = variant->size + 100;

	if (variant->out) {
		poison(&self->arg, sizeof(self->arg));
		self->arg.size = size;
		EXPECT_EQ(0, run(self, variant, &self->arg));
		EXPECT_EQ(variant->size, self->arg.size);
		EXPECT_TRUE(is_zero(self->arg.bytes + variant->size, size - variant->size));
		EXPECT_TRUE(is_poison(self->arg.bytes + size, sizeof(self->arg) - size));
		return;
	}
	self->arg.size = size;
	for (__u32 i = variant->size; i < size; i++) {
		self->arg.bytes[i] = 1;
		EXPECT_EQ(-E2BIG, run(self, variant, &self->arg)) {
			TH_LOG("byte %u", i);
		}
		self->arg.bytes[i] = 0;
	}
	self->arg.size = 4096;
	self->arg.bytes[4095] = 1;
	EXPECT_EQ(-E2BIG, run(self, variant, &self->arg));
	check_unchanged(_metadata, self);
}

/* U3: each unknown flag. A structure that is only filled in has no flags. */
TEST_F(request, unknown_flags)
{
	const __u32 creates = KWQ_CREATE_OR_OPEN | KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS |
			      KWQ_CREATE_NO_DURATIONS | KWQ_CREATE_CHANGES |
			      KWQ_CREATE_SYNC | KWQ_CREATE_OUTBOX;
	const __u32 all_of_changes = KWQ_CHANGES_NONBLOCK | KWQ_CHANGES_RELATIVE |
				     KWQ_CHANGES_VALUES | KWQ_CHANGES_GETTERS |
				     KWQ_CHANGES_NOTES;
	const __u32 known = variant->cmd == KWQ_IOC_CREATE ? creates :
			    variant->cmd == KWQ_IOC_ADD ? KWQ_ADD_WAIT :
			    variant->cmd == KWQ_IOC_GET ? KWQ_GET_NONBLOCK | KWQ_GET_RELATIVE :
			    variant->cmd == KWQ_IOC_DRAIN ? KWQ_DRAIN_RELATIVE :
			    variant->cmd == KWQ_IOC_CONFIGURE ? KWQ_CONFIG_COALESCE :
			    variant->cmd == KWQ_IOC_PAUSE ? KWQ_PAUSE_FOR :
			    variant->cmd == KWQ_IOC_ADVANCE ? KWQ_ADVANCE_TO :
			    variant->cmd == KWQ_IOC_LIST_ITEMS ? KWQ_LIST_VALUES | KWQ_LIST_NOTES :
			    variant->cmd == KWQ_IOC_BOARD ? O_CLOEXEC :
			    variant->cmd == KWQ_IOC_CHANGES ? all_of_changes :
			    variant->cmd == KWQ_IOC_SYNC ? KWQ_SYNC_RELATIVE :
			    variant->cmd == KWQ_IOC_TERM ? KWQ_TERM_RELATIVE :
			    variant->cmd == KWQ_IOC_OPEN ? O_NONBLOCK | O_CLOEXEC : 0;
	__u32 *flags = (__u32 *)(self->arg.bytes + variant->flags);
	__u32 right = *flags;

	for (int bit = 0; bit < 32 && !variant->out; bit++) {
		if (known & 1U << bit)
			continue;
		*flags = right | 1U << bit;
		EXPECT_EQ(-EINVAL, run(self, variant, &self->arg)) {
			TH_LOG("bit %d", bit);
		}
	}
	check_unchanged(_metadata, self);
}

/* O6: no structure at the address, or half of one. */
TEST_F(request, not_readable)
{
	__u8 *edge = user_edge(1);
	static const __u64 nowhere[] = { 0, 1, 4095, ~0ULL, 1ULL << 63, 0xffffffff81000000ULL };

	for (int i = 0; i < ARRAY_SIZE(nowhere); i++) {
		if ((uintptr_t)nowhere[i] != nowhere[i])
			continue;
		EXPECT_EQ(-EFAULT, run(self, variant, (void *)(uintptr_t)nowhere[i])) {
			TH_LOG("%#llx", nowhere[i]);
		}
	}
	for (size_t there = 0; there < variant->size; there++) {
		memcpy(edge - there, &self->arg, there);
		EXPECT_EQ(-EFAULT, run(self, variant, edge - there)) {
			TH_LOG("%zu of %zu bytes", there, variant->size);
		}
	}
	check_unchanged(_metadata, self);
	user_edge_free(edge, 1);
}

/* O6: a structure that ends where the mapped memory ends, and at an odd address. */
TEST_F(request, at_the_edge)
{
	__u8 *edge = user_edge(1);
	__u8 *arg = edge - variant->size;

	memcpy(arg, &self->arg, variant->size);
	check_success(_metadata, self, variant, run(self, variant, arg));
	user_edge_free(edge, 1);
}

TEST_F(request, at_an_odd_address)
{
	__u8 *bytes = self->arg.bytes;

	memmove(bytes + 1, bytes, sizeof(self->arg) - 1);
	check_success(_metadata, self, variant, run(self, variant, bytes + 1));
}

/*
 * U3: a filter of system calls denies a request by its number, so no other number may
 * work for the request.
 */
TEST_F(request, another_size_or_direction_in_its_number)
{
	static const unsigned int sizes[] = { 0, 4, 8, 64, 0x3fff };
	int fd = variant->target == DEVICE ? self->dev : self->q;

	for (int i = 0; i < (ARRAY_SIZE(sizes) + 1) * 4; i++) {
		unsigned int size = i / 4 < ARRAY_SIZE(sizes) ? sizes[i / 4] : variant->size;
		unsigned int cmd = _IOC(i % 4, KWQ_IOC_MAGIC, _IOC_NR(variant->cmd), size);

		if (cmd == (unsigned int)variant->cmd)
			continue;
		EXPECT_EQ(-ENOTTY, request(fd, cmd, &self->arg)) {
			TH_LOG("%#x for %#lx", cmd, variant->cmd);
		}
	}
	check_unchanged(_metadata, self);
}

/* U3: another driver's request with the same number is unknown here. */
TEST_F(request, another_magic)
{
	static const __u8 magics[] = { 0, 'T', 0xBA, 0xBC, 0xff };

	for (int i = 0; i < ARRAY_SIZE(magics); i++) {
		unsigned long cmd = _IOC(_IOC_DIR(variant->cmd), magics[i], _IOC_NR(variant->cmd),
					 _IOC_SIZE(variant->cmd));

		EXPECT_EQ(-ENOTTY, request(variant->target == DEVICE ? self->dev : self->q, cmd,
					   &self->arg)) {
			TH_LOG("magic %#x", magics[i]);
		}
	}
	check_unchanged(_metadata, self);
}

/* U1: a request on the wrong kind of descriptor, or on a foreign one. */
TEST_F(request, wrong_descriptor)
{
	int fds[2], other;

	if (variant->cmd != KWQ_IOC_OPEN) {
		other = variant->target == DEVICE ? self->q : self->dev;
		EXPECT_EQ(-ENOTTY, request(other, variant->cmd, &self->arg));
	}

	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	EXPECT_EQ(-ENOTTY, request(fds[0], variant->cmd, &self->arg));
	close(fds[0]);
	close(fds[1]);

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	EXPECT_EQ(-ENOTTY, request(fds[0], variant->cmd, &self->arg));
	close(fds[0]);
	close(fds[1]);

	other = open("/dev/null", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOTTY, request(other, variant->cmd, &self->arg));
	close(other);
	EXPECT_EQ(-EBADF, request(other, variant->cmd, &self->arg));

	other = open(KWQ_DEVICE, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EBADF, request(other, variant->cmd, &self->arg));
	close(other);

	check_unchanged(_metadata, self);
}

/* The device in general, and tests that do not fit the table above */

QUEUE_FIXTURE(abi, new_queue(self->dev))

/* U1 */
TEST_F(abi, info)
{
	struct {
		struct kwq_info info;
		__u8 guard[GUARD];
	} out;

	poison(&out, sizeof(out));
	out.info.size = sizeof(out.info);
	ASSERT_EQ(0, request(self->dev, KWQ_IOC_INFO, &out));
	EXPECT_EQ(sizeof(out.info), out.info.size);
	EXPECT_EQ(KWQ_KEY_MAX, out.info.key_max);
	EXPECT_EQ(KWQ_FEATURE_DELAYS | KWQ_FEATURE_PRIORITIES | KWQ_FEATURE_NAMES |
		  KWQ_FEATURE_LIMITERS | KWQ_FEATURE_DEAD | KWQ_FEATURE_METRICS |
		  KWQ_FEATURE_MANUAL_CLOCK | KWQ_FEATURE_LEASES | KWQ_FEATURE_PAUSE |
		  KWQ_FEATURE_GROUPS | KWQ_FEATURE_AGING | KWQ_FEATURE_VALUES |
		  KWQ_FEATURE_DEBOUNCE | KWQ_FEATURE_WAIT_ADD | KWQ_FEATURE_LIST_ITEMS |
		  KWQ_FEATURE_RESTORE | KWQ_FEATURE_SETTLE | KWQ_FEATURE_BOARD |
		  KWQ_FEATURE_NO_DURATIONS | KWQ_FEATURE_CHANGES | KWQ_FEATURE_GRANTS |
		  KWQ_FEATURE_NOTES, out.info.features);
	EXPECT_LT(0, out.info.max_items);
	EXPECT_LT(KWQ_KEY_MAX, out.info.max_bytes);
	EXPECT_LT(0, out.info.max_queues);
	EXPECT_EQ(KWQ_NAME_MAX, out.info.name_max);
	EXPECT_EQ(KWQ_BATCH_MAX, out.info.batch_max);
	EXPECT_EQ(KWQ_PRIORITY_MIN, out.info.priority_min);
	EXPECT_EQ(KWQ_PRIORITY_MAX, out.info.priority_max);
	EXPECT_LT(0, out.info.user_queues);
	EXPECT_LT(0, out.info.max_user_bytes);
	EXPECT_LT(out.info.max_user_bytes, out.info.max_total_bytes);
	EXPECT_LT(0, out.info.user_bytes);
	/* The caller is root and therefore exempt. */
	EXPECT_EQ(~0U, out.info.user_queues_left);
	EXPECT_EQ(~0ULL, out.info.user_bytes_left);
	EXPECT_EQ(0, out.info.pad);
	EXPECT_TRUE(is_poison(out.guard, sizeof(out.guard)));
}

/* A number of @size bytes in the machine's byte order, or in the @other one. */
static void put_number(__u8 *to, size_t size, __u64 number, bool other)
{
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != other;

	for (size_t i = 0; i < size; i++)
		to[big ? size - 1 - i : i] = number >> 8 * i;
}

/*
 * U3: numbers are in the machine's byte order, and a key is a string of bytes. The test
 * builds the request byte by byte, so that it does not depend on the header.
 */
TEST_F(abi, byte_order)
{
	static const __u8 key[] = { 0x01, 0x00, 0xfe, 0x80, 0xff };
	__u8 op[56] = {}, entry[24] = {}, result[4], added[4];
	struct item item;

	for (int other = 1; other >= 0; other--) {
		memset(result, POISON, sizeof(result));
		put_number(entry, 4, sizeof(key), other);
		put_number(entry + 4, 4, KWQ_ADD_PRIORITY, other);
		put_number(entry + 8, 4, -3, other);
		put_number(op, 4, sizeof(op), other);
		put_number(op + 8, 8, user_ptr(entry), other);
		put_number(op + 16, 8, user_ptr(key), other);
		put_number(op + 24, 8, user_ptr(result), other);
		put_number(op + 40, 4, sizeof(key), other);
		put_number(op + 44, 4, 1, other);
		put_number(op + 48, 4, sizeof(entry), other);
		EXPECT_EQ(other ? -EINVAL : 1, request(self->q, KWQ_IOC_ADD, op));
	}
	put_number(added, sizeof(added), KWQ_ADDED, false);
	EXPECT_EQ(0, memcmp(added, result, sizeof(added)));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(sizeof(key), item.key_len);
	EXPECT_EQ(0, memcmp(key, item.key, sizeof(key)));
	EXPECT_EQ(-3, item.priority);
	EXPECT_EQ(0, q_done(self->q, item.ticket));
}

/* U3: requests have the same numbers on every architecture of these tests. */
TEST_F(abi, numbers_of_requests)
{
	EXPECT_EQ(0xc004bb00, KWQ_IOC_INFO);
	EXPECT_EQ(0xc004bb10, KWQ_IOC_ADD);
}

/* O6: output that cannot be written. */
TEST_F(abi, output_not_writable)
{
	size_t page = getpagesize();
	__u8 *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0, page);
	*(__u32 *)p = sizeof(struct kwq_info);
	*(__u32 *)(p + 1024) = sizeof(struct kwq_stat);
	*(__u32 *)(p + 2048) = sizeof(struct kwq_config);
	ASSERT_EQ(0, mprotect(p, page, PROT_READ));
	EXPECT_EQ(-EFAULT, request(self->dev, KWQ_IOC_INFO, p));
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_STAT, p + 1024));
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_CONFIG, p + 2048));
	munmap(p, page);
}

static bool is_one_of(unsigned int cmd, const unsigned int *cmds, int nr)
{
	while (nr--)
		if (cmds[nr] == cmd)
			return true;
	return false;
}

/* U3: all unknown numbers, on both kinds of descriptors. */
TEST_F(abi, unknown_requests)
{
	static const unsigned int of_device[] = {
		KWQ_IOC_INFO, KWQ_IOC_CREATE, KWQ_IOC_OPEN, KWQ_IOC_UNLINK, KWQ_IOC_LIST,
	};
	static const unsigned int of_queue[] = {
		KWQ_IOC_OPEN, KWQ_IOC_ADD, KWQ_IOC_GET, KWQ_IOC_DONE, KWQ_IOC_REMOVE, KWQ_IOC_LEN,
		KWQ_IOC_STAT, KWQ_IOC_PAUSE, KWQ_IOC_RESUME, KWQ_IOC_SHUT_DOWN,
		KWQ_IOC_SHUTTING_DOWN, KWQ_IOC_DRAIN,
		KWQ_IOC_FORGET, KWQ_IOC_REQUEUES, KWQ_IOC_CONFIGURE, KWQ_IOC_CONFIG,
		KWQ_IOC_ADVANCE, KWQ_IOC_EXTEND, KWQ_IOC_LIST_ITEMS, KWQ_IOC_RESTORE, KWQ_IOC_BOARD,
		KWQ_IOC_TELL, KWQ_IOC_FOLLOW, KWQ_IOC_CHANGES, KWQ_IOC_SYNC, KWQ_IOC_TERM,
		KWQ_IOC_BPF,
	};
	__u8 arg[4096];

	for (int nr = 0; nr < 256; nr++) {
		for (int i = 0; i < 12; i++) {
			unsigned int cmd = _IOC(i % 4, KWQ_IOC_MAGIC, nr, i / 4 * 4);

			poison(arg, sizeof(arg));
			*(__u32 *)arg = 64;
			if (!is_one_of(cmd, of_device, ARRAY_SIZE(of_device))) {
				EXPECT_EQ(-ENOTTY, request(self->dev, cmd, arg)) {
					TH_LOG("device, %#x", cmd);
				}
			}
			if (!is_one_of(cmd, of_queue, ARRAY_SIZE(of_queue))) {
				EXPECT_EQ(-ENOTTY, request(self->q, cmd, arg)) {
					TH_LOG("queue, %#x", cmd);
				}
			}
			EXPECT_TRUE(is_poison(arg + 4, sizeof(arg) - 4));
		}
	}
	check_stat(self->q, .items = 0);
}

/* U1: a queue is no stream of bytes. */
TEST_F(abi, no_read_no_write)
{
	char byte = 0;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(-1, read(self->q, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->q, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->q, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, read(self->dev, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->dev, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	expect_take(self->q, "a");
}

/* U3 */
TEST_F(abi, create_padding_and_values)
{
	const struct kwq_create_args right = {
		.size = sizeof(right),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.clockid = CLOCK_MONOTONIC,
	};
	static const __s32 clocks[] = {
		CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_TAI, -2, -3,
		100, INT_MIN, INT_MAX,
	};
	struct kwq_create_args create;
	int fd = next_fd();

	for (int bit = 0; bit < 32; bit++) {
		create = right;
		create.rights |= 1U << bit;
		if (create.rights != right.rights) {
			EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
				TH_LOG("rights %#x", create.rights);
			}
		}

		/* O_WRONLY and O_RDWR are among the invalid flags. */
		if (!((O_NONBLOCK | O_CLOEXEC) & 1U << bit)) {
			create = right;
			create.open_flags |= 1U << bit;
			EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
				TH_LOG("open_flags %#x", create.open_flags);
			}
		}

		/* An unnamed queue has no mode. */
		create = right;
		create.mode = 1U << bit;
		EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
			TH_LOG("mode %#o", create.mode);
		}

		if (bit >= 9) {
			create = right;
			create.mode = 1U << bit;
			set_name(create.name, "abi.mode");
			EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
				TH_LOG("mode %#o", create.mode);
			}
		}
	}
	/* A descriptor without any right. */
	create = right;
	create.rights = 0;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));

	for (int i = 0; i < ARRAY_SIZE(clocks); i++) {
		create = right;
		create.clockid = clocks[i];
		EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
			TH_LOG("clock %d", clocks[i]);
		}
	}

	/* KWQ_CREATE_OR_OPEN needs a name. */
	create = right;
	create.flags = KWQ_CREATE_OR_OPEN;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));

	/* Bytes behind the end of the name. */
	for (int i = 1; i <= KWQ_NAME_MAX; i++) {
		create = right;
		create.name[i] = 'x';
		EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create)) {
			TH_LOG("byte %d", i);
		}
	}
	EXPECT_EQ(fd, next_fd());
	EXPECT_EQ(-ENOENT, q_unlink(self->dev, "abi.mode"));
}

/* U3 */
TEST_F(abi, open_values)
{
	struct kwq_open_args arg = {
		.size = sizeof(arg),
	};

	/* No right at all. */
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_OPEN, &arg));
	for (int bit = 3; bit < 32; bit++) {
		arg.rights = ALL_RIGHTS | 1U << bit;
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_OPEN, &arg));
	}
	arg.rights = ALL_RIGHTS;
	for (int bit = 0; bit < 32; bit++) {
		arg.pad = 1U << bit;
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_OPEN, &arg));
	}
	arg.pad = 0;
	arg.name[0] = 'x';
	/* OPEN on a queue takes no name. */
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_OPEN, &arg));
	arg.name[0] = 0;
	arg.name[1] = 'x';
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_OPEN, &arg));
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_OPEN, &arg));
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_UNLINK, &(struct kwq_unlink_args){
		.size = sizeof(struct kwq_unlink_args),
		.name = { 'x', 0, 'x' },
	}));
}

/* U3 */
TEST_F(abi, list_values)
{
	struct kwq_list_entry entry;
	const struct kwq_list_args right = {
		.size = sizeof(right),
		.entries = user_ptr(&entry),
		.nr = 1,
		.entry_size = sizeof(entry),
	};
	struct kwq_list_args list;

	poison(&entry, sizeof(entry));
	list = right;
	list.nr = 0;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_LIST, &list));
	list.nr = KWQ_BATCH_MAX + 1;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_LIST, &list));
	list.nr = ~0U;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_LIST, &list));
	list = right;
	list.after[1] = 'x';
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_LIST, &list));
	list = right;
	memset(list.after, 'x', sizeof(list.after));
	EXPECT_EQ(-ENAMETOOLONG, request(self->dev, KWQ_IOC_LIST, &list));
	EXPECT_TRUE(is_poison(&entry, sizeof(entry)));
}

/* U3: entries of the caller's size. */

enum entry_kind { ADD, DONE, REMOVE, FORGET, REQUEUES, RESTORE, GOT, LISTED, CHANGED };

FIXTURE(entry)
{
	int dev;
	int q;
	union {
		struct kwq_add_entry add;
		struct kwq_done_entry done;
		struct kwq_remove_entry remove;
		struct kwq_key_entry key;
		struct kwq_got got;
		struct kwq_listed listed;
		__u8 bytes[4 * 4096];
	} entries;
	__u8 keys[KEY_ROOM];
	__s32 results[3];
};

FIXTURE_VARIANT(entry)
{
	enum entry_kind kind;
	unsigned long cmd;
	size_t size;
};

typedef FIXTURE_DATA(entry) entry_fixture;
typedef FIXTURE_VARIANT(entry) entry_variant;

FIXTURE_VARIANT_ADD(entry, add) {
	.kind = ADD, .cmd = KWQ_IOC_ADD, .size = sizeof(struct kwq_add_entry),
};

FIXTURE_VARIANT_ADD(entry, done) {
	.kind = DONE, .cmd = KWQ_IOC_DONE, .size = sizeof(struct kwq_done_entry),
};

FIXTURE_VARIANT_ADD(entry, remove) {
	.kind = REMOVE, .cmd = KWQ_IOC_REMOVE, .size = sizeof(struct kwq_remove_entry),
};

FIXTURE_VARIANT_ADD(entry, forget) {
	.kind = FORGET, .cmd = KWQ_IOC_FORGET, .size = sizeof(struct kwq_key_entry),
};

FIXTURE_VARIANT_ADD(entry, requeues) {
	.kind = REQUEUES, .cmd = KWQ_IOC_REQUEUES, .size = sizeof(struct kwq_key_entry),
};

FIXTURE_VARIANT_ADD(entry, restore) {
	.kind = RESTORE, .cmd = KWQ_IOC_RESTORE, .size = sizeof(struct kwq_restore_entry),
};

FIXTURE_VARIANT_ADD(entry, got) {
	.kind = GOT, .cmd = KWQ_IOC_GET, .size = sizeof(struct kwq_got),
};

FIXTURE_VARIANT_ADD(entry, listed) {
	.kind = LISTED, .cmd = KWQ_IOC_LIST_ITEMS, .size = sizeof(struct kwq_listed),
};

FIXTURE_VARIANT_ADD(entry, changed) {
	.kind = CHANGED, .cmd = KWQ_IOC_CHANGES, .size = sizeof(struct kwq_listed),
};

/* Whether the kernel fills the entries in. */
static bool come_out(const entry_variant *variant)
{
	return variant->kind == GOT || variant->kind == LISTED || variant->kind == CHANGED;
}

/* Makes an item rate-limited once and idle. */
static void fail_once(struct __test_metadata *_metadata, int q, const char *key)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add_rate_limited(q, key));
	ASSERT_EQ(1, q_try_get(q, &item));
	ASSERT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
}

FIXTURE_SETUP(entry)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	static const char * const keys[] = { "a", "b", "c" };
	const struct kwq_config config = config_of(at_once);
	struct item items[3];

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue_with(self->dev, CLOCK_MONOTONIC, 0, &config);
	ASSERT_LE(0, self->q);
	memcpy(self->keys, "abc", 3);
	if (variant->kind == ADD || variant->kind == RESTORE)
		return;
	for (int i = 0; i < 3; i++) {
		if (variant->kind == FORGET || variant->kind == REQUEUES)
			fail_once(_metadata, self->q, keys[i]);
	}
	if (variant->kind == CHANGED) {
		__u64 number;

		close(self->q);
		self->q = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
		ASSERT_EQ(0, q_follow(self->q, &number));
	}
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	if (variant->kind == DONE)
		ASSERT_EQ(3, q_get_many(self->q, items, 3, 0, KWQ_NO_DEADLINE));
}

FIXTURE_TEARDOWN(entry)
{
	close(self->q);
	close(self->dev);
}

/* Runs three entries, for the keys "a", "b" and "c", @entry_size apart. */
static int run_entries(entry_fixture *self, const entry_variant *variant,
		       __u32 entry_size)
{
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(&self->entries),
			.keys = user_ptr(self->keys),
			.keys_len = sizeof(self->keys),
			.nr = 3,
			.entry_size = entry_size,
		},
	};

	struct kwq_list_items_args list_items = {
		.size = sizeof(list_items),
		.states = KWQ_IS_READY,
		.batch = get.get,
	};

	struct kwq_changes_args changes = {
		.size = sizeof(changes),
		.flags = KWQ_CHANGES_NONBLOCK,
		.after = CREATION,
		.batch = get.get,
	};

	poison(self->results, sizeof(self->results));
	if (variant->kind == CHANGED)
		return request(self->q, KWQ_IOC_CHANGES, &changes);
	if (variant->kind == LISTED)
		return request(self->q, KWQ_IOC_LIST_ITEMS, &list_items);
	if (variant->kind == GOT)
		return q_get_raw(self->q, &get);
	return q_op(self->q, variant->cmd, &self->entries, entry_size, 3, self->keys, 3,
		    self->results);
}

static void fill_entries(entry_fixture *self, const entry_variant *variant,
			 __u32 entry_size)
{
	memset(&self->entries, 0, sizeof(self->entries));
	for (int i = 0; i < 3; i++) {
		__u8 *entry = self->entries.bytes + i * entry_size;

		if (variant->kind == DONE)
			((struct kwq_done_entry *)entry)->key_len = 1;
		else	/* the length comes first in both others */
			*(__u32 *)entry = 1;
		if (variant->kind == RESTORE)
			((struct kwq_restore_entry *)entry)->state = KWQ_IS_READY;
	}
}

static void check_entries_done(struct __test_metadata *_metadata, entry_fixture *self,
			       const entry_variant *variant, __u32 entry_size)
{
	static const __s32 result[] = {
		[ADD] = KWQ_ADDED, [DONE] = KWQ_FINISHED, [REMOVE] = KWQ_WAS_READY,
		[FORGET] = 1, [REQUEUES] = 1, [RESTORE] = KWQ_RESTORED,
	};

	for (int i = 0; i < 3; i++) {
		__u8 *entry = self->entries.bytes + i * entry_size;
		struct kwq_listed listed;
		struct kwq_got got;

		if (!come_out(variant)) {
			EXPECT_EQ(result[variant->kind], self->results[i]);
			continue;
		}
		if (variant->kind == LISTED || variant->kind == CHANGED) {
			memcpy(&listed, entry, sizeof(listed));
			EXPECT_EQ(KWQ_IS_READY, listed.state);
			EXPECT_EQ(KWQ_IS_READY, listed.order_of);
			EXPECT_EQ(1, listed.key_len);
		} else {
			memcpy(&got, entry, sizeof(got));
			EXPECT_NE(0, got.ticket);
			EXPECT_EQ(1, got.key_len);
			EXPECT_EQ(0, got.requeues);
		}
		EXPECT_TRUE(is_zero(entry + variant->size, entry_size - variant->size));
		/* A list of items is in no order. */
		EXPECT_TRUE(variant->kind == LISTED ? !!memchr(self->keys, 'a' + i, 3) :
						      self->keys[i] == 'a' + i);
	}
	if (come_out(variant))
		EXPECT_TRUE(is_poison(self->entries.bytes + 3 * entry_size,
				      sizeof(self->entries) - 3 * entry_size));
}

TEST_F(entry, its_own_size)
{
	fill_entries(self, variant, variant->size);
	if (come_out(variant))
		poison(&self->entries, sizeof(self->entries));
	ASSERT_EQ(3, run_entries(self, variant, variant->size));
	check_entries_done(_metadata, self, variant, variant->size);
}

TEST_F(entry, longer_with_zero_tail)
{
	fill_entries(self, variant, variant->size + 24);
	if (come_out(variant))
		poison(&self->entries, sizeof(self->entries));
	ASSERT_EQ(3, run_entries(self, variant, variant->size + 24));
	check_entries_done(_metadata, self, variant, variant->size + 24);
}

TEST_F(entry, a_page_with_zero_tail)
{
	fill_entries(self, variant, 4096);
	if (come_out(variant))
		poison(&self->entries, sizeof(self->entries));
	ASSERT_EQ(3, run_entries(self, variant, 4096));
	check_entries_done(_metadata, self, variant, 4096);
}

/* Strides at which no member is aligned. */
TEST_F(entry, odd_size)
{
	fill_entries(self, variant, variant->size + 1);
	if (come_out(variant))
		poison(&self->entries, sizeof(self->entries));
	ASSERT_EQ(3, run_entries(self, variant, variant->size + 1));
	check_entries_done(_metadata, self, variant, variant->size + 1);
}

TEST_F(entry, wrong_size)
{
	static const __u32 beyond[] = { 4097, 1U << 20, 1U << 31, ~0U };
	struct kwq_stat before, after;

	ASSERT_EQ(0, q_stat(self->q, &before));
	fill_entries(self, variant, variant->size);
	for (__u32 size = 0; size < variant->size; size++) {
		EXPECT_EQ(-EINVAL, run_entries(self, variant, size)) {
			TH_LOG("size %u", size);
		}
	}
	for (int i = 0; i < ARRAY_SIZE(beyond); i++) {
		EXPECT_EQ(-EINVAL, run_entries(self, variant, beyond[i])) {
			TH_LOG("size %u", beyond[i]);
		}
	}
	EXPECT_TRUE(is_poison(self->results, sizeof(self->results)));
	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));
}

/*
 * U3, Q13: a batch stops at the first entry with unknown content. In entries that are
 * filled in, the unknown tail becomes zero, whatever it was.
 */
TEST_F(entry, longer_with_tail)
{
	__u32 size = variant->size + 8;

	fill_entries(self, variant, size);
	if (come_out(variant)) {
		self->entries.bytes[variant->size + 7] = 1;
		ASSERT_EQ(3, run_entries(self, variant, size));
		EXPECT_TRUE(is_zero(self->entries.bytes + variant->size, 8));
		return;
	}
	self->entries.bytes[size + variant->size + 7] = 1;
	EXPECT_EQ(1, run_entries(self, variant, size));
	EXPECT_LE(0, self->results[0]);
	EXPECT_TRUE(is_poison(self->results + 1, 2 * sizeof(self->results[0])));
	self->entries.bytes[variant->size + 7] = 1;
	EXPECT_EQ(-E2BIG, run_entries(self, variant, size));
	EXPECT_TRUE(is_poison(self->results, sizeof(self->results)));
}

/* U3: each unknown flag and all padding of an entry. A refused entry changes nothing. */
TEST_F(abi, entry_flags_and_padding)
{
	const __u32 known = (KWQ_ADD_KICK << 1) - 1;
	const struct kwq_add_entry add = { .key_len = 1 };
	struct kwq_stat before, after;
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "p"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "r"));
	ASSERT_EQ(0, q_stat(self->q, &before));
	for (int bit = 0; bit < 32; bit++) {
		struct kwq_done_entry done = { .key_len = 1, .flags = 1U << bit };
		struct kwq_remove_entry remove = { .key_len = 1, .flags = 1U << bit };
		struct kwq_key_entry ask = { .key_len = 1, .flags = 1U << bit };
		struct kwq_add_entry bad = add;

		bad.pad = 1U << bit;
		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_ADD, &bad, sizeof(bad), "a", 1));
		bad = add;
		bad.flags = 1U << bit;
		if (!(known & 1U << bit)) {
			EXPECT_EQ(-EINVAL,
				  q_op_one(self->q, KWQ_IOC_ADD, &bad, sizeof(bad), "a", 1)) {
				TH_LOG("flag %d", bit);
			}
		}
		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_FORGET, &ask, sizeof(ask), "p", 1));
		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_REQUEUES, &ask, sizeof(ask), "p", 1));
		if (!(done.flags & (KWQ_DONE_FORGET | KWQ_DONE_DEAD | KWQ_DONE_RETURN))) {
			EXPECT_EQ(-EINVAL,
				  q_op_one(self->q, KWQ_IOC_DONE, &done, sizeof(done), "p", 1));
		}
		/* tests of their own: grants.c */
		if (!(remove.flags & (KWQ_REMOVE_DEAD | KWQ_REMOVE_REVOKE |
				      KWQ_REMOVE_UNCHANGED))) {
			EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_REMOVE, &remove,
						    sizeof(remove), "r", 1));
		}
	}
	for (int bit = 0; bit < 64; bit++) {
		struct kwq_remove_entry remove = { .key_len = 1, .change = 1ULL << bit };

		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), "r",
					    1));
	}
	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));
}

/* U3: contradictory flags of an add, or values without their flag. */
TEST_F(abi, add_values)
{
	static const struct kwq_add_entry wrong[] = {
		{ .flags = KWQ_ADD_AFTER | KWQ_ADD_AT, .time = 1 },
		{ .flags = KWQ_ADD_REPLACE },
		{ .flags = KWQ_ADD_KEEP },
		{ .flags = KWQ_ADD_LATER },
		{ .flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_KEEP, .time = 1 },
		{ .flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_LATER, .time = 1 },
		{ .flags = KWQ_ADD_AT | KWQ_ADD_KEEP | KWQ_ADD_LATER, .time = 1 },
		{ .flags = KWQ_ADD_AFTER | KWQ_ADD_END_WAIT, .time = 1 },
		{ .flags = KWQ_ADD_AT | KWQ_ADD_END_WAIT, .time = 1 },
		{ .flags = KWQ_ADD_AFTER | KWQ_ADD_END_WAIT },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_AFTER },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_AT },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_AT | KWQ_ADD_AFTER },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_END_WAIT },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_KICK },
		{ .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_KEEP | KWQ_ADD_LATER },
		{ .flags = KWQ_ADD_RATE_LIMITED, .time = 1 },
		{ .flags = KWQ_ADD_RATE_LIMITED, .priority = 1 },
		{ .flags = KWQ_ADD_KICK, .time = 1 },
		{ .flags = KWQ_ADD_KICK | KWQ_ADD_REPLACE },
		{ .time = 1 },
		{ .flags = KWQ_ADD_END_WAIT, .time = 1 },
		{ .priority = 1 },
		{ .priority = -1 },
		{ .flags = KWQ_ADD_PRIORITY, .priority = KWQ_PRIORITY_MAX + 1 },
		{ .flags = KWQ_ADD_PRIORITY, .priority = KWQ_PRIORITY_MIN - 1 },
		{ .flags = KWQ_ADD_PRIORITY, .priority = INT_MAX },
		{ .flags = KWQ_ADD_PRIORITY, .priority = INT_MIN },
	};

	for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct kwq_add_entry entry = wrong[i];

		entry.key_len = 1;
		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_ADD, &entry, sizeof(entry), "a", 1)) {
			TH_LOG("entry %d", i);
		}
	}
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 0);
}

/* U3: a done is either by ticket or by key. */
TEST_F(abi, done_values)
{
	struct kwq_done_entry entry = {
		.key_len = 1,
	};
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	entry.ticket = item.ticket;
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_DONE, &entry, sizeof(entry), "a", 1));
	entry.ticket = 0;
	entry.key_len = 0;
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_DONE, &entry, sizeof(entry), "a", 1));
	check_stat(self->q, .processing = 1, .items = 1);
}

/* U3: the members of a batch, apart from its entries. */
TEST_F(abi, batch_values)
{
	static const unsigned long cmds[] = {
		KWQ_IOC_ADD, KWQ_IOC_DONE, KWQ_IOC_REMOVE, KWQ_IOC_FORGET, KWQ_IOC_REQUEUES,
	};
	struct batch *b = new_batch();
	struct kwq_stat before, after;
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	ASSERT_EQ(0, q_stat(self->q, &before));

	for (int i = 0; i < ARRAY_SIZE(cmds); i++) {
		struct kwq_batch_args right = { .size = sizeof(right) }, op;

		b->nr = 0;
		b->keys_len = 0;
		if (cmds[i] == KWQ_IOC_ADD)
			batch_add(b, "a");
		else if (cmds[i] == KWQ_IOC_DONE)
			batch_done_key(b, "a");
		else if (cmds[i] == KWQ_IOC_REMOVE)
			batch_remove(b, "a");
		else
			batch_ask(b, "a");
		right.batch = batch_of(cmds[i], b);

		for (int bit = 0; bit < 32; bit++) {
			op = right;
			op.batch.extra_size = 1U << bit;
			EXPECT_EQ(-EINVAL, request(self->q, cmds[i], &op));
			if (cmds[i] == KWQ_IOC_ADD && 1U << bit == KWQ_ADD_WAIT)
				continue;
			op = right;
			op.flags = 1U << bit;
			EXPECT_EQ(-EINVAL, request(self->q, cmds[i], &op));
		}
		op = right;
		op.batch.nr = 0;
		EXPECT_EQ(-EINVAL, request(self->q, cmds[i], &op));
		memset(&op.batch, 0, sizeof(op.batch));
		EXPECT_EQ(-EINVAL, request(self->q, cmds[i], &op));
		op = right;
		op.batch.nr = KWQ_BATCH_MAX + 1;
		EXPECT_EQ(-EMSGSIZE, request(self->q, cmds[i], &op));
		op.batch.nr = ~0U;
		EXPECT_EQ(-EMSGSIZE, request(self->q, cmds[i], &op));
		op.batch.nr = 1U << 31;
		EXPECT_EQ(-EMSGSIZE, request(self->q, cmds[i], &op));
	}
	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));
	free(b);
}

/* U3: the batches of a get. One invalid batch prevents all of them. */
TEST_F(abi, get_values)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_stat before, after;
	struct kwq_got got;
	struct item item;
	struct kwq_get_args right = {
		.size = sizeof(right),
		.flags = KWQ_GET_NONBLOCK,
	}, get;
	__u8 key[8];

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "held"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	batch_add(adds, "a");
	batch_done_key(dones, "held");
	right.add = batch_of(KWQ_IOC_ADD, adds);
	right.done = batch_of(KWQ_IOC_DONE, dones);
	right.get = (struct kwq_batch){
		.entries = user_ptr(&got),
		.keys = user_ptr(key),
		.keys_len = sizeof(key),
		.nr = 1,
		.entry_size = sizeof(got),
	};
	ASSERT_EQ(0, q_stat(self->q, &before));

	for (int bit = 0; bit < 32; bit++) {
		get = right;
		get.add.extra_size = 1U << bit;
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		get = right;
		get.done.extra_size = 1U << bit;
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		get = right;
		get.get.extra_size = 1U << bit;
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		if (!((KWQ_GET_NONBLOCK | KWQ_GET_RELATIVE) & 1U << bit)) {
			get = right;
			get.flags |= 1U << bit;
			EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		}
	}

	/* An absent batch has no members. */
	get = right;
	get.add.nr = 0;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = right;
	get.done.nr = 0;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = right;
	get.get.nr = 0;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	for (int i = 0; i < 5; i++) {
		get = right;
		get.add = (struct kwq_batch){
			.entries = i == 0,
			.keys = i == 1,
			.results = i == 2,
			.keys_len = i == 3,
			.entry_size = i == 4,
		};
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get)) {
			TH_LOG("member %d of an absent batch", i);
		}
	}

	/* Members that are filled in must be zero on entry. */
	get = right;
	get.nr_added = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = right;
	get.nr_done = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));

	/* Entries that are filled in have no results. */
	get = right;
	get.get.results = user_ptr(key);
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));

	get = right;
	get.add.nr = KWQ_BATCH_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, q_get_raw(self->q, &get));
	get = right;
	get.done.nr = KWQ_BATCH_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, q_get_raw(self->q, &get));
	get = right;
	get.get.nr = KWQ_BATCH_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, q_get_raw(self->q, &get));

	get = right;
	get.add.entry_size--;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = right;
	get.done.entry_size--;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = right;
	get.get.entry_size--;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));

	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));

	/* The unmodified request works. */
	get = right;
	EXPECT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	free(dones);
	free(adds);
}

/* Q13: a get without any batch does nothing. */
TEST_F(abi, get_of_nothing)
{
	struct kwq_get_args get = { .size = sizeof(get) };

	EXPECT_EQ(0, q_get_raw(self->q, &get));
	EXPECT_EQ(0, get.nr_added);
	EXPECT_EQ(0, get.nr_done);
}

/* U3: a request without an argument takes none. */
TEST_F(abi, no_argument)
{
	static const __u64 some[] = { 1, 4095, 1ULL << 31, 1ULL << 63, ~0ULL };
	int mine;

	for (int i = 0; i < ARRAY_SIZE(some); i++) {
		/* A 32-bit program has only 32-bit arguments. */
		void *arg = (void *)(uintptr_t)some[i];

		if (!arg)
			continue;
		/* The kernel clears the highest bit of an address in a 31-bit program. */
		if (sizeof(arg) == 4 && on_s390() && !((uintptr_t)arg & ~(1U << 31)))
			continue;
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_LEN, arg)) {
			TH_LOG("%#llx", some[i]);
		}
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_SHUTTING_DOWN, arg)) {
			TH_LOG("%#llx", some[i]);
		}
	}
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_LEN, &mine));
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_SHUTTING_DOWN, &mine));
	EXPECT_EQ(0, q_len(self->q));
	EXPECT_EQ(0, q_shutting_down(self->q));
}

/* U3: a deadline in a get that waits for nothing. */
TEST_F(abi, get_without_a_wait)
{
	static const __u64 deadlines[] = { 1, 1ULL << 32, KWQ_NO_DEADLINE };
	static const __u32 flags[] = {
		KWQ_GET_NONBLOCK, KWQ_GET_RELATIVE, KWQ_GET_NONBLOCK | KWQ_GET_RELATIVE,
	};
	struct batch *adds = new_batch();
	struct kwq_stat before, after;
	struct kwq_got got;
	__u8 key[8];
	struct kwq_get_args add_only = { .size = sizeof(add_only) }, get;
	struct kwq_get_args nonblock = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
						.flags = KWQ_GET_NONBLOCK);

	batch_add(adds, "a");
	add_only.add = batch_of(KWQ_IOC_ADD, adds);
	ASSERT_EQ(0, q_stat(self->q, &before));

	for (int i = 0; i < ARRAY_SIZE(deadlines); i++) {
		get = add_only;
		get.deadline = deadlines[i];
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		get = nonblock;
		get.deadline = deadlines[i];
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	}
	for (int i = 0; i < ARRAY_SIZE(flags); i++) {
		get = add_only;
		get.flags = flags[i];
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
		get.resume = 1;
		EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	}
	get = add_only;
	get.resume = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get = nonblock;
	get.resume = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get.flags |= KWQ_GET_RELATIVE;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get.resume = 0;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));

	/* A get that adds is not restarted, so it keeps no state for a restart. */
	get = nonblock;
	get.add = add_only.add;
	get.flags = KWQ_GET_RELATIVE;
	get.resume = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));

	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));
	get = nonblock;
	EXPECT_EQ(-EAGAIN, q_get_raw(self->q, &get));
	get = nonblock;
	get.flags = KWQ_GET_RELATIVE;
	get.resume = 1;
	EXPECT_EQ(-ETIMEDOUT, q_get_raw(self->q, &get));
	get = add_only;
	EXPECT_EQ(0, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	free(adds);
}

/* U3: an address of keys that have no bytes. */
TEST_F(abi, keys_of_no_bytes)
{
	static const unsigned long cmds[] = {
		KWQ_IOC_ADD, KWQ_IOC_DONE, KWQ_IOC_EXTEND, KWQ_IOC_REMOVE, KWQ_IOC_FORGET,
		KWQ_IOC_REQUEUES, KWQ_IOC_RESTORE,
	};
	union {
		struct kwq_done_entry done;
		struct kwq_got got;
		struct kwq_listed listed;
		struct kwq_restore_entry restore;
	} entry;
	__s32 result;

	memset(&entry, 0, sizeof(entry));
	for (int i = 0; i < ARRAY_SIZE(cmds); i++) {
		struct kwq_batch_args op = {
			.size = sizeof(op),
			.batch = {
				.entries = user_ptr(&entry),
				.keys = 1,
				.results = user_ptr(&result),
				.nr = 1,
				.entry_size = batch_entry_size(cmds[i]),
			},
		};

		/* Without the address only the entry is invalid: it names no item. */
		EXPECT_EQ(-EINVAL, request(self->q, cmds[i], &op));
		op.batch.keys = 0;
		EXPECT_EQ(1, request(self->q, cmds[i], &op));
		EXPECT_EQ(-EINVAL, result);
	}

	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(&entry),
			.keys = 1,
			.nr = 1,
			.entry_size = sizeof(entry.got),
		},
	};
	struct kwq_list_items_args items = {
		.size = sizeof(items),
		.states = KWQ_IS_READY,
		.batch = get.get,
	};

	EXPECT_EQ(-EINVAL, q_get_raw(self->q, &get));
	get.get.keys = 0;
	EXPECT_EQ(-EAGAIN, q_get_raw(self->q, &get));
	items.batch.entry_size = sizeof(entry.listed);
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_LIST_ITEMS, &items));
	items.batch.keys = 0;
	EXPECT_EQ(0, request(self->q, KWQ_IOC_LIST_ITEMS, &items));
}

/* O6, U3: addresses have 64 bits, even those of a 32-bit program. */
TEST_F(abi, addresses_beyond)
{
	const struct kwq_add_entry entry = { .key_len = 1 };
	static const __u64 beyond[] = {
		1ULL << 63, ~0ULL, 0xffffffff81000000ULL, 0xffff888000000000ULL,
	};
	struct kwq_config config = {
		.size = sizeof(config), .nr = 1, .limiter_size = sizeof(struct kwq_limiter),
	};
	struct kwq_create_args create = {
		.size = sizeof(create), .rights = ALL_RIGHTS, .clockid = CLOCK_MONOTONIC,
	};
	__s32 result;
	struct kwq_batch_args right = {
		.size = sizeof(right),
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr("a"),
			.results = user_ptr(&result),
			.keys_len = 1,
			.nr = 1,
			.entry_size = sizeof(entry),
		},
	}, op;

	for (int i = 0; i < ARRAY_SIZE(beyond); i++) {
		op = right;
		op.batch.entries |= beyond[i];
		EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_ADD, &op));
		op = right;
		op.batch.keys |= beyond[i];
		EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_ADD, &op));
		op = right;
		op.batch.results |= beyond[i];
		EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_ADD, &op));
		create.config = beyond[i];
		EXPECT_EQ(-EFAULT, request(self->dev, KWQ_IOC_CREATE, &create));
		config.limiters = beyond[i];
		EXPECT_EQ(-EFAULT, q_configure(self->q, &config));
	}
	check_stat(self->q, .items = 0);
	EXPECT_EQ(1, request(self->q, KWQ_IOC_ADD, &right));
}

/* U9: the right that each request needs; none if any right suffices. */
static const struct {
	unsigned int cmd;
	__u32 right;
} needs[] = {
	{ KWQ_IOC_ADD, KWQ_RIGHT_WRITE },	{ KWQ_IOC_GET, KWQ_RIGHT_READ },
	{ KWQ_IOC_DONE, KWQ_RIGHT_READ },	{ KWQ_IOC_EXTEND, KWQ_RIGHT_READ },
	{ KWQ_IOC_FORGET, KWQ_RIGHT_READ },	{ KWQ_IOC_REQUEUES, KWQ_RIGHT_READ },
	{ KWQ_IOC_LIST_ITEMS, KWQ_RIGHT_READ },	{ KWQ_IOC_REMOVE, KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_PAUSE, KWQ_RIGHT_MANAGE },	{ KWQ_IOC_RESUME, KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_SHUT_DOWN, KWQ_RIGHT_MANAGE }, { KWQ_IOC_DRAIN, KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_CONFIGURE, KWQ_RIGHT_MANAGE }, { KWQ_IOC_ADVANCE, KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_LEN, 0 },			{ KWQ_IOC_STAT, 0 },
	{ KWQ_IOC_SHUTTING_DOWN, 0 },		{ KWQ_IOC_CONFIG, 0 },
	{ KWQ_IOC_RESTORE, KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_BOARD, KWQ_RIGHT_WRITE },	{ KWQ_IOC_TELL, KWQ_RIGHT_WRITE },
	{ KWQ_IOC_FOLLOW, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_SYNC, 0 },			{ KWQ_IOC_TERM, KWQ_RIGHT_MANAGE },
	{ KWQ_IOC_BPF, KWQ_RIGHT_WRITE },
};

/* Every request of a queue, in a form that succeeds if it is permitted. */
static int ask(int q, unsigned int cmd)
{
	const struct kwq_config config = default_config();
	struct kwq_config told;
	struct item item;
	struct listed_item listed;
	struct kwq_stat stat;
	__u64 after = 0, size;
	int ret;

	switch (cmd) {
	case KWQ_IOC_BOARD:
		ret = q_board(q, &size);
		if (ret >= 0)
			close(ret);
		return ret;
	case KWQ_IOC_TELL:
		return q_tell(q, 1);
	case KWQ_IOC_FOLLOW:
		return q_follow(q, &after);
	case KWQ_IOC_SYNC:
		return q_sync_until(q, 1);
	case KWQ_IOC_ADD:
		return q_add(q, "new");
	case KWQ_IOC_GET:
		return q_try_get(q, &item);
	case KWQ_IOC_DONE:
		return q_done_key(q, "none");
	case KWQ_IOC_EXTEND:
		return q_extend_key(q, "none");
	case KWQ_IOC_RESTORE:
		return q_restore(q, "new", .state = KWQ_IS_READY);
	case KWQ_IOC_FORGET:
		return q_forget(q, "none");
	case KWQ_IOC_REQUEUES:
		return q_requeues(q, "none");
	case KWQ_IOC_LIST_ITEMS:
		return q_list_page(q, &listed, 1, KWQ_IS_READY, &after);
	case KWQ_IOC_REMOVE:
		return q_remove(q, "none");
	case KWQ_IOC_PAUSE:
		return q_pause_for(q, 0);
	case KWQ_IOC_TERM:
		return q_term(q, KWQ_NO_DEADLINE);
	case KWQ_IOC_BPF:
		ret = q_bpf(q, &size);
		/* Not each kernel has what it takes. */
		return ret == -EOPNOTSUPP ? 0 : ret;
	case KWQ_IOC_RESUME:
		return q_resume(q);
	case KWQ_IOC_SHUT_DOWN:
		return q_shut_down(q);
	case KWQ_IOC_DRAIN:
		return q_drain(q, 1);
	case KWQ_IOC_CONFIGURE:
		return q_configure(q, &config);
	case KWQ_IOC_ADVANCE:
		return q_advance(q, 1);
	case KWQ_IOC_LEN:
		return q_len(q);
	case KWQ_IOC_STAT:
		return q_stat(q, &stat);
	case KWQ_IOC_SHUTTING_DOWN:
		return q_shutting_down(q);
	default:
		return q_config(q, &told, NULL, 0);
	}
}

static void check_rights(struct __test_metadata *_metadata, int dev, __u32 rights)
{
	for (int i = 0; i < ARRAY_SIZE(needs); i++) {
		bool may = (needs[i].right & rights) == needs[i].right;
		int all = new_manual_queue(dev, NULL);
		int q = q_open_with(all, NULL, rights, O_CLOEXEC);

		ASSERT_LE(0, q);
		EXPECT_EQ(may, ask(q, needs[i].cmd) != -EBADF) {
			TH_LOG("request %#x with the rights %u", needs[i].cmd, rights);
		}
		close(q);
		close(all);
	}
}

/* U9: every request with every set of rights. */
TEST_F(abi, rights)
{
	for (__u32 rights = 1; rights <= ALL_RIGHTS; rights++)
		check_rights(_metadata, self->dev, rights);
}

/*
 * U9: a get that adds needs the rights to read and to write. Without both it does
 * nothing.
 */
TEST_F(abi, rights_of_a_get_that_adds)
{
	struct batch *b = new_batch();
	struct kwq_got got;
	__u8 key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);

	batch_add(b, "b");
	get.add = batch_of(KWQ_IOC_ADD, b);
	for (__u32 rights = 1; rights <= ALL_RIGHTS; rights++) {
		int q = q_open_with(self->q, NULL, rights, O_CLOEXEC);
		bool may = rights & KWQ_RIGHT_READ && rights & KWQ_RIGHT_WRITE;

		ASSERT_LE(0, q);
		EXPECT_EQ(may ? 1 : -EBADF, q_get_raw(q, &get)) {
			TH_LOG("rights %u", rights);
		}
		check_stat(self->q, .processing = may, .items = may);
		get.nr_added = 0;
		close(q);
		if (may)
			EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "b"));
	}
	free(b);
}

/* U9: kicking a dead item is an add. */
TEST_F(abi, rights_of_a_kick)
{
	int wr = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	int others = q_open_with(self->q, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE, O_CLOEXEC);

	ASSERT_LE(0, wr);
	ASSERT_LE(0, others);
	EXPECT_EQ(-ENOENT, q_kick(wr, "none"));
	EXPECT_EQ(-EBADF, q_kick(others, "none"));
	close(wr);
	close(others);
}

/* U9: a descriptor opened on a descriptor has no right that the first lacks. */
TEST_F(abi, rights_never_widen)
{
	for (__u32 has = 1; has <= ALL_RIGHTS; has++) {
		int q = q_open_with(self->q, NULL, has, O_CLOEXEC);
		int copy = dup(q);

		ASSERT_LE(0, copy);
		close(q);
		for (__u32 wants = 1; wants <= ALL_RIGHTS; wants++) {
			int again = q_open_with(copy, NULL, wants, O_CLOEXEC);

			EXPECT_EQ(wants & ~has ? -EACCES : 0, again < 0 ? again : 0) {
				TH_LOG("%u of %u: %d", wants, has, again);
			}
			if (again >= 0)
				close(again);
		}
		EXPECT_EQ(has & KWQ_RIGHT_MANAGE ? -ENOENT : -EBADF, q_remove(copy, "none"));
		close(copy);
	}
}

/* Counts the requests, and ways to reopen the queue, that exceed the rights of @q. */
static int nr_gained(int q, __u32 has)
{
	char path[32];
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", q);
	nr += open(path, O_RDWR | O_CLOEXEC) >= 0;
	REQUIRE(!fcntl(q, F_SETFL, O_RDWR));
	for (int i = 0; i < ARRAY_SIZE(needs); i++)
		if (needs[i].right & ~has)
			nr += ask(q, needs[i].cmd) != -EBADF;
	for (__u32 wants = 1; wants <= ALL_RIGHTS; wants++)
		if (wants & ~has)
			nr += q_open_with(q, NULL, wants, O_CLOEXEC) != -EACCES;
	return nr;
}

/* The ways to pass a descriptor on: over a socket, or by a fork. */
struct passed_on {
	int dev;
	int socket;
	int q;
	__u32 has;
};

union one_fd {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int socket, int fd)
{
	union one_fd control = { };
	struct iovec data = { .iov_base = "q", .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	REQUIRE(sendmsg(socket, &message, 0) == 1);
}

static int receive_fd(int socket)
{
	union one_fd control = { };
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	REQUIRE(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
	REQUIRE(control.header.cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

/* An unprivileged user creates a queue, and passes on a descriptor with few rights. */
static int peer_passes_on(struct peer *parent, void *arg)
{
	const struct passed_on *how = arg;
	int all, q;

	REQUIRE(!setresuid(30001, 30001, 30001));
	all = new_manual_queue(how->dev, NULL);
	q = q_open_with(all, NULL, how->has, O_CLOEXEC);
	REQUIRE(q >= 0);
	send_fd(how->socket, q);
	hear(parent);
	return 0;
}

static int peer_inherits(struct peer *parent, void *arg)
{
	const struct passed_on *how = arg;

	say(parent, nr_gained(how->q, how->has));
	return 0;
}

/* U9: a receiver's capabilities add nothing to a descriptor's rights, and a fork adds nothing. */
TEST_F(abi, rights_that_are_passed_on)
{
	struct passed_on how = { .dev = self->dev };
	struct peer sender, child;
	int sockets[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	how.socket = sockets[1];
	for (how.has = 1; how.has < ALL_RIGHTS; how.has++) {
		start_peer(&sender, peer_passes_on, &how);
		how.q = receive_fd(sockets[0]);
		EXPECT_EQ(0, nr_gained(how.q, how.has)) {
			TH_LOG("over a socket, with the rights %u", how.has);
		}
		start_peer(&child, peer_inherits, &how);
		EXPECT_EQ(0, hear(&child)) {
			TH_LOG("by a fork, with the rights %u", how.has);
		}
		EXPECT_EQ(0, end_of_peer(&child));
		/* The rights that it has still work. */
		EXPECT_EQ(!!(how.has & KWQ_RIGHT_READ), q_requeues(how.q, "none") != -EBADF);
		EXPECT_EQ(!!(how.has & KWQ_RIGHT_WRITE), q_add(how.q, "new") != -EBADF);
		EXPECT_EQ(!!(how.has & KWQ_RIGHT_MANAGE), q_remove(how.q, "none") != -EBADF);
		close(how.q);
		say(&sender, 0);
		EXPECT_EQ(0, end_of_peer(&sender));
	}
	close(sockets[0]);
	close(sockets[1]);
}

/* U1: a new descriptor has the requested flags. */
TEST_F(abi, descriptor_flags)
{
	static const int wanted[] = {
		0, O_NONBLOCK, O_CLOEXEC, O_NONBLOCK | O_CLOEXEC,
	};
	/* U9: the access mode is as close to the rights as it can be. */
	static const int access[] = {
		[1] = O_RDONLY, [2] = O_WRONLY, [3] = O_WRONLY,
		[4] = O_RDONLY, [5] = O_RDONLY, [6] = O_RDWR, [7] = O_RDWR,
	};

	for (int i = 0; i < ARRAY_SIZE(wanted) * 7; i++) {
		int flags = wanted[i / 7], rights = 1 + i % 7;
		int made = q_create(self->dev, NULL, 0, flags, 0);
		int opened = q_open_with(self->q, NULL, rights, flags);

		ASSERT_LE(0, made);
		ASSERT_LE(0, opened);
		EXPECT_EQ(O_RDWR | (flags & O_NONBLOCK),
			  fcntl(made, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
		EXPECT_EQ(access[rights] | (flags & O_NONBLOCK),
			  fcntl(opened, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
		EXPECT_EQ(flags & O_CLOEXEC ? FD_CLOEXEC : 0, fcntl(made, F_GETFD));
		EXPECT_EQ(flags & O_CLOEXEC ? FD_CLOEXEC : 0, fcntl(opened, F_GETFD));
		close(made);
		close(opened);
	}
}

/* U1: STAT of an unnamed queue. */
TEST_F(abi, stat)
{
	struct kwq_stat stat;
	struct kwq_info info = { .size = sizeof(info) };
	int second;

	ASSERT_EQ(0, request(self->dev, KWQ_IOC_INFO, &info));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(info.max_items, stat.max_items);
	EXPECT_EQ(info.max_bytes, stat.max_bytes);
	EXPECT_EQ(geteuid(), stat.uid);
	EXPECT_EQ(getegid(), stat.gid);
	EXPECT_EQ(0, stat.mode);
	EXPECT_EQ(CLOCK_MONOTONIC, stat.clockid);
	EXPECT_EQ(1, stat.handles);
	EXPECT_TRUE(is_zero(stat.name, sizeof(stat.name)));

	second = q_reopen(self->q);
	ASSERT_LE(0, second);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(2, stat.handles);
	/* A dup() is the same handle. */
	EXPECT_LE(0, dup2(second, second + 1));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(2, stat.handles);
	close(second);
	close(second + 1);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.handles);
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 0);
}

TEST_HARNESS_MAIN
