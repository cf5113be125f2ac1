// SPDX-License-Identifier: GPL-2.0-only
/*
 * E1 to E4: BPF programs add keys to a queue.
 *
 * The programs are arrays of instructions, which are assembled here, so that neither clang nor
 * libbpf is needed to run the test or to build it for 32 bits, and so that a program can do what a
 * compiler would refuse. Each shares memory with the test, in which it counts its calls. A kernel
 * or a module without BTF has no function that a program could name, and refuses to give a token.
 */
#include "kwq_test.h"

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/utsname.h>

/* Only a hang takes this long. */
#define HANG	(60 * SEC)

#define REFERENCES	"/sys/module/kwq/refcnt"

/* What a program and the test share. */
struct shared {
	__u64 token;
	__u64 calls;		/* that the program has made */
	__u64 mask;		/* the key is the number of the call, and this */
	__u64 flags;
	__s32 result;		/* of the last call */
	__u32 key_len;
	__u32 value_len;
	__u32 pad;
	struct bpf_kwq_options options;
	__u8 value[512];
	__u8 key[8192];
};

/* Programs write it meanwhile. */
static __u64 calls_of(const struct shared *shared)
{
	return __atomic_load_n(&shared->calls, __ATOMIC_RELAXED);
}

#define OFFSET(member)	((__s16)offsetof(struct shared, member))
/* Powers of two minus 1, with which a program shows the verifier that its lengths are in bounds. */
#define KEY_LENS	8191
#define VALUE_LENS	511

static int bpf(int command, union bpf_attr *attr)
{
	int ret = syscall(__NR_bpf, command, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

/* ---- What the kernel's functions and tracepoints are called ---- */

struct btf {
	const struct btf_header *header;
	const struct btf *base;
	__u32 nr;		/* of its types, with those of @base and type 0 */
};

static size_t bytes_of_type(const struct btf_type *type)
{
	__u32 nr = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*type) + 4;
	case BTF_KIND_ARRAY:
		return sizeof(*type) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return sizeof(*type) + nr * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*type) + nr * 8;
	default:
		return sizeof(*type);
	}
}

static const char *btf_name(const struct btf *btf, __u32 at)
{
	__u32 before = btf->base ? btf->base->header->str_len : 0;

	if (at < before)
		return btf_name(btf->base, at);
	return (const char *)(btf->header + 1) + btf->header->str_off + at - before;
}

/* Returns the id of a type. Without a name, returns the first free id. */
static int find_type(const struct btf *btf, __u32 kind, const char *name)
{
	const char *at = (const char *)(btf->header + 1) + btf->header->type_off;
	const char *end = at + btf->header->type_len;
	int id = btf->base ? btf->base->nr : 1;

	for (; at < end; id++) {
		const struct btf_type *type = (const void *)at;

		if (name && BTF_INFO_KIND(type->info) == kind &&
		    !strcmp(btf_name(btf, type->name_off), name))
			return id;
		at += bytes_of_type(type);
	}
	return name ? -ENOENT : id;
}

/* Returns false if the kernel has none. */
static bool read_btf(struct btf *btf, const char *name, const struct btf *base)
{
	char path[64], *to;
	struct stat stat;
	ssize_t n, len = 0;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	REQUIRE(!fstat(fd, &stat));
	to = malloc(stat.st_size);
	REQUIRE(to);
	while ((n = read(fd, to + len, stat.st_size - len)) > 0)
		len += n;
	REQUIRE(len == stat.st_size);
	close(fd);
	btf->header = (void *)to;
	REQUIRE(btf->header->hdr_len == sizeof(*btf->header));
	btf->base = base;
	btf->nr = find_type(btf, 0, NULL);
	return true;
}

/* Returns a descriptor of the module's BTF. */
static int open_btf_of_module(void)
{
	union bpf_attr next = {};

	while (!bpf(BPF_BTF_GET_NEXT_ID, &next)) {
		union bpf_attr by_id = { .btf_id = next.next_id }, query = {};
		char name[64] = "";
		struct bpf_btf_info info = { .name = user_ptr(name), .name_len = sizeof(name) };
		int fd = bpf(BPF_BTF_GET_FD_BY_ID, &by_id);

		REQUIRE(fd >= 0);
		query.info.bpf_fd = fd;
		query.info.info_len = sizeof(info);
		query.info.info = user_ptr(&info);
		REQUIRE(!bpf(BPF_OBJ_GET_INFO_BY_FD, &query));
		if (info.kernel_btf && !strcmp(name, "kwq"))
			return fd;
		close(fd);
		next = (union bpf_attr){ .start_id = by_id.btf_id };
	}
	return -ENOENT;
}

