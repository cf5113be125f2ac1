// SPDX-License-Identifier: GPL-2.0-only
/*
 * K2, K3: a handler queue on real events. kmod/samples/kwq_link.c reports the state of
 * each network link to udev. Here links flap, disappear and appear, reports fail,
 * memory is short, and the module is unloaded meanwhile. In the end the last report of
 * each link must match its state.
 *
 * K7, K10: kmod/samples/kwq_tally.c counts the links in each state, in batches, on a
 * workqueue of the system. In the end its numbers must match the links.
 *
 * K5: kmod/samples/kwq_alive.c reports programs that do not write in time. Its queue owns
 * references. Each object must be freed once, by its file or by the queue.
 *
 * KWQ_LINK_KO is the path of the first module, /kwq_link.ko by default. The others are in
 * the same folder. /dummy.ko and /veth.ko create the links; they are loaded if they
 * exist, else taken as built in.
 */
#include "kwq_test.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sys/socket.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define DISABLE_IPV6	"/proc/sys/net/ipv6/conf/default/disable_ipv6"
#define RCU_NORMAL	"/sys/kernel/rcu_normal"

#define INDEX_MAX	16384
/*
 * The group of these tests' links. Deleting the group removes links left by a failed
 * test.
 */
#define GROUP		0x6b77
#define NAMESPACES	2
/* Only a hang takes this long. */
#define HANG		(60 * SEC)

/* The states of a link, reported and real. */
enum state { UNTOLD, DOWN, NO_CARRIER, UP };

static const char *const names[] = { "untold", "down", "no-carrier", "up" };

FIXTURE(link)
{
	int rtnl;
	int uevents;
	/* One per net namespace. The first is the tests' own; one test uses the second. */
	__u32 netns[NAMESPACES];
	__u8 told[NAMESPACES][INDEX_MAX];
	/* Links that do not belong to these tests. */
	long long others;
	/* The former default for new links; "" without IPv6. */
	char disable_ipv6[8];
	/* The former setting of grace periods; "" if it cannot be set. */
	char rcu_normal[8];
};

typedef FIXTURE_DATA(link) link_fixture;

/* The module */

static int load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(__NR_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

static bool is_there(int ret)
{
	return !ret || ret == -ENOENT || ret == -EEXIST;
}

/* The module that is tested. */
static const char *module = "kwq_link";

static const char *module_file(void)
{
	const char *link = getenv("KWQ_LINK_KO") ?: "/kwq_link.ko";
	static char path[4096];

	snprintf(path, sizeof(path), "%.*s/%s.ko", (int)(strrchr(link, '/') - link), link,
		 module);
	return path;
}

static int unload(void)
{
	return syscall(__NR_delete_module, module, O_NONBLOCK) ? -errno : 0;
}

/* Returns a path with the name of the module in it. */
static const char *path_of(const char *format, const char *name)
{
	static __thread char path[256];

	snprintf(path, sizeof(path), format, module, name);
	return path;
}

static long long figure(const char *name)
{
	return read_number(path_of("/sys/kernel/debug/%s/%s", name));
}

static int fail_every(const char *nr)
{
	return write_text(path_of("/sys/module/%s/parameters/%s", "fail_every"), nr);
}

static bool is_loaded(void)
{
	return !access(path_of("/sys/module/%s%s", ""), F_OK);
}

/* Links: rtnetlink */

struct message {
	struct nlmsghdr header;
	struct ifinfomsg link;
	__u8 attributes[256];
};

static struct message new_message(int type, int flags, int index)
{
	return (struct message){
		.header = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | flags,
		},
		.link = {
			.ifi_index = index,
		},
	};
}

static struct rtattr *put(struct message *m, int type, const void *data, size_t len)
{
	struct rtattr *attribute = (void *)m + NLMSG_ALIGN(m->header.nlmsg_len);

	REQUIRE((void *)attribute + RTA_SPACE(len) <= (void *)(m + 1));
	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(attribute), data, len);
	m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) + RTA_SPACE(len);
	return attribute;
}

static void put_u32(struct message *m, int type, __u32 value)
{
	put(m, type, &value, sizeof(value));
}

/* Ends a nested attribute that began at @attribute. */
static void end_nest(struct message *m, struct rtattr *attribute)
{
	attribute->rta_len = (void *)m + m->header.nlmsg_len - (void *)attribute;
}

static int rtnl_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int on = 1;

	REQUIRE(fd >= 0);
	/* The answer need not contain the request. */
	REQUIRE(!setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)));
	return fd;
}

/*
 * Returns the first error of several messages, of which the last one asks for an
 * answer. -ENOBUFS may mean that the memory for the answer was missing.
 */
static int rtnl_send(int rtnl, const void *messages, size_t len, __u32 last)
{
	char answer[4096];
	int error = 0;

	if (send(rtnl, messages, len, 0) != len)
		return -errno;
	while (1) {
		ssize_t n = recv(rtnl, answer, sizeof(answer), 0);

		if (n < 0)
			return -errno;
		for (struct nlmsghdr *h = (void *)answer; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			REQUIRE(h->nlmsg_type == NLMSG_ERROR);
			error = error ?: e->error;
			if (h->nlmsg_seq == last)
				return error;
		}
	}
}

static int rtnl_ask(int rtnl, struct message *m)
{
	static _Atomic __u32 sequence = 1000000;

	m->header.nlmsg_flags |= NLM_F_ACK;
	m->header.nlmsg_seq = ++sequence;
	return rtnl_send(rtnl, m, m->header.nlmsg_len, m->header.nlmsg_seq);
}

