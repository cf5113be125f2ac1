// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users to whom the processes belong, and the memory that their queues may have.
 */
#include "fuzz.h"

#define LIMIT		"/sys/module/kwq/parameters/max_user_bytes"
#define PATIENCE	60	/* seconds of limit_clock() until closed queues are freed */
#define GROUP		1000

static const uid_t users[] = { 0, 1000, 1001 };

/* O9: all bytes of a user, also of queues in user namespaces that belong to the user. */
static __u64 bytes_of(int dev, uid_t user)
{
	struct kwq_info info = { .size = sizeof(info) };

	REQUIRE(!seteuid(user));
	REQUIRE(!request(dev, KWQ_IOC_INFO, &info));
	REQUIRE(!seteuid(0));
	return info.user_bytes;
}

void note_memory(int dev, struct memory *memory)
{
	for (int i = 0; i < ARRAY_SIZE(users); i++)
		memory->bytes[i] = bytes_of(dev, users[i]);
}

/* O9: users have back what they had. A queue is freed some time after its last descriptor. */
void require_memory(int dev, const struct memory *memory)
{
	double end = limit_clock() + PATIENCE;

	for (int i = 0; i < ARRAY_SIZE(users); i++) {
		__u64 bytes;

		while ((bytes = bytes_of(dev, users[i])) != memory->bytes[i]) {
			if (limit_clock() > end) {
				fprintf(stderr, "# user %u has %llu bytes in queues, and had %llu\n",
					users[i], bytes, memory->bytes[i]);
				exit(1);
			}
			usleep(1000);
		}
	}
}

static char usual_limit[32];

static void restore_limit(void)
{
	write_text(LIMIT, usual_limit);
}

/* O9: in every other round users that are not exempt may have little memory. */
void limit_memory(__u64 *random)
{
	__u32 r = next_random(random);
	char text[32];

	if (!usual_limit[0]) {
		REQUIRE(read_text(LIMIT, usual_limit, sizeof(usual_limit)) > 0);
		REQUIRE(!atexit(restore_limit));
	}
	restore_limit();
	if (r % 2)
		return;
	snprintf(text, sizeof(text), "%u", (65536U << r / 2 % 7) + r / 16 % 3 * 16384);
	REQUIRE(!write_text(LIMIT, text));
}

/* K9: another net namespace has other names. Without user namespaces the process stays here. */
static void enter_namespaces(void)
{
	static const char map[] = "0 1001 1";

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return;
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", map);
}

/*
 * The first process is root, and the second is not. The third is root or a third user. The fourth
 * is the same user as the second, and may be in namespaces of its own.
 */
void become_user(struct process *process)
{
	static const uid_t others[PROCESSES] = { 0, 1001, 1000, 1001 };
	bool varies = process->seed / 3 % 2;
	uid_t uid = others[process->number];

	if (process->number == 2 && varies)
		uid = 0;
	process->is_root = !uid;
	if (!uid)
		return;
	REQUIRE(!setresgid(GROUP, GROUP, GROUP) && !setresuid(uid, uid, uid));
	if (process->number == 3 && varies)
		enter_namespaces();
	/* Keeps access to its own /proc after the change of user. */
	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}