/* ---- Programs ---- */

FIXTURE(bpf)
{
	long long references;	/* to the module, without this test */
	int dev;
	int q;
	int map;
	int btf_fd;
	struct shared *shared;
	struct btf kernel;
	struct btf module;
};

typedef FIXTURE_DATA(bpf) bpf_fixture;

struct program {
	struct bpf_insn insns[64];
	int nr;
};

static void emit(struct program *p, __u8 code, __u8 to, __u8 from, __s16 off, __s32 imm)
{
	REQUIRE(p->nr < (int)(sizeof(p->insns) / sizeof(*p->insns)));
	p->insns[p->nr++] = (struct bpf_insn){
		.code = code, .dst_reg = to, .src_reg = from, .off = off, .imm = imm,
	};
}

static void set(struct program *p, int reg, __s32 value)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, value);
}

static void load(struct program *p, int size, int reg, __s16 off)
{
	emit(p, BPF_LDX | BPF_MEM | size, reg, BPF_REG_6, off, 0);
}

/* Sets @reg to the address of a member of struct shared, or of the stack. */
static void point(struct program *p, int reg, int base, __s32 off)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, reg, base, 0, 0);
	emit(p, BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, off);
}

static void load_length(struct program *p, int reg, __s16 off, __s32 bound)
{
	load(p, BPF_W, reg, off);
	emit(p, BPF_ALU64 | BPF_AND | BPF_K, reg, 0, 0, bound);
}

/* Keeps the address of struct shared in r6, and counts the call, whose number remains in r1. */
static void begin(struct program *p, bpf_fixture *self)
{
	emit(p, BPF_LD | BPF_IMM | BPF_DW, BPF_REG_6, BPF_PSEUDO_MAP_VALUE, 0, self->map);
	emit(p, 0, 0, 0, 0, 0);
	set(p, BPF_REG_1, 1);
	emit(p, BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_6, BPF_REG_1, OFFSET(calls),
	     BPF_ADD | BPF_FETCH);
}

static void call(struct program *p, bpf_fixture *self, const char *function)
{
	int id = find_type(&self->module, BTF_KIND_FUNC, function);

	REQUIRE(id > 0);
	/* The descriptor of the module's BTF is the second of fd_array. */
	emit(p, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 1, id);
}