/* Creates a dummy, or a pair of veth. */
static int create(int rtnl, const char *kind, const char *name)
{
	struct message m = new_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct rtattr *info, *data, *peer;
	const struct ifinfomsg link = { };

	put(&m, IFLA_IFNAME, name, strlen(name) + 1);
	put_u32(&m, IFLA_GROUP, GROUP);
	info = put(&m, IFLA_LINKINFO, NULL, 0);
	put(&m, IFLA_INFO_KIND, kind, strlen(kind));
	if (!strcmp(kind, "veth")) {
		data = put(&m, IFLA_INFO_DATA, NULL, 0);
		peer = put(&m, VETH_INFO_PEER, &link, sizeof(link));
		put_u32(&m, IFLA_GROUP, GROUP);
		end_nest(&m, peer);
		end_nest(&m, data);
	}
	end_nest(&m, info);
	return rtnl_ask(rtnl, &m);
}

static int delete_all(int rtnl)
{
	struct message m = new_message(RTM_DELLINK, 0, 0);

	put_u32(&m, IFLA_GROUP, GROUP);
	return rtnl_ask(rtnl, &m);
}

static int move(int rtnl, int index, int netns)
{
	struct message m = new_message(RTM_NEWLINK, 0, index);

	put_u32(&m, IFLA_NET_NS_FD, netns);
	return rtnl_ask(rtnl, &m);
}

struct link {
	int index;
	__u32 group;
	enum state state;
};

struct links {
	int nr;
	struct link link[2048];
};

static void add_link(struct links *links, const struct nlmsghdr *h)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	size_t left = IFLA_PAYLOAD(h);
	struct link *l = &links->link[links->nr++];

	REQUIRE(links->nr <= ARRAY_SIZE(links->link));
	REQUIRE(link->ifi_index < INDEX_MAX);
	l->index = link->ifi_index;
	l->group = 0;
	l->state = link->ifi_flags & IFF_UP ?
		   link->ifi_flags & IFF_LOWER_UP ? UP : NO_CARRIER : DOWN;
	for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_GROUP)
			memcpy(&l->group, RTA_DATA(a), sizeof(l->group));
}

/* Reads the state of all links. */
static void list(int rtnl, struct links *links)
{
	static __thread char answer[65536];
	struct message m = new_message(RTM_GETLINK, NLM_F_DUMP, 0);

	links->nr = 0;
	REQUIRE(send(rtnl, &m, m.header.nlmsg_len, 0) == m.header.nlmsg_len);
	while (1) {
		ssize_t n = recv(rtnl, answer, sizeof(answer), 0);

		REQUIRE(n > 0);
		for (struct nlmsghdr *h = (void *)answer; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return;
			REQUIRE(h->nlmsg_type == RTM_NEWLINK);
			add_link(links, h);
		}
	}
}

/* Lists the links of these tests. */
static int list_ours(int rtnl, int *indices, int room)
{
	static __thread struct links links;
	int nr = 0;

	list(rtnl, &links);
	for (int i = 0; i < links.nr; i++)
		if (links.link[i].group == GROUP && nr < room)
			indices[nr++] = links.link[i].index;
	return nr;
}

/* Many changes in one call: in an emulator a process for each would be too slow. */
struct flap {
	struct nlmsghdr header;
	struct ifinfomsg link;
};

struct flaps {
	int nr;
	struct flap flap[1024];
};

static void flap(struct flaps *f, int index, bool up)
{
	REQUIRE(f->nr < ARRAY_SIZE(f->flap));
	f->flap[f->nr++] = (struct flap){
		.header = {
			.nlmsg_len = sizeof(struct flap),
			.nlmsg_type = RTM_NEWLINK,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.link = {
			.ifi_index = index,
			.ifi_flags = up ? IFF_UP : 0,
			.ifi_change = IFF_UP,
		},
	};
}

static int send_flaps(int rtnl, struct flaps *f)
{
	int nr = f->nr;

	f->nr = 0;
	f->flap[nr - 1].header.nlmsg_flags |= NLM_F_ACK;
	f->flap[nr - 1].header.nlmsg_seq = nr;
	return rtnl_send(rtnl, f->flap, nr * sizeof(f->flap[0]), nr);
}

/* Reports to udev */

static int uevent_socket(void)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int type = SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = socket(AF_NETLINK, type, NETLINK_KOBJECT_UEVENT);
	int room = 64 << 20;

	REQUIRE(fd >= 0);
	/* The socket drops reports silently if it has no room. */
	REQUIRE(!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)));
	REQUIRE(!bind(fd, (const void *)&address, sizeof(address)));
	return fd;
}

/* Returns the value of a variable of a uevent, "" if it does not exist. */
static const char *variable(const char *uevent, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (const char *v = uevent; v < uevent + len; v += strlen(v) + 1)
		if (!strncmp(v, name, name_len) && v[name_len] == '=')
			return v + name_len + 1;
	return "";
}

static void hear_uevents(link_fixture *self)
{
	char uevent[4096];
	ssize_t n;

	while ((n = recv(self->uevents, uevent, sizeof(uevent) - 1, 0)) > 0) {
		enum state state = ARRAY_SIZE(names);
		__u32 netns;
		int index;

		uevent[n] = '\0';
		if (strcmp(uevent, "change@/devices/platform/kwq_link"))
			continue;
		netns = strtoul(variable(uevent, n, "NETNS"), NULL, 10);
		index = atoi(variable(uevent, n, "IFINDEX"));
		while (--state && strcmp(variable(uevent, n, "LINK"), names[state]))
			;
		REQUIRE(state && netns && index > 0 && index < INDEX_MAX);
		for (int i = 0; i < NAMESPACES; i++)
			if (self->netns[i] == netns)
				self->told[i][index] = state;
	}
	/* A report that was lost for lack of memory shows up as a wrong state, if it
	 * concerned one of these links.
	 */
	REQUIRE(errno == EAGAIN || errno == ENOBUFS);
}