static void end(struct program *p, int ret)
{
	emit(p, BPF_STX | BPF_MEM | BPF_W, BPF_REG_6, BPF_REG_0, OFFSET(result), 0);
	set(p, BPF_REG_0, ret);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* A program that adds the number of the call. */
static struct program numbers(bpf_fixture *self, int ret)
{
	struct program p = {};

	begin(&p, self);
	load(&p, BPF_DW, BPF_REG_2, OFFSET(mask));
	emit(&p, BPF_ALU64 | BPF_AND | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
	emit(&p, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_1, -8, 0);
	load(&p, BPF_DW, BPF_REG_1, OFFSET(token));
	point(&p, BPF_REG_2, BPF_REG_10, -8);
	set(&p, BPF_REG_3, 8);
	load(&p, BPF_DW, BPF_REG_4, OFFSET(flags));
	call(&p, self, "bpf_kwq_add");
	end(&p, ret);
	return p;
}

/* A program that adds the key in struct shared. */
static struct program shared_key(bpf_fixture *self)
{
	struct program p = {};

	begin(&p, self);
	load(&p, BPF_DW, BPF_REG_1, OFFSET(token));
	point(&p, BPF_REG_2, BPF_REG_6, OFFSET(key));
	load_length(&p, BPF_REG_3, OFFSET(key_len), KEY_LENS);
	load(&p, BPF_DW, BPF_REG_4, OFFSET(flags));
	call(&p, self, "bpf_kwq_add");
	end(&p, 0);
	return p;
}

/* A program that adds that key with the value and the options there. */
static struct program shared_value(bpf_fixture *self)
{
	struct program p = {};

	begin(&p, self);
	point(&p, BPF_REG_1, BPF_REG_6, OFFSET(options));
	point(&p, BPF_REG_2, BPF_REG_6, OFFSET(key));
	load_length(&p, BPF_REG_3, OFFSET(key_len), KEY_LENS);
	point(&p, BPF_REG_4, BPF_REG_6, OFFSET(value));
	load_length(&p, BPF_REG_5, OFFSET(value_len), VALUE_LENS);
	call(&p, self, "bpf_kwq_add_value");
	end(&p, 0);
	return p;
}

static char complaints[1 << 16];

/* @more has what the type of program needs. */
static int load_program(bpf_fixture *self, int type, const struct program *p,
			const union bpf_attr *more)
{
	int fds[2] = { -1, self->btf_fd };
	union bpf_attr attr = *more;

	attr.prog_type = type;
	attr.insn_cnt = p->nr;
	attr.insns = user_ptr(p->insns);
	attr.license = user_ptr("GPL");
	attr.fd_array = user_ptr(fds);
	attr.log_level = 1;
	attr.log_size = sizeof(complaints);
	attr.log_buf = user_ptr(complaints);
	return bpf(BPF_PROG_LOAD, &attr);
}

static const union bpf_attr nothing_more;
static const union bpf_attr sleepable = { .prog_flags = BPF_F_SLEEPABLE };

static int load_syscall(bpf_fixture *self, struct program p)
{
	return load_program(self, BPF_PROG_TYPE_SYSCALL, &p, &sleepable);
}

static int load_xdp(bpf_fixture *self, struct program p)
{
	return load_program(self, BPF_PROG_TYPE_XDP, &p, &nothing_more);
}

/* Runs a program that may sleep. Returns what the function has returned. */
static int run(bpf_fixture *self, int program)
{
	union bpf_attr attr = { .test = { .prog_fd = program } };

	REQUIRE(!bpf(BPF_PROG_TEST_RUN, &attr));
	return self->shared->result;
}

/* Runs a program @nr times for a packet. */
static int run_for_packet(bpf_fixture *self, int program, __u32 nr)
{
	static const char packet[64];
	union bpf_attr attr = {
		.test = {
			.prog_fd = program,
			.data_in = user_ptr(packet),
			.data_size_in = sizeof(packet),
			.repeat = nr,
		},
	};

	REQUIRE(!bpf(BPF_PROG_TEST_RUN, &attr));
	return self->shared->result;
}

FIXTURE_SETUP(bpf)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = sizeof(struct shared),
		.max_entries = 1, .map_flags = BPF_F_MMAPABLE,
	};

	self->references = read_number(REFERENCES);
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	if (!read_btf(&self->kernel, "vmlinux", NULL) ||
	    !read_btf(&self->module, "kwq", &self->kernel)) {
		__u64 token;

		/* E3: the module is there all the same, and says that. */
		EXPECT_EQ(-EOPNOTSUPP, q_bpf(self->q, &token));
		SKIP(return, "this kernel, or the module, has no BTF");
	}
	self->btf_fd = open_btf_of_module();
	ASSERT_LE(0, self->btf_fd);
	self->map = bpf(BPF_MAP_CREATE, &map);
	ASSERT_LE(0, self->map);
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			    self->map, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, q_bpf(self->q, &self->shared->token));
	self->shared->options.token = self->shared->token;
}

FIXTURE_TEARDOWN(bpf)
{
	munmap(self->shared, sizeof(*self->shared));
	close(self->map);
	close(self->btf_fd);
	close(self->q);
	close(self->dev);
	/* The kernel frees a program some time after its last descriptor is closed. */
	for (__u64 begin = now_ns(); read_number(REFERENCES) > self->references;) {
		ASSERT_LT(now_ns(), begin + HANG);
		poll(NULL, 0, 1);
	}
}

/* E2: each call is an add, a coalesced add or a refused one, once the worker has carried it out. */
static void check_calls(struct __test_metadata *_metadata, bpf_fixture *self)
{
	__u64 begin = now_ns(), calls;
	struct kwq_stat stat;

	do {
		calls = calls_of(self->shared);
		ASSERT_EQ(0, q_stat(self->q, &stat));
		ASSERT_LT(now_ns(), begin + HANG) {
			TH_LOG("%llu calls, but %llu adds, %llu coalesced, %llu refused", calls,
			       stat.adds, stat.coalesced, stat.refused);
		}
	} while (stat.adds + stat.coalesced + stat.refused != calls);
	/* It stays so. */
	poll(NULL, 0, 10);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	calls = calls_of(self->shared);
	EXPECT_EQ(calls, stat.adds + stat.coalesced + stat.refused);
	TH_LOG("%llu calls: %llu adds, %llu coalesced, %llu refused", calls, stat.adds,
	       stat.coalesced, stat.refused);
}

static void set_key(bpf_fixture *self, const char *key)
{
	self->shared->key_len = strlen(key);
	memcpy(self->shared->key, key, self->shared->key_len + 1);
}

/* Waits for a key, and finishes it. */
static void expect_key(struct __test_metadata *_metadata, int q, const void *key, size_t len)
{
	struct item item;

	ASSERT_EQ(1, q_get(q, &item, 0, now_ns() + HANG));
	EXPECT_EQ(len, item.key_len);
	EXPECT_EQ(0, memcmp(key, item.key, len));
	ASSERT_LE(0, q_done(q, item.ticket));
}

/* E1: one token for each handle, from its first call to its last descriptor. */
TEST_F(bpf, token)
{
	int other = q_reopen(self->q), copy, program;
	__u64 token;

	ASSERT_LE(0, other);
	EXPECT_NE(0, self->shared->token);
	ASSERT_EQ(0, q_bpf(self->q, &token));
	EXPECT_EQ(self->shared->token, token);
	ASSERT_EQ(0, q_bpf(other, &token));
	EXPECT_NE(self->shared->token, token);

	program = load_syscall(self, shared_key(self));
	ASSERT_LE(0, program);
	self->shared->token = token;
	set_key(self, "key");
	copy = dup(other);
	ASSERT_LE(0, copy);
	close(other);
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	expect_key(_metadata, self->q, "key", 3);
	check_calls(_metadata, self);
	close(copy);
	/* Nobody is left who could count these. */
	EXPECT_EQ(-ENOENT, run(self, program));
	self->shared->token = 0;
	EXPECT_EQ(-ENOENT, run(self, program));
	self->shared->calls -= 2;
	check_calls(_metadata, self);
	close(program);
}

/* E4: whoever may not add gets no token. */
TEST_F(bpf, rights)
{
	int reader = q_open_with(self->q, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE, O_CLOEXEC);
	int writer = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	int program = load_syscall(self, shared_key(self));

	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	ASSERT_LE(0, program);
	EXPECT_EQ(-EBADF, q_bpf(reader, &self->shared->token));
	ASSERT_EQ(0, q_bpf(writer, &self->shared->token));
	set_key(self, "key");
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	expect_key(_metadata, self->q, "key", 3);
	close(program);
	close(writer);
	close(reader);
}

/* A token is no handle of the queue, but its program's adds are refused as any other's. */
TEST_F(bpf, shut_down)
{
	int program = load_syscall(self, shared_key(self));
	struct kwq_stat stat;

	ASSERT_LE(0, program);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.handles);
	set_key(self, "key");
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(-ESHUTDOWN, run(self, program));
	check_calls(_metadata, self);
	close(program);
}

/* Each argument that is wrong is refused and counted. */
TEST_F(bpf, wrong_arguments)
{
	static const __u32 wrong_flags[] = {
		KWQ_ADD_NOTE, KWQ_ADD_TOKEN, KWQ_ADD_GROUP, KWQ_ADD_GROUP | KWQ_ADD_VALUE,
		KWQ_ADD_KEEP_VALUE, KWQ_SET_JOINS, KWQ_SET_JOINS | KWQ_ADD_VALUE, 1U << 30,
	};
	int plain = load_syscall(self, shared_key(self));
	int value = load_syscall(self, shared_value(self));
	struct shared *shared = self->shared;
	struct kwq_stat stat;

	ASSERT_LE(0, plain);
	ASSERT_LE(0, value);
	EXPECT_EQ(-EINVAL, run(self, plain));
	EXPECT_EQ(-EINVAL, run(self, value));
	shared->key_len = KWQ_KEY_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, run(self, plain));
	EXPECT_EQ(-EMSGSIZE, run(self, value));
	shared->key_len = 1;
	for (int bit = 0; bit < 64; bit++) {
		shared->flags = 1ULL << bit;
		EXPECT_EQ(-EINVAL, run(self, plain));
	}
	for (size_t i = 0; i < sizeof(wrong_flags) / sizeof(*wrong_flags); i++) {
		shared->options.flags = wrong_flags[i];
		EXPECT_EQ(-EINVAL, run(self, value));
	}
	shared->options.flags = KWQ_SET_JOINS | KWQ_ADD_VALUE;
	shared->value_len = KWQ_SET_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, run(self, value));
	shared->options.flags = 0;
	shared->options.priority = 1;
	EXPECT_EQ(-EINVAL, run(self, value));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(shared->calls, stat.refused);
	close(value);
	close(plain);
}