/* Returns the index of a link whose report differs from its state; 0 if there is none. */
static int untrue(link_fixture *self, int rtnl, int netns)
{
	static struct links links;

	list(rtnl, &links);
	hear_uevents(self);
	for (int i = 0; i < links.nr; i++)
		if (self->told[netns][links.link[i].index] != links.link[i].state)
			return links.link[i].index;
	return 0;
}

/* Waits until every report matches: nothing is lost, whatever failed. */
static void wait_until_true(struct __test_metadata *_metadata, link_fixture *self, int rtnl,
			    int netns)
{
	__u64 begin = now_ns();
	int index;

	while ((index = untrue(self, rtnl, netns))) {
		struct pollfd pollfd = { .fd = self->uevents, .events = POLLIN };

		ASSERT_LT(now_ns(), begin + HANG) {
			TH_LOG("link %d: %s was told last; %lld failures, %lld retries", index,
			       names[self->told[netns][index]], figure("failures"),
			       figure("retries"));
		}
		poll(&pollfd, 1, 100);
	}
}

static void wait_until_true_of_all(struct __test_metadata *_metadata, link_fixture *self)
{
	wait_until_true(_metadata, self, self->rtnl, 0);
}

static void check_gone(struct __test_metadata *_metadata)
{
	EXPECT_FALSE(is_loaded());
	EXPECT_NE(0, access(path_of("/sys/kernel/debug/%s%s", ""), F_OK));
	EXPECT_NE(0, access(path_of("/sys/devices/platform/%s%s", ""), F_OK));
	EXPECT_NE(0, access(path_of("/dev/%s%s", ""), F_OK));
}

/* Unloads the module. Its last handler has ended then, so no more reports can follow. */
static void check_unloads(struct __test_metadata *_metadata, link_fixture *self, bool is_true)
{
	if (!strcmp(module, "kwq_link"))
		EXPECT_EQ(0, figure("overlaps"));
	ASSERT_EQ(0, unload());
	check_gone(_metadata);
	if (is_true)
		EXPECT_EQ(0, untrue(self, self->rtnl, 0));
}

static __u32 netns_of(const char *path)
{
	struct stat st;

	REQUIRE(!stat(path, &st));
	return st.st_ino;
}

FIXTURE_SETUP(link)
{
	ASSERT_TRUE(is_there(load("/dummy.ko")));
	ASSERT_TRUE(is_there(load("/veth.ko")));
	/* Configuring an address for each link again and again would take most of the
	 * time.
	 */
	read_text(DISABLE_IPV6, self->disable_ipv6, sizeof(self->disable_ipv6));
	write_text(DISABLE_IPV6, "1");
	/* On PREEMPT_RT taking a link down would otherwise wait for a whole grace
	 * period.
	 */
	read_text(RCU_NORMAL, self->rcu_normal, sizeof(self->rcu_normal));
	write_text(RCU_NORMAL, "0");
	self->rtnl = rtnl_socket();
	self->uevents = uevent_socket();
	self->netns[0] = netns_of("/proc/self/ns/net");
	delete_all(self->rtnl);
	unload();
	ASSERT_EQ(0, load(module_file()));
	self->others = figure("links");
	ASSERT_LE(1, self->others);
}

FIXTURE_TEARDOWN(link)
{
	delete_all(self->rtnl);
	if (is_loaded())
		check_unloads(_metadata, self, false);
	if (self->disable_ipv6[0])
		write_text(DISABLE_IPV6, self->disable_ipv6);
	write_text(RCU_NORMAL, self->rcu_normal);
	close(self->uevents);
	close(self->rtnl);
}

static int create_dummies_and_pairs(struct __test_metadata *_metadata, link_fixture *self,
				    int dummies, int pairs, int *indices, int room)
{
	char name[IFNAMSIZ];
	int nr;

	for (int i = 0; i < dummies; i++) {
		snprintf(name, sizeof(name), "kwqd%d", i);
		ASSERT_EQ(0, create(self->rtnl, "dummy", name));
	}
	for (int i = 0; i < pairs; i++) {
		snprintf(name, sizeof(name), "kwqv%d", i);
		ASSERT_EQ(0, create(self->rtnl, "veth", name));
	}
	nr = list_ours(self->rtnl, indices, room);
	ASSERT_EQ(dummies + 2 * pairs, nr);
	EXPECT_EQ(self->others + nr, figure("links"));
	return nr;
}

/* The whole life of a few links, by the usual command. */
TEST_F(link, by_ip)
{
	static const char script[] =
		"set -e\n"
		"for i in 0 1 2 3; do\n"
		"	ip link add name kwqd$i type dummy\n"
		"	ip link add name kwqv$i type veth\n"
		"done\n"
		"for i in 0 1 2 3; do\n"
		"	ip link set dev kwqd$i up\n"
		"	ip link set dev kwqv$i up\n"
		"	ip link set dev kwqd$i down\n"
		"done\n"
		"ip link set dev kwqd1 up\n"
		"ip link set dev veth1 up\n"
		"ip link set dev kwqv2 down\n"
		"ip link del dev kwqd3\n"
		"ip link del dev kwqv3\n";

	ASSERT_EQ(0, system(script));
	EXPECT_EQ(self->others + 3 + 2 * 3, figure("links"));
	wait_until_true_of_all(_metadata, self);
	ASSERT_EQ(0, system("for i in kwqd kwqv; do\n"
			    "	for j in 0 1 2; do ip link del dev $i$j; done\n"
			    "done"));
	EXPECT_EQ(self->others, figure("links"));
	wait_until_true_of_all(_metadata, self);
	check_unloads(_metadata, self, true);
}

#define DUMMIES	32
#define PAIRS	112
#define LINKS	(DUMMIES + 2 * PAIRS)
#define FLAPS	10000