/* The largest key, and what a longer one is refused for in wrong_arguments. */
TEST_F(bpf, longest_key)
{
	int program = load_syscall(self, shared_key(self));

	ASSERT_LE(0, program);
	memset(self->shared->key, 'k', KWQ_KEY_MAX);
	self->shared->key_len = KWQ_KEY_MAX;
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	check_calls(_metadata, self);
	EXPECT_EQ(1, q_len(self->q));
	close(program);
}

/* A delay, a priority, a value, and a set, which joins its bits. */
TEST_F(bpf, options)
{
	int q = new_manual_queue(self->dev, NULL), program = load_syscall(self, shared_value(self));
	struct shared *shared = self->shared;
	__u64 begin = now_ns();
	struct kwq_stat stat;
	struct item item;

	ASSERT_LE(0, q);
	ASSERT_LE(0, program);
	ASSERT_EQ(0, q_bpf(q, &shared->options.token));
	set_key(self, "late");
	shared->options.flags = KWQ_ADD_AFTER;
	shared->options.time = SEC;
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	shared->options.flags = KWQ_ADD_PRIORITY;
	shared->options.time = 0;
	shared->options.priority = -1;
	set_key(self, "low");
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	set_key(self, "plain");
	shared->options.flags = 0;
	shared->options.priority = 0;
	EXPECT_EQ(KWQ_POSTED, run(self, program));
	/* The worker carries them out in order, so a get that came too early would get "low". */
	do {
		ASSERT_EQ(0, q_stat(q, &stat));
		ASSERT_LT(now_ns(), begin + HANG);
	} while (stat.ready < 2);
	expect_key(_metadata, q, "plain", 5);
	expect_key(_metadata, q, "low", 3);
	EXPECT_EQ(1, stat.waiting);
	EXPECT_EQ(-EAGAIN, q_try_get(q, &item));
	ASSERT_LE(0, q_advance(q, SEC));
	expect_key(_metadata, q, "late", 4);
	close(program);
	close(q);
}

/* The verifier refuses what might be no memory. */
TEST_F(bpf, verifier)
{
	struct program p = shared_value(self);
	int at = p.nr;

	/* The call is before the last three. */
	at -= 4;
	memmove(p.insns + at + 1, p.insns + at, (p.nr - at) * sizeof(*p.insns));
	p.nr++;
	p.insns[at] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1,
	};
	EXPECT_EQ(-EACCES, load_syscall(self, p));
	EXPECT_NE(NULL, strstr(complaints, "NULL"));
	p.insns[at].dst_reg = BPF_REG_2;
	EXPECT_EQ(-EACCES, load_syscall(self, p));
	/* A length that is out of bounds. */
	p.insns[at].dst_reg = BPF_REG_3;
	p.insns[at].imm = sizeof(self->shared->key) + 1;
	EXPECT_EQ(-EACCES, load_syscall(self, p));
}

/* ---- Types of programs ---- */

TEST_F(bpf, types_that_run_for_a_packet)
{
	static const struct {
		int type;
		int ret;
	} types[] = {
		{ BPF_PROG_TYPE_XDP, 2 },
		{ BPF_PROG_TYPE_SCHED_CLS, 0 },
		{ BPF_PROG_TYPE_SCHED_ACT, 0 },
		{ BPF_PROG_TYPE_CGROUP_SKB, 1 },
		{ BPF_PROG_TYPE_SOCKET_FILTER, 0 },
	};

	self->shared->mask = ~0ULL;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct program p = numbers(self, types[i].ret);
		__u64 key = self->shared->calls;
		int program = load_program(self, types[i].type, &p, &nothing_more);

		ASSERT_LE(0, program) {
			TH_LOG("type %d: %d: %s", types[i].type, program, complaints);
		}
		EXPECT_EQ(KWQ_POSTED, run_for_packet(self, program, 1));
		expect_key(_metadata, self->q, &key, sizeof(key));
		close(program);
	}
	check_calls(_metadata, self);
}

/* The verifier of each type finds the functions. */
TEST_F(bpf, types_that_are_attached)
{
	static const int types[] = {
		BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_RAW_TRACEPOINT,
		BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_LWT_XMIT, BPF_PROG_TYPE_SK_SKB,
	};
	struct program p = numbers(self, 0);

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		int program = load_program(self, types[i], &p, &nothing_more);

		EXPECT_LE(0, program) {
			TH_LOG("type %d: %d: %s", types[i], program, complaints);
		}
		close(program);
	}
}

/* An add of a key that is ready coalesces at once. */
TEST_F(bpf, coalesced)
{
	int program = load_xdp(self, numbers(self, 2));
	struct kwq_stat stat;

	ASSERT_LE(0, program);
	EXPECT_EQ(KWQ_POSTED, run_for_packet(self, program, 1));
	check_calls(_metadata, self);
	EXPECT_EQ(KWQ_COALESCED, run_for_packet(self, program, 1000));
	check_calls(_metadata, self);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.adds);
	EXPECT_EQ(1000, stat.coalesced);
	EXPECT_EQ(0, stat.refused);
	close(program);
}

/* Faster than the worker, so that the ring is full: a part is refused, and counted. */
TEST_F_TIMEOUT(bpf, full_ring, 280)
{
	int program = load_xdp(self, numbers(self, 2));
	struct kwq_stat stat = {};

	ASSERT_LE(0, program);
	self->shared->mask = ~0ULL;
	for (int i = 0; i < 50 && !stat.refused; i++) {
		run_for_packet(self, program, 5000);
		check_calls(_metadata, self);
		ASSERT_EQ(0, q_stat(self->q, &stat));
	}
	EXPECT_LT(0, stat.refused);
	EXPECT_EQ(stat.adds, q_len(self->q));
	close(program);
}

/* What the queue has no room for is refused by the worker, and counted. */
TEST_F(bpf, full_queue)
{
	int program = load_xdp(self, numbers(self, 2));
	struct kwq_stat stat;

	ASSERT_LE(0, program);
	close(self->q);
	self->q = new_queue_with(self->dev, CLOCK_MONOTONIC, 3, NULL);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(0, q_bpf(self->q, &self->shared->token));
	self->shared->mask = 7;
	run_for_packet(self, program, 8);
	check_calls(_metadata, self);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(3, stat.adds);
	EXPECT_EQ(5, stat.refused);
	close(program);
}

/* ---- Hostile places ---- */

static int attach(int program)
{
	union bpf_attr attr = { .raw_tracepoint = { .prog_fd = program } };

	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

static int load_tracing(bpf_fixture *self, const char *tracepoint)
{
	union bpf_attr more = { .expected_attach_type = BPF_TRACE_RAW_TP };
	struct program p = numbers(self, 0);
	char name[64];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = find_type(&self->module, BTF_KIND_TYPEDEF, name);
	if (id > 0)
		more.attach_btf_obj_fd = self->btf_fd;
	else
		id = find_type(&self->kernel, BTF_KIND_TYPEDEF, name);
	if (id < 0)
		return id;
	more.attach_btf_id = id;
	return load_program(self, BPF_PROG_TYPE_TRACING, &p, &more);
}

#define EVENTS	100

/*
 * Makes all of kwq's events, and those of a task that sleeps and wakes. The program of @feeder
 * makes those of kwq's worker.
 */
static void make_events(bpf_fixture *self, int feeder)
{
	int q = new_queue(self->dev);
	struct item item;

	REQUIRE(q >= 0);
	for (int i = 0; i < EVENTS; i++) {
		run_for_packet(self, feeder, 1);
		REQUIRE(q_add(q, "a") >= 0);
		REQUIRE(q_add(q, "a") >= 0);
		REQUIRE(q_try_get(q, &item) == 1);
		REQUIRE(q_done(q, item.ticket) >= 0);
		/* Not until it is empty, because a get may cause an add. */
		for (int n = 0; n < 16 && q_try_get(self->q, &item) == 1; n++)
			REQUIRE(q_done(self->q, item.ticket) >= 0);
		usleep(100);
	}
	close(q);
}

/*
 * E2: a program that is called inside of kwq's own lock, or the scheduler's, neither hangs nor
 * loses an add. It may call itself by the events of kwq's worker, and ends with its link.
 */
TEST_F_TIMEOUT(bpf, hostile_places, 280)
{
	static const char *const tracepoints[] = {
		"kwq_add", "kwq_coalesce", "kwq_get", "kwq_done", "sched_switch", "sched_waking",
		"kmem_cache_alloc", "hrtimer_start", "workqueue_execute_start",
		"workqueue_queue_work", "rcu_utilization",
	};
	int feeder = load_xdp(self, numbers(self, 2));

	ASSERT_LE(0, feeder);
	self->shared->mask = 15;
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(*tracepoints); i++) {
		__u64 before = self->shared->calls;
		int program = load_tracing(self, tracepoints[i]), link;

		/* Each kernel has most of them. */
		if (program == -ENOENT)
			continue;
		ASSERT_LE(0, program) {
			TH_LOG("%s: %d: %s", tracepoints[i], program, complaints);
		}
		link = attach(program);
		ASSERT_LE(0, link);
		make_events(self, feeder);
		close(link);
		close(program);
		TH_LOG("%s: %llu calls", tracepoints[i], self->shared->calls - before);
		EXPECT_LT(before + EVENTS, self->shared->calls);
		check_calls(_metadata, self);
	}
	close(feeder);
}