/*
 * Q2, Q3, Q4 and L1 together: 10,000 flaps, and one in 150 reports fails. When one end of a
 * pair goes down and up, the carrier of the other end changes, so both flap. Taking a
 * link down takes the most time, because the kernel waits for an RCU grace period.
 */
TEST_F_TIMEOUT(link, flapping_while_tellings_fail, 280)
{
	static struct flaps flaps;
	int indices[LINKS], nr, done = 0;
	__u64 begin;

	nr = create_dummies_and_pairs(_metadata, self, DUMMIES, PAIRS, indices, LINKS);
	ASSERT_EQ(0, fail_every("150"));
	for (int i = 0; i < nr; i++)
		flap(&flaps, indices[i], true);
	ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	begin = now_ns();
	for (int end = 0; done < FLAPS; end = !end) {
		for (int i = 0; i < DUMMIES; i++, done++) {
			flap(&flaps, indices[i], false);
			flap(&flaps, indices[i], true);
		}
		for (int i = DUMMIES + end; i < nr; i += 2, done += 2) {
			flap(&flaps, indices[i], false);
			flap(&flaps, indices[i], true);
		}
		ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
		hear_uevents(self);
	}
	/* In the end some links of each kind are down, and some have no carrier. */
	for (int i = 0; i < nr; i += 5)
		flap(&flaps, indices[i], false);
	ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	TH_LOG("%d flaps in %lld ms", done, (now_ns() - begin) / MSEC);
	begin = now_ns();
	wait_until_true_of_all(_metadata, self);
	TH_LOG("true after %lld ms", (now_ns() - begin) / MSEC);
	TH_LOG("%lld events, %lld coalesced, %lld reconciles, %lld failures, %lld retries",
	       figure("events"), figure("coalesced"), figure("reconciles"), figure("failures"),
	       figure("retries"));
	EXPECT_LE(FLAPS, figure("events"));
	EXPECT_LT(0, figure("coalesced"));
	EXPECT_LT(0, figure("failures"));
	EXPECT_LT(0, figure("retries"));
	check_unloads(_metadata, self, true);

	/* Loaded again, the module reports all existing links. */
	memset(self->told, 0, sizeof(self->told));
	ASSERT_EQ(0, load(module_file()));
	EXPECT_EQ(self->others + nr, figure("links"));
	wait_until_true_of_all(_metadata, self);
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(self->others, figure("links"));
	check_unloads(_metadata, self, true);
}

/* Flaps links whether the module is loaded or not. */
struct flapper {
	pthread_t thread;
	_Atomic bool stop;
	_Atomic int flaps;
	int indices[LINKS];
	int nr;
};

static void *run_flapper(void *arg)
{
	static struct flaps flaps;
	struct flapper *f = arg;
	int rtnl = rtnl_socket();

	for (int round = 0; !atomic_load(&f->stop); round++) {
		for (int i = 0; i < f->nr; i++)
			flap(&flaps, f->indices[i], (round + i) % 2);
		REQUIRE(!send_flaps(rtnl, &flaps));
		atomic_fetch_add(&f->flaps, f->nr);
	}
	close(rtnl);
	return NULL;
}

#define LOADS	10

/*
 * K3: the module is unloaded while links flap and reports fail. All items are cancelled
 * and freed.
 */
TEST_F_TIMEOUT(link, unloaded_while_flapping, 280)
{
	static struct flapper flapper;
	int flaps = 0;

	flapper.nr = create_dummies_and_pairs(_metadata, self, 24, 12, flapper.indices, LINKS);
	ASSERT_EQ(0, pthread_create(&flapper.thread, NULL, run_flapper, &flapper));
	for (int i = 0; i < LOADS; i++) {
		ASSERT_EQ(0, fail_every(i % 2 ? "3" : "0"));
		/* Wait until the module has seen some flaps. */
		while (atomic_load(&flapper.flaps) == flaps ||
		       figure("reconciles") < 2 * flapper.nr)
			sched_yield();
		check_unloads(_metadata, self, false);
		flaps = atomic_load(&flapper.flaps);
		ASSERT_EQ(0, load(module_file()));
		EXPECT_EQ(self->others + flapper.nr, figure("links"));
	}
	atomic_store(&flapper.stop, true);
	ASSERT_EQ(0, pthread_join(flapper.thread, NULL));
	wait_until_true_of_all(_metadata, self);
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(self->others, figure("links"));
	check_unloads(_metadata, self, true);
	TH_LOG("%d flaps in %d loads", flapper.flaps, LOADS);
}

/* K3: when a link disappears, its waiting retry is cancelled, and nothing is reported. */
TEST_F(link, gone_before_its_retry)
{
	int indices[8], nr;

	wait_until_true_of_all(_metadata, self);
	ASSERT_EQ(0, fail_every("1"));
	nr = create_dummies_and_pairs(_metadata, self, 4, 2, indices, 8);
	/* All reports fail, so each item is retried again and again. */
	while (figure("retries") < 3 * nr)
		sched_yield();
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(self->others, figure("links"));
	ASSERT_EQ(0, fail_every("0"));
	hear_uevents(self);
	for (int i = 0; i < nr; i++)
		EXPECT_EQ(UNTOLD, self->told[0][indices[i]]);
	/* The module is unloaded while items wait in the same way. */
	ASSERT_EQ(0, fail_every("1"));
	create_dummies_and_pairs(_metadata, self, 4, 2, indices, 8);
	check_unloads(_metadata, self, false);
}

static void *open_namespace(void *arg)
{
	int *fd = arg;

	REQUIRE(!unshare(CLONE_NEWNET));
	*fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	REQUIRE(*fd >= 0);
	return NULL;
}

static void *open_rtnl_in(void *arg)
{
	int *fd = arg;

	REQUIRE(!setns(*fd, CLONE_NEWNET));
	*fd = rtnl_socket();
	return NULL;
}