/* A program in an interrupt of the timer, of each processor. */
TEST_F_TIMEOUT(bpf, perf_event, 280)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 100000,
	};
	struct program p = numbers(self, 0);
	int program = load_program(self, BPF_PROG_TYPE_PERF_EVENT, &p, &nothing_more);
	int feeder = load_xdp(self, numbers(self, 2)), event, rounds;

	ASSERT_LE(0, program) {
		TH_LOG("%d: %s", program, complaints);
	}
	ASSERT_LE(0, feeder);
	self->shared->mask = 15;
	event = syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	ASSERT_LE(0, event);
	ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_SET_BPF, program));
	ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_ENABLE, 0));
	for (rounds = 0; rounds < 20 && calls_of(self->shared) < (rounds + 1) * EVENTS; rounds++)
		make_events(self, feeder);
	close(event);
	close(program);
	close(feeder);
	EXPECT_LT(rounds * EVENTS, self->shared->calls);
	check_calls(_metadata, self);
}

static __u64 address_of(const char *function)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char name[128];

	REQUIRE(file);
	while (fscanf(file, "%llx %*c %127s%*[^\n]", &address, name) == 2)
		if (!strcmp(name, function))
			break;
	REQUIRE(!feof(file));
	fclose(file);
	return address;
}

/*
 * E2: an exception of the processor calls the program, as an NMI would, which the kernel takes it
 * for. All these functions are called with the queue's lock held.
 */
TEST_F_TIMEOUT(bpf, in_nmi_under_the_lock, 280)
{
	static const char *const functions[] = {
		"kwq_core_add", "kwq_core_coalesce", "kwq_core_take", "kwq_core_done",
	};
	enum { FUNCTIONS = sizeof(functions) / sizeof(*functions) };
	struct program p = numbers(self, 0);
	int program = load_program(self, BPF_PROG_TYPE_PERF_EVENT, &p, &nothing_more);
	int feeder = load_xdp(self, numbers(self, 2)), processors = sysconf(_SC_NPROCESSORS_CONF);
	int events[16 * FUNCTIONS], nr = 0;
	struct utsname machine;

	/* Elsewhere a breakpoint has another length. */
	ASSERT_EQ(0, uname(&machine));
	if (strcmp(machine.machine, "x86_64"))
		return;
	ASSERT_LE(0, program) {
		TH_LOG("%d: %s", program, complaints);
	}
	ASSERT_LE(0, feeder);
	self->shared->mask = 15;
	for (int i = 0; i < FUNCTIONS * processors && nr < 16 * FUNCTIONS; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .sample_period = 1,
			.bp_type = HW_BREAKPOINT_X, .bp_addr = address_of(functions[i % FUNCTIONS]),
			/* A long of the kernel's, for a program of 32 bits, too. */
			.bp_len = 8,
		};

		events[nr] = syscall(__NR_perf_event_open, &attr, -1, i / FUNCTIONS, -1, 0);
		ASSERT_LE(0, events[nr]) {
			TH_LOG("%s: %m", functions[i % FUNCTIONS]);
		}
		ASSERT_EQ(0, ioctl(events[nr], PERF_EVENT_IOC_SET_BPF, program));
		ASSERT_EQ(0, ioctl(events[nr], PERF_EVENT_IOC_ENABLE, 0));
		nr++;
	}
	make_events(self, feeder);
	while (nr)
		close(events[--nr]);
	close(program);
	close(feeder);
	EXPECT_LT(3 * EVENTS, self->shared->calls);
	check_calls(_metadata, self);
}