static int by_thread(void *(*fn)(void *arg), int fd)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, fn, &fd));
	REQUIRE(!pthread_join(thread, NULL));
	return fd;
}

/*
 * A link that moves to another net namespace is a new link there. Links die with their
 * namespace.
 */
TEST_F(link, in_another_net_namespace)
{
	int indices[4], netns, rtnl;
	static struct flaps flaps;
	__u64 begin = now_ns();
	char path[64];

	netns = by_thread(open_namespace, -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", netns);
	self->netns[1] = netns_of(path);
	ASSERT_NE(self->netns[0], self->netns[1]);
	rtnl = by_thread(open_rtnl_in, netns);
	/* Links that the kernel creates in each namespace. */
	self->others = figure("links");

	create_dummies_and_pairs(_metadata, self, 2, 1, indices, 4);
	for (int i = 0; i < 4; i++)
		flap(&flaps, indices[i], true);
	ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	wait_until_true(_metadata, self, self->rtnl, 0);
	EXPECT_EQ(0, move(self->rtnl, indices[0], netns));
	/* Only one end of a pair. */
	EXPECT_EQ(0, move(self->rtnl, indices[2], netns));
	ASSERT_EQ(2, list_ours(rtnl, indices, 4));
	for (int i = 0; i < 2; i++)
		flap(&flaps, indices[i], true);
	ASSERT_EQ(0, send_flaps(rtnl, &flaps));
	wait_until_true(_metadata, self, rtnl, 1);
	wait_until_true(_metadata, self, self->rtnl, 0);
	EXPECT_EQ(self->others + 4, figure("links"));

	close(rtnl);
	close(netns);
	/* After a while: the other end disappears with its veth, and one dummy is left
	 * here.
	 */
	while (list_ours(self->rtnl, indices, 4) > 1 || figure("links") > self->others + 1) {
		ASSERT_LT(now_ns(), begin + HANG);
		sched_yield();
	}
	EXPECT_EQ(0, untrue(self, self->rtnl, 0));
	check_unloads(_metadata, self, true);
}

/* Memory is short */

static void arm(int file, int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	REQUIRE(pwrite(file, text, len, 0) == len);
}

/* Whether a step failed since arming. */
static bool disarm(int file)
{
	char text[16] = "";
	ssize_t n = pread(file, text, sizeof(text) - 1, 0);
	bool failed = n > 0 && !atoi(text);

	/* Disarming copies, too, and may be the step that fails. */
	while (pwrite(file, "0", 1, 0) != 1) {
		REQUIRE(errno == EFAULT);
		failed = false;
	}
	return failed;
}

static int open_fail_nth(void)
{
	write_text(DEBUGFS "failslab/ignore-gfp-wait", "N");
	write_text(DEBUGFS "failslab/verbose", "0");
	write_text(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N");
	write_text(DEBUGFS "fail_page_alloc/min-order", "0");
	write_text(DEBUGFS "fail_page_alloc/verbose", "0");
	write_text(DEBUGFS "fail_usercopy/verbose", "0");
	return open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

/* Each step of creating a link fails once: the link exists and is watched, or neither. */
TEST_F_TIMEOUT(link, made_while_memory_is_short, 280)
{
	int file = open_fail_nth(), index, ret, there, nth = 1, refused = 0;
	bool failed = true;

	if (file < 0)
		SKIP(return, "this kernel has no fault injection");
	for (; failed; nth++) {
		arm(file, nth);
		ret = create(self->rtnl, "dummy", "kwqd0");
		failed = disarm(file);
		there = list_ours(self->rtnl, &index, 1);
		EXPECT_TRUE(ret ? failed : there);
		ASSERT_EQ(self->others + there, figure("links"));
		ASSERT_EQ(there ? 0 : -ENODEV, delete_all(self->rtnl));
		refused += !there;
	}
	EXPECT_LT(10, refused);
	TH_LOG("%d steps that can fail, with %d of them no link", nth - 2, refused);
	wait_until_true_of_all(_metadata, self);
	check_unloads(_metadata, self, true);
}

#define MANY	1000000
/*
 * The steps of starting the handler and watching the links. The kernel's own steps of
 * loading come before.
 */
#define STEPS	120

/*
 * Each of the last steps of loading fails once: the module is loaded, or nothing of it
 * is left.
 */
static void load_while_memory_is_short(struct __test_metadata *_metadata, int file)
{
	int ko, ret, steps, refused = 0;
	char text[16] = "";
	bool failed;

	ko = open(module_file(), O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, ko);
	/* Count the steps first. */
	check_unloads(_metadata, NULL, false);
	arm(file, MANY);
	ret = syscall(__NR_finit_module, ko, "", 0);
	ASSERT_LT(0, pread(file, text, sizeof(text) - 1, 0));
	disarm(file);
	ASSERT_EQ(0, ret);
	steps = MANY - atoi(text);
	ASSERT_LT(STEPS, steps);

	for (int nth = steps; nth > steps - STEPS; nth--) {
		ASSERT_EQ(0, unload());
		check_gone(_metadata);
		arm(file, nth);
		ret = syscall(__NR_finit_module, ko, "", 0);
		failed = disarm(file);
		if (!ret)
			continue;
		EXPECT_TRUE(failed);
		check_gone(_metadata);
		ASSERT_EQ(0, load(module_file()));
		refused++;
	}
	EXPECT_LT(4, refused);
	TH_LOG("%d steps that can fail; with %d of the last %d it was not loaded", steps, refused,
	       STEPS);
	close(ko);
	/* The last load may have lost a figure. */
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load(module_file()));
}

TEST_F_TIMEOUT(link, loaded_while_memory_is_short, 280)
{
	int file = open_fail_nth(), indices[4];

	if (file < 0)
		SKIP(return, "this kernel has no fault injection");
	create_dummies_and_pairs(_metadata, self, 2, 1, indices, 4);
	load_while_memory_is_short(_metadata, file);
	wait_until_true_of_all(_metadata, self);
	check_unloads(_metadata, self, true);
}

/* The other module, with a batch handler */

static const char *const numbers[] = { NULL, "down", "no_carrier", "up" };

/* Returns a state whose number is wrong; UNTOLD if all are right. */
static enum state miscounted(link_fixture *self)
{
	int right[ARRAY_SIZE(numbers)] = { 0 };
	static struct links links;

	list(self->rtnl, &links);
	for (int i = 0; i < links.nr; i++)
		right[links.link[i].state]++;
	for (enum state state = DOWN; state <= UP; state++)
		if (read_number(path_of("/sys/devices/platform/%s/%s", numbers[state])) !=
		    right[state])
			return state;
	return UNTOLD;
}

static void wait_until_counted(struct __test_metadata *_metadata, link_fixture *self)
{
	__u64 begin = now_ns();
	enum state state;

	while ((state = miscounted(self))) {
		ASSERT_LT(now_ns(), begin + HANG) {
			TH_LOG("%s is wrong; %lld failures, %lld retries", numbers[state],
			       figure("failures"), figure("retries"));
		}
		poll(NULL, 0, 10);
	}
}

static void use_tally(struct __test_metadata *_metadata, link_fixture *self)
{
	check_unloads(_metadata, self, false);
	module = "kwq_tally";
	unload();
	ASSERT_EQ(0, load(module_file()));
	self->others = figure("links");
	wait_until_counted(_metadata, self);
}

/* K10: thousands of flaps, and one in 150 links of a batch fails and is retried alone. */
TEST_F_TIMEOUT(link, counted_while_flapping, 280)
{
	static struct flaps flaps;
	int indices[LINKS], nr, done = 0;

	use_tally(_metadata, self);
	nr = create_dummies_and_pairs(_metadata, self, DUMMIES, PAIRS, indices, LINKS);
	ASSERT_EQ(0, fail_every("150"));
	for (int i = 0; i < nr; i++)
		flap(&flaps, indices[i], true);
	ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	for (int round = 0; done < FLAPS / 2; round++) {
		for (int i = round % 2; i < nr; i += 2, done += 2) {
			flap(&flaps, indices[i], false);
			flap(&flaps, indices[i], true);
		}
		ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	}
	for (int i = 0; i < nr; i += 5)
		flap(&flaps, indices[i], false);
	ASSERT_EQ(0, send_flaps(self->rtnl, &flaps));
	wait_until_counted(_metadata, self);
	TH_LOG("%lld events, %lld links handled in %lld batches, %lld failures, %lld retries",
	       figure("events"), figure("handled"), figure("batches"), figure("failures"),
	       figure("retries"));
	EXPECT_LT(figure("batches"), figure("handled"));
	EXPECT_LT(0, figure("failures"));
	EXPECT_LE(figure("failures"), figure("retries"));
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(self->others, figure("links"));
	wait_until_counted(_metadata, self);
	check_unloads(_metadata, self, false);
}

/* K3, K7: the module is unloaded while links flap and fail, and others use its workqueue. */
TEST_F_TIMEOUT(link, counter_unloaded_while_flapping, 280)
{
	static struct flapper flapper;
	int flaps = 0;

	use_tally(_metadata, self);
	flapper.nr = create_dummies_and_pairs(_metadata, self, 24, 12, flapper.indices, LINKS);
	ASSERT_EQ(0, pthread_create(&flapper.thread, NULL, run_flapper, &flapper));
	for (int i = 0; i < LOADS; i++) {
		ASSERT_EQ(0, fail_every(i % 2 ? "3" : "0"));
		/* Wait until the module has seen some flaps. */
		while (atomic_load(&flapper.flaps) == flaps ||
		       figure("handled") < 2 * flapper.nr)
			sched_yield();
		check_unloads(_metadata, self, false);
		flaps = atomic_load(&flapper.flaps);
		ASSERT_EQ(0, load(module_file()));
		EXPECT_EQ(self->others + flapper.nr, figure("links"));
	}
	atomic_store(&flapper.stop, true);
	ASSERT_EQ(0, pthread_join(flapper.thread, NULL));
	wait_until_counted(_metadata, self);
	ASSERT_EQ(0, delete_all(self->rtnl));
	wait_until_counted(_metadata, self);
	check_unloads(_metadata, self, false);
}

/* K10: links whose retries wait disappear, and are not counted any more. */
TEST_F(link, counted_and_gone_before_its_retry)
{
	int indices[8], nr;

	use_tally(_metadata, self);
	ASSERT_EQ(0, fail_every("1"));
	nr = create_dummies_and_pairs(_metadata, self, 4, 2, indices, 8);
	while (figure("retries") < 3 * nr)
		sched_yield();
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(self->others, figure("links"));
	EXPECT_EQ(UNTOLD, miscounted(self));
	/* The module is unloaded while items wait in the same way. */
	create_dummies_and_pairs(_metadata, self, 4, 2, indices, 8);
	check_unloads(_metadata, self, false);
}

/* A program that polls a number learns of each change. */
TEST_F(link, counter_is_polled)
{
	struct pollfd pollfd = { .events = POLLPRI };
	char text[16];
	int index;

	use_tally(_metadata, self);
	pollfd.fd = open("/sys/devices/platform/kwq_tally/down", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, pollfd.fd);
	/* A poll before the first read returns at once. */
	ASSERT_LT(0, read(pollfd.fd, text, sizeof(text)));
	EXPECT_EQ(0, poll(&pollfd, 1, 0));
	create_dummies_and_pairs(_metadata, self, 1, 0, &index, 1);
	EXPECT_EQ(1, poll(&pollfd, 1, HANG / MSEC));
	EXPECT_TRUE(pollfd.revents & POLLPRI);
	ASSERT_LT(0, pread(pollfd.fd, text, sizeof(text), 0));
	ASSERT_EQ(0, delete_all(self->rtnl));
	EXPECT_EQ(1, poll(&pollfd, 1, HANG / MSEC));
	close(pollfd.fd);
	check_unloads(_metadata, self, false);
}

TEST_F_TIMEOUT(link, counter_loaded_while_memory_is_short, 280)
{
	int file = open_fail_nth(), indices[4];

	if (file < 0)
		SKIP(return, "this kernel has no fault injection");
	use_tally(_metadata, self);
	create_dummies_and_pairs(_metadata, self, 2, 1, indices, 4);
	load_while_memory_is_short(_metadata, file);
	wait_until_counted(_metadata, self);
	check_unloads(_metadata, self, false);
}

/* The third module, whose queue owns references */

#define ALIVE	"/dev/kwq_alive"

FIXTURE(alive)
{
	int uevents;
};

FIXTURE_SETUP(alive)
{
	module = "kwq_alive";
	self->uevents = uevent_socket();
	unload();
	ASSERT_EQ(0, load(module_file()));
}

FIXTURE_TEARDOWN(alive)
{
	if (is_loaded())
		check_unloads(_metadata, NULL, false);
	close(self->uevents);
}

static int open_alive(void)
{
	return open(ALIVE, O_WRONLY | O_CLOEXEC);
}

static void write_ms(int fd, const char *ms)
{
	REQUIRE(write(fd, ms, strlen(ms)) == strlen(ms));
}

/* A program that closes its file at once. */
static void watch(struct __test_metadata *_metadata, const char *ms)
{
	int fd = open_alive();

	ASSERT_LE(0, fd);
	write_ms(fd, ms);
	close(fd);
}

static void wait_for_figure(struct __test_metadata *_metadata, const char *name, long long value)
{
	__u64 begin = now_ns();

	while (figure(name) != value) {
		ASSERT_LT(now_ns(), begin + HANG) {
			TH_LOG("%s is %lld instead of %lld", name, figure(name), value);
		}
		sched_yield();
	}
}

/* Waits for one report, and returns its process. */
static int hear_report(struct __test_metadata *_metadata, int uevents)
{
	struct pollfd pollfd = { .fd = uevents, .events = POLLIN };
	char uevent[4096];
	ssize_t n;

	while (1) {
		n = recv(uevents, uevent, sizeof(uevent) - 1, 0);
		if (n < 0) {
			REQUIRE(errno == EAGAIN);
			ASSERT_EQ(1, poll(&pollfd, 1, HANG / MSEC));
			continue;
		}
		uevent[n] = '\0';
		if (!strcmp(uevent, "change@/devices/virtual/misc/kwq_alive"))
			return atoi(variable(uevent, n, "PID"));
	}
}

/* A missed deadline is reported once, and the next one again. */
TEST_F(alive, reported_once)
{
	int fd = open_alive();

	ASSERT_LE(0, fd);
	EXPECT_EQ(1, figure("programs"));
	for (int i = 1; i <= 3; i++) {
		write_ms(fd, "1");
		EXPECT_EQ(getpid(), hear_report(_metadata, self->uevents));
		wait_for_figure(_metadata, "reports", i);
	}
	EXPECT_EQ(-1, write(fd, "soon", 4));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(fd);
	wait_for_figure(_metadata, "programs", 0);
	check_unloads(_metadata, NULL, false);
}

/* K5: the queue drops its reference at the remove, so the close frees the object. */
TEST_F(alive, freed_by_its_file)
{
	int fd = open_alive();

	ASSERT_LE(0, fd);
	write_ms(fd, "3600000");
	write_ms(fd, "0");
	EXPECT_EQ(1, figure("programs"));
	close(fd);
	EXPECT_EQ(0, figure("programs"));
	EXPECT_EQ(0, figure("freed_by_queue"));
	EXPECT_EQ(0, figure("reports"));
}

#define FEW		10
#define PROGRAMS	2000

/*
 * K5: every report fails until all files are closed. So the queue's reference is the last one
 * to each object, and keeps it over the retries.
 */
TEST_F(alive, freed_by_the_queue)
{
	ASSERT_EQ(0, fail_every("1"));
	for (int i = 0; i < FEW; i++)
		watch(_metadata, "1");
	while (figure("failures") < FEW)
		sched_yield();
	EXPECT_EQ(FEW, figure("programs"));
	EXPECT_EQ(0, figure("freed_by_queue"));
	ASSERT_EQ(0, fail_every("0"));
	wait_for_figure(_metadata, "freed_by_queue", FEW);
	EXPECT_EQ(0, figure("programs"));
	EXPECT_EQ(FEW, figure("reports"));
	EXPECT_EQ(figure("failures"), figure("retries"));
	check_unloads(_metadata, NULL, false);
}

/* K5: files are closed while their programs are reported, and either may free the object. */
TEST_F_TIMEOUT(alive, outlives_its_file, 280)
{
	ASSERT_EQ(0, fail_every("150"));
	for (int i = 0; i < PROGRAMS; i++)
		watch(_metadata, "1");
	wait_for_figure(_metadata, "programs", 0);
	EXPECT_EQ(PROGRAMS, figure("reports"));
	/* One failure after each 149 reports, except after the last ones. */
	EXPECT_EQ((PROGRAMS - 1) / 149, figure("failures"));
	EXPECT_EQ(figure("failures"), figure("retries"));
	TH_LOG("%lld of %d freed by the queue", figure("freed_by_queue"), PROGRAMS);
	check_unloads(_metadata, NULL, false);
}

/* K5: unloading drops the queue's references to objects that wait. */
TEST_F(alive, unloaded_while_waiting)
{
	for (int i = 0; i < PROGRAMS; i++)
		watch(_metadata, "3600000");
	EXPECT_EQ(PROGRAMS, figure("programs"));
	EXPECT_EQ(0, figure("freed_by_queue"));
	check_unloads(_metadata, NULL, false);
}

#define LATE	200

/* K5: unloading waits for the handlers, drops the references, and frees each object once. */
TEST_F_TIMEOUT(alive, unloaded_while_reporting, 280)
{
	for (int i = 0; i < LOADS; i++) {
		ASSERT_EQ(0, fail_every(i % 2 ? "3" : "0"));
		for (int j = 0; j < LATE; j++)
			watch(_metadata, "1");
		check_unloads(_metadata, NULL, false);
		ASSERT_EQ(0, load(module_file()));
	}
	check_unloads(_metadata, NULL, false);
}

#define CALLERS	4

struct calls {
	_Atomic bool stop;
	/* All but the first caller pause, so that sometimes no file is open. */
	_Atomic bool pause;
	_Atomic int opens;
};

struct caller {
	struct peer peer;
	struct calls *calls;
	unsigned int nr;
};

/* Opens, writes and closes whether the module is loaded or not. */
static int call(struct peer *parent, void *arg)
{
	static const char *const ms[] = { "1", "0", "2", "1", "3600000", "1", "0" };
	struct caller *caller = arg;
	struct calls *calls = caller->calls;
	unsigned int nr = caller->nr;
	int fd;

	(void)parent;
	while (!atomic_load(&calls->stop)) {
		if (caller->nr && atomic_load(&calls->pause)) {
			sched_yield();
			continue;
		}
		fd = open_alive();
		if (fd < 0) {
			REQUIRE(errno == ENOENT || errno == ENODEV || errno == ENXIO);
			sched_yield();
			continue;
		}
		for (int i = nr % 4; i >= 0; i--)
			write_ms(fd, ms[nr++ % ARRAY_SIZE(ms)]);
		close(fd);
		atomic_fetch_add(&calls->opens, 1);
	}
	return 0;
}

/*
 * K5: the module is unloaded while processes open, write and close, deadlines pass and
 * reports fail. At its end it warns if an object is left.
 */
TEST_F_TIMEOUT(alive, unloaded_while_called, 280)
{
	struct calls *calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct caller callers[CALLERS];
	int ret, opens = 0, refused = 0;
	long long freed = 0;

	ASSERT_NE(MAP_FAILED, calls);
	for (int i = 0; i < CALLERS; i++) {
		callers[i].calls = calls;
		callers[i].nr = i;
		start_peer(&callers[i].peer, call, &callers[i]);
	}
	for (int i = 0; i < LOADS; i++) {
		ASSERT_EQ(0, fail_every(i % 2 ? "30" : "0"));
		while (atomic_load(&calls->opens) < opens + 500 || figure("reports") < 100 ||
		       !figure("freed_by_queue"))
			sched_yield();
		freed += figure("freed_by_queue");
		atomic_store(&calls->pause, true);
		while ((ret = unload())) {
			ASSERT_EQ(-EWOULDBLOCK, ret);
			refused++;
			sched_yield();
		}
		check_gone(_metadata);
		opens = atomic_load(&calls->opens);
		ASSERT_EQ(0, load(module_file()));
		atomic_store(&calls->pause, false);
	}
	atomic_store(&calls->stop, true);
	for (int i = 0; i < CALLERS; i++)
		EXPECT_EQ(0, end_of_peer(&callers[i].peer));
	check_unloads(_metadata, NULL, false);
	TH_LOG("%d opens in %d loads; the queue freed at least %lld; %d unloads refused",
	       calls->opens, LOADS, freed, refused);
}

/* Each step of a watch fails once. The program is reported exactly if its write succeeds. */
TEST_F_TIMEOUT(alive, called_while_memory_is_short, 280)
{
	int file = open_fail_nth(), fd, nth = 1, reports = 0, err;
	bool failed = true, no_memory = false;
	ssize_t n;

	if (file < 0)
		SKIP(return, "this kernel has no fault injection");
	for (; failed; nth++) {
		arm(file, nth);
		fd = open_alive();
		no_memory |= fd < 0 && errno == ENOMEM;
		n = fd < 0 ? -1 : write(fd, "1", 1);
		if (fd >= 0)
			close(fd);
		failed = disarm(file);
		EXPECT_TRUE(n == 1 || failed);
		reports += n == 1;
		wait_for_figure(_metadata, "programs", 0);
		EXPECT_EQ(reports, figure("reports"));
	}
	EXPECT_TRUE(no_memory);
	TH_LOG("%d steps that can fail, with %d of them no watch", nth - 2, nth - 1 - reports);

	/* The number of an open's steps varies. The first step of a write is its copy. */
	fd = open_alive();
	ASSERT_LE(0, fd);
	arm(file, 1);
	n = write(fd, "1", 1);
	err = errno;
	EXPECT_TRUE(disarm(file));
	EXPECT_EQ(-1, n);
	EXPECT_EQ(EFAULT, err);
	close(fd);
	wait_for_figure(_metadata, "programs", 0);
	EXPECT_EQ(reports, figure("reports"));
	check_unloads(_metadata, NULL, false);
}

TEST_F_TIMEOUT(alive, loaded_while_memory_is_short, 280)
{
	int file = open_fail_nth();

	if (file < 0)
		SKIP(return, "this kernel has no fault injection");
	load_while_memory_is_short(_metadata, file);
	check_unloads(_metadata, NULL, false);
}

TEST_HARNESS_MAIN