/* ---- Races ---- */

struct runner {
	pthread_t thread;
	bpf_fixture *self;
	int program;
	atomic_bool ends;
};

static void *run_again_and_again(void *arg)
{
	struct runner *runner = arg;

	while (!atomic_load(&runner->ends))
		run(runner->self, runner->program);
	return NULL;
}

/* Tokens come and go under a program that sleeps now and then. */
TEST_F_TIMEOUT(bpf, close_under_running_program, 280)
{
	struct runner runner = { .self = self };

	self->shared->mask = 15;
	runner.program = load_syscall(self, numbers(self, 0));
	ASSERT_LE(0, runner.program);
	ASSERT_EQ(0, pthread_create(&runner.thread, NULL, run_again_and_again, &runner));
	for (int i = 0; i < 200; i++) {
		int q = new_queue(self->dev);

		ASSERT_LE(0, q);
		ASSERT_EQ(0, q_bpf(q, &self->shared->token));
		sched_yield();
		close(q);
	}
	atomic_store(&runner.ends, true);
	ASSERT_EQ(0, pthread_join(runner.thread, NULL));
	EXPECT_EQ(-ENOENT, run(self, runner.program));
	close(runner.program);
}

/* Two threads ask for a token at once. */
struct asker {
	pthread_t thread;
	int q;
	__u64 token;
};

static void *ask(void *arg)
{
	struct asker *asker = arg;

	REQUIRE(!q_bpf(asker->q, &asker->token));
	return NULL;
}

TEST_F_TIMEOUT(bpf, token_of_threads, 280)
{
	for (int i = 0; i < 100; i++) {
		struct asker one = { .q = new_queue(self->dev) }, other = { .q = one.q };

		ASSERT_LE(0, one.q);
		ASSERT_EQ(0, pthread_create(&one.thread, NULL, ask, &one));
		ask(&other);
		ASSERT_EQ(0, pthread_join(one.thread, NULL));
		EXPECT_EQ(one.token, other.token);
		close(one.q);
	}
}

static void *change_key(void *arg)
{
	struct runner *runner = arg;
	__u64 *key = (void *)runner->self->shared->key;

	while (!atomic_load(&runner->ends)) {
		__atomic_store_n(key, 1, __ATOMIC_RELAXED);
		__atomic_store_n(key, 2, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Q3: a key that changes while it is added is one key or the other, and no third item. */
TEST_F_TIMEOUT(bpf, key_that_changes, 280)
{
	struct runner runner = { .self = self }, changer = { .self = self };
	struct item first, second;

	self->shared->key_len = sizeof(__u64);
	self->shared->key[0] = 1;
	runner.program = load_syscall(self, shared_key(self));
	ASSERT_LE(0, runner.program);
	ASSERT_EQ(0, pthread_create(&changer.thread, NULL, change_key, &changer));
	ASSERT_EQ(0, pthread_create(&runner.thread, NULL, run_again_and_again, &runner));
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(1, q_get(self->q, &first, 0, now_ns() + HANG));
		if (q_try_get(self->q, &second) == 1) {
			EXPECT_NE(0, memcmp(first.key, second.key, sizeof(__u64)));
			ASSERT_LE(0, q_done(self->q, second.ticket));
		}
		ASSERT_LE(0, q_done(self->q, first.ticket));
	}
	atomic_store(&runner.ends, true);
	atomic_store(&changer.ends, true);
	ASSERT_EQ(0, pthread_join(runner.thread, NULL));
	ASSERT_EQ(0, pthread_join(changer.thread, NULL));
	check_calls(_metadata, self);
	close(runner.program);
}

/* A program that is loaded keeps the module. */
TEST_F(bpf, module_stays)
{
	int program = load_syscall(self, shared_key(self));

	ASSERT_LE(0, program);
	close(self->q);
	close(self->dev);
	EXPECT_EQ(-1, syscall(__NR_delete_module, "kwq", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	close(program);
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
}

TEST_HARNESS_MAIN
