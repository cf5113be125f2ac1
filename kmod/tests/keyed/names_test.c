// SPDX-License-Identifier: GPL-2.0-only
/* Named queues and the rights to them: names.c and quota.c. */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include "keyed_ops.h"

#define ALICE	3001
#define BOB	3002
#define STAFF	4001
#define NOBODYS	4002

static const struct kwq_limits plenty = { U32_MAX, U32_MAX };

/* Becomes a user without capabilities, until revert_creds(). */
static const struct cred *become(struct kunit *test, uid_t uid, gid_t gid,
				 struct cred **cred)
{
	*cred = prepare_creds();
	KUNIT_ASSERT_NOT_NULL(test, *cred);
	(*cred)->fsuid = KUIDT_INIT(uid);
	(*cred)->fsgid = KGIDT_INIT(gid);
	cap_clear((*cred)->cap_effective);
	return override_creds(*cred);
}

static void be_oneself(const struct cred *old, struct cred *cred)
{
	revert_creds(old);
	put_cred(cred);
}

static struct kwq_keyed *create(struct kunit *test, const char *name,
				umode_t mode)
{
	struct kwq_keyed *keyed = kwq_keyed_create(name, KWQ_CLOCK_MANUAL,
						   &plenty);

	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	keyed->mode = mode;
	return keyed;
}

/* Creates a queue that only its name keeps. */
static void create_named(struct kunit *test, const char *name)
{
	struct kwq_keyed *keyed = create(test, name, 0600);

	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	kwq_keyed_put(keyed);
}

/* ---- What a name may be ---- */

static const struct name_case {
	const char *desc;
	const char *name;
	int result;
} name_cases[] = {
	{ "a letter", "a", 0 },
	{ "a hidden file's", ".a", 0 },
	{ "three dots", "...", 0 },
	{ "a space", " ", 0 },
	{ "not ASCII", "\xc3\xa9", 0 },
	{ "none", "", -EINVAL },
	{ "a slash", "/", -EINVAL },
	{ "a slash before", "/a", -EINVAL },
	{ "a slash between", "a/b", -EINVAL },
	{ "a slash behind", "a/", -EINVAL },
	{ "one dot", ".", -EINVAL },
	{ "two dots", "..", -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(name, name_cases, desc);

static void name_check(struct kunit *test)
{
	const struct name_case *p = test->param_value;

	KUNIT_EXPECT_EQ(test, kwq_names_check(p->name), p->result);
}

/* ---- Names that come and go ---- */

static void named_queue_is_found(struct kunit *test)
{
	struct kwq_keyed *keyed = create(test, "kwq_test", 0600);
	struct kwq_keyed *found;

	/* O5 */
	KUNIT_EXPECT_NULL(test, kwq_names_find("kwq_test"));
	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	found = kwq_names_find("kwq_test");
	KUNIT_EXPECT_PTR_EQ(test, found, keyed);
	if (found)
		kwq_keyed_put(found);
	KUNIT_EXPECT_NULL(test, kwq_names_find("kwq_tes"));
	KUNIT_EXPECT_NULL(test, kwq_names_find("kwq_test1"));
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
	KUNIT_EXPECT_NULL(test, kwq_names_find("kwq_test"));
	kwq_keyed_put(keyed);
}

static void name_is_given_once(struct kunit *test)
{
	struct kwq_keyed *a = create(test, "kwq_test", 0600);
	struct kwq_keyed *b = create(test, "kwq_test", 0600);

	/* O5 */
	KUNIT_EXPECT_EQ(test, kwq_names_add(a), 0);
	KUNIT_EXPECT_EQ(test, kwq_names_add(b), -EEXIST);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), -ENOENT);
	/* The name is free at once, though the first queue still exists. */
	KUNIT_EXPECT_EQ(test, kwq_names_add(b), 0);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
	kwq_keyed_put(a);
	kwq_keyed_put(b);
}

static void name_keeps_the_queue_and_its_items(struct kunit *test)
{
	struct kwq_keyed *keyed;

	/* O5 */
	keyed = create(test, "kwq_test", 0600);
	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	kwq_keyed_add(keyed, &(struct kwq_key){ "key", 3 },
		      &(struct kwq_add_options){});
	kwq_keyed_put(keyed);
	keyed = kwq_names_find("kwq_test");
	KUNIT_ASSERT_NOT_NULL(test, keyed);
	KUNIT_EXPECT_EQ(test, kwq_len(&keyed->queue), 1);
	kwq_keyed_put(keyed);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
}

static void unlinked_queue_lives_on(struct kunit *test)
{
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);
	struct kwq_keyed *keyed = create(test, "kwq_test", 0640);

	/* O5 */
	KUNIT_ASSERT_NOT_NULL(test, stat);
	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	kwq_keyed_stat(keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->state, 0);
	KUNIT_EXPECT_EQ(test, stat->mode, 0640);
	KUNIT_EXPECT_STREQ(test, (char *)stat->name, "kwq_test");
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
	kwq_keyed_stat(keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->state, KWQ_STATE_UNLINKED);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add(keyed,
					    &(struct kwq_key){ "key", 3 },
					    &(struct kwq_add_options){}),
			KWQ_ADDED);
	kwq_keyed_put(keyed);
}

static void longest_name(struct kunit *test)
{
	char *name = kunit_kzalloc(test, KWQ_NAME_MAX + 1, GFP_KERNEL);
	struct kwq_keyed *found;

	KUNIT_ASSERT_NOT_NULL(test, name);
	memset(name, 'n', KWQ_NAME_MAX);
	create_named(test, name);
	found = kwq_names_find(name);
	KUNIT_EXPECT_NOT_NULL(test, found);
	if (found) {
		KUNIT_EXPECT_STREQ(test, found->queue.name, name);
		kwq_keyed_put(found);
	}
	KUNIT_EXPECT_EQ(test, kwq_names_unlink(name), 0);
}

/* ---- The list ---- */

static void list_is_sorted_by_bytes(struct kunit *test)
{
	/* '-' < '1' < 'B' < 'a' < 0xc3 */
	static const char *const sorted[] = {
		"kwq_test", "kwq_test-", "kwq_test1", "kwq_test10", "kwq_test2",
		"kwq_testB", "kwq_testa", "kwq_test\xc3\xa9",
	};
	static const u8 order[] = { 5, 2, 7, 0, 4, 6, 1, 3 };
	struct kwq_list_entry *entries =
		kunit_kcalloc(test, ARRAY_SIZE(sorted) + 1, sizeof(*entries),
			      GFP_KERNEL);
	int i, nr;

	/* O5 */
	KUNIT_ASSERT_NOT_NULL(test, entries);
	memset(entries, 0xff, (ARRAY_SIZE(sorted) + 1) * sizeof(*entries));
	for (i = 0; i < ARRAY_SIZE(order); i++)
		create_named(test, sorted[order[i]]);
	nr = kwq_names_list("kwq_tes", entries, ARRAY_SIZE(sorted));
	KUNIT_EXPECT_EQ(test, nr, ARRAY_SIZE(sorted));
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_STREQ(test, (char *)entries[i].name, sorted[i]);
		KUNIT_EXPECT_EQ(test, entries[i].mode, 0600);
		KUNIT_EXPECT_EQ(test, entries[i].uid, 0);
		KUNIT_EXPECT_EQ(test, entries[i].pad, 0);
	}
	/* At most as many as asked for, */
	KUNIT_EXPECT_EQ(test, entries[nr].mode, U32_MAX);
	/* two at a time, each after the last one, */
	KUNIT_EXPECT_EQ(test, kwq_names_list("kwq_test1", entries, 2), 2);
	KUNIT_EXPECT_STREQ(test, (char *)entries[0].name, "kwq_test10");
	KUNIT_EXPECT_STREQ(test, (char *)entries[1].name, "kwq_test2");
	/* or after a name that does not exist, */
	KUNIT_EXPECT_EQ(test, kwq_names_list("kwq_test11", entries, 1), 1);
	KUNIT_EXPECT_STREQ(test, (char *)entries[0].name, "kwq_test2");
	/* until the end. */
	KUNIT_EXPECT_EQ(test, kwq_names_list("\xff", entries, 1), 0);
	for (i = 0; i < ARRAY_SIZE(sorted); i++)
		KUNIT_EXPECT_EQ(test, kwq_names_unlink(sorted[i]), 0);
}

/* ---- Who may ---- */

static const struct permit_case {
	const char *desc;
	umode_t mode;
	uid_t uid;
	gid_t gid;
	unsigned int want;
	int result;
} permit_cases[] = {
	{ "the owner reads", 0400, ALICE, NOBODYS, KWQ_RIGHT_READ, 0 },
	{ "the owner writes", 0200, ALICE, NOBODYS, KWQ_RIGHT_WRITE, 0 },
	{ "the owner does both", 0600, ALICE, STAFF, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, 0 },
	{ "the owner may not write", 0400, ALICE, STAFF, KWQ_RIGHT_WRITE, -EACCES },
	{ "the owner may not do both", 0400, ALICE, STAFF,
	  KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, -EACCES },
	{ "the owner is not the group", 0066, ALICE, STAFF, KWQ_RIGHT_READ, -EACCES },
	{ "the group reads", 0040, BOB, STAFF, KWQ_RIGHT_READ, 0 },
	{ "the group may not write", 0642, BOB, STAFF, KWQ_RIGHT_WRITE, -EACCES },
	{ "the group is not the others", 0606, BOB, STAFF, KWQ_RIGHT_READ, -EACCES },
	{ "others read", 0004, BOB, NOBODYS, KWQ_RIGHT_READ, 0 },
	{ "others write", 0002, BOB, NOBODYS, KWQ_RIGHT_WRITE, 0 },
	{ "others may not", 0660, BOB, NOBODYS, KWQ_RIGHT_READ, -EACCES },
	{ "the owner manages", 0100, ALICE, NOBODYS, KWQ_RIGHT_MANAGE, 0 },
	{ "the owner may not manage", 0600, ALICE, STAFF, KWQ_RIGHT_MANAGE, -EACCES },
	{ "who manages may do nothing else", 0100, ALICE, STAFF, KWQ_RIGHT_READ, -EACCES },
	{ "the group manages", 0010, BOB, STAFF, KWQ_RIGHT_MANAGE, 0 },
	{ "others manage", 0001, BOB, NOBODYS, KWQ_RIGHT_MANAGE, 0 },
	{ "others may not manage", 0776, BOB, NOBODYS, KWQ_RIGHT_MANAGE, -EACCES },
	{ "nobody may", 0, ALICE, STAFF, KWQ_RIGHT_READ, -EACCES },
};

KUNIT_ARRAY_PARAM_DESC(permit, permit_cases, desc);

static void permit(struct kunit *test)
{
	const struct permit_case *p = test->param_value;
	struct kwq_keyed *keyed;
	const struct cred *old;
	struct cred *cred;

	/* O5 */
	old = become(test, ALICE, STAFF, &cred);
	keyed = create(test, "", p->mode);
	be_oneself(old, cred);
	old = become(test, p->uid, p->gid, &cred);
	KUNIT_EXPECT_EQ(test, kwq_names_permit(keyed, p->want), p->result);
	be_oneself(old, cred);
	/* CAP_DAC_OVERRIDE */
	KUNIT_EXPECT_EQ(test, kwq_names_permit(keyed, p->want), 0);
	kwq_keyed_put(keyed);
}

static void owner_unlinks(struct kunit *test)
{
	const struct cred *old;
	struct cred *cred;

	/* O5 */
	old = become(test, ALICE, STAFF, &cred);
	create_named(test, "kwq_test");
	be_oneself(old, cred);
	old = become(test, BOB, STAFF, &cred);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), -EPERM);
	be_oneself(old, cred);
	old = become(test, ALICE, STAFF, &cred);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
	create_named(test, "kwq_test");
	be_oneself(old, cred);
	/* CAP_FOWNER */
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
}

static void list_tells_the_owner(struct kunit *test)
{
	struct kwq_list_entry *entry = kunit_kzalloc(test, sizeof(*entry),
						     GFP_KERNEL);
	const struct cred *old;
	struct cred *cred;

	/* O5 */
	KUNIT_ASSERT_NOT_NULL(test, entry);
	old = become(test, ALICE, STAFF, &cred);
	create_named(test, "kwq_test");
	be_oneself(old, cred);
	KUNIT_EXPECT_EQ(test, kwq_names_list("kwq_tes", entry, 1), 1);
	KUNIT_EXPECT_EQ(test, entry->uid, ALICE);
	KUNIT_EXPECT_EQ(test, entry->gid, STAFF);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink("kwq_test"), 0);
}

/* Replaces kwq_keyed_free_async(), and frees nothing. */
static struct kwq_keyed *handed_over;

static void take_over(struct kwq_keyed *keyed)
{
	handed_over = keyed;
}

/* O8: the end of a net namespace frees no queue itself, because all others wait for it. */
static void end_of_a_namespace_hands_its_queues_over(struct kunit *test)
{
	struct kwq_keyed *keyed;

	create_named(test, "kwq_test");
	keyed = kwq_names_find("kwq_test");
	KUNIT_ASSERT_NOT_NULL(test, keyed);
	kwq_keyed_put(keyed);
	handed_over = NULL;
	kunit_activate_static_stub(test, kwq_keyed_free_async, take_over);
	kwq_names_end(current->nsproxy->net_ns);
	kunit_deactivate_static_stub(test, kwq_keyed_free_async);
	KUNIT_EXPECT_NULL(test, kwq_names_find("kwq_test"));
	KUNIT_ASSERT_PTR_EQ(test, handed_over, keyed);
	KUNIT_EXPECT_TRUE(test, keyed->unlinked);
	kwq_keyed_free_async(keyed);
}

/* ---- How many ---- */

/* More queues than the default limit of a user. */
#define TOO_MANY	5000

static void user_has_a_quota(struct kunit *test)
{
	struct kwq_keyed **queues, *one_more;
	const struct cred *old;
	struct cred *cred;
	int nr, err = 0;

	/* O4 */
	queues = kunit_kcalloc(test, TOO_MANY, sizeof(*queues), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queues);
	old = become(test, ALICE, STAFF, &cred);
	for (nr = 0; nr < TOO_MANY; nr++) {
		queues[nr] = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
		err = PTR_ERR_OR_ZERO(queues[nr]);
		if (err)
			break;
	}
	KUNIT_EXPECT_EQ(test, err, -EDQUOT);
	/* A queue that is freed makes room for another. */
	kwq_keyed_put(queues[--nr]);
	queues[nr] = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(queues[nr]), 0);
	one_more = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(one_more), -EDQUOT);
	/* CAP_SYS_RESOURCE */
	cap_raise(cred->cap_effective, CAP_SYS_RESOURCE);
	one_more = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(one_more), 0);
	if (!IS_ERR(one_more))
		kwq_keyed_put(one_more);
	be_oneself(old, cred);

	/* Each user has a limit of its own. */
	old = become(test, BOB, STAFF, &cred);
	one_more = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(one_more), 0);
	if (!IS_ERR(one_more))
		kwq_keyed_put(one_more);
	be_oneself(old, cred);

	for (; nr >= 0; nr--)
		if (!IS_ERR(queues[nr]))
			kwq_keyed_put(queues[nr]);
}

static int add_number(struct kwq_keyed *keyed, u32 number, u32 flags)
{
	u8 bytes[1024] = {};

	/* Makes a number the content of a key. */
	*(u32 *)bytes = number;
	return kwq_keyed_add(keyed, &(struct kwq_key){ bytes, sizeof(bytes) },
			     &(struct kwq_add_options){ .flags = flags });
}

static int remove_number(struct kwq_keyed *keyed, u32 number)
{
	u8 bytes[1024] = {};

	*(u32 *)bytes = number;
	return kwq_keyed_remove(keyed, &(struct kwq_key){ bytes, sizeof(bytes) }, 0);
}

/* Adds items until an add is refused. Returns their number; *@ret is the error. */
static u32 fill(struct kwq_keyed *keyed, int *ret)
{
	u32 n;

	for (n = 0; n < 1000; n++) {
		*ret = add_number(keyed, n, 0);
		if (*ret < 0)
			break;
	}
	return n;
}

/* Takes the first ready item, and finishes it. */
static void take_next(struct kunit *test, struct kwq_keyed *keyed)
{
	struct kwq_handle *handle = kwq_handle_open(keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	struct kwq_got got;
	u8 key[1024];
	struct kwq_got_buffer buffer = {
		.got = &got,
		.keys = key,
		.max_items = 1,
		.max_key_bytes = sizeof(key),
	};

	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	KUNIT_EXPECT_EQ(test, kwq_handle_get(handle, &buffer, &at_once), 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(handle, got.ticket, 0), KWQ_FINISHED);
	kwq_handle_close(handle);
}

/* Leaves an item that is idle, with a count of requeues. */
static void remember_number(struct kunit *test, struct kwq_keyed *keyed, u32 number)
{
	KUNIT_EXPECT_EQ(test, add_number(keyed, number, KWQ_ADD_RATE_LIMITED),
			KWQ_WAITING);
	kwq_queue_advance_by(&keyed->queue, NSEC_PER_SEC);
	take_next(test, keyed);
}

static void user_has_a_quota_of_bytes(struct kunit *test)
{
	unsigned long max = kwq_max_user_bytes;
	struct kwq_keyed *a, *b, *privileged, *bobs;
	const struct cred *old;
	struct cred *cred;
	u32 nr, n, bytes;
	int ret;

	/* O4 */
	WRITE_ONCE(kwq_max_user_bytes, 2 * kwq_keyed_own_bytes(""));
	old = become(test, ALICE, STAFF, &cred);
	a = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	b = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	cap_raise(cred->cap_effective, CAP_SYS_RESOURCE);
	privileged = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	be_oneself(old, cred);
	old = become(test, BOB, STAFF, &cred);
	bobs = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	be_oneself(old, cred);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a) || IS_ERR(b) || IS_ERR(privileged) ||
			   IS_ERR(bobs));

	/* The bytes count for the owner, whoever adds. */
	bytes = 16 * kwq_item_bytes(a, 1024);
	WRITE_ONCE(kwq_max_user_bytes, bytes + 2 * kwq_keyed_own_bytes(""));
	nr = fill(a, &ret);
	KUNIT_EXPECT_EQ(test, ret, -EDQUOT);
	KUNIT_EXPECT_EQ(test, nr, 16);
	KUNIT_EXPECT_EQ(test, a->nr_bytes, bytes);
	KUNIT_EXPECT_EQ(test, a->nr_items, nr);
	KUNIT_EXPECT_EQ(test, add_number(b, 0, 0), -EDQUOT);
	/* Existing keys need no more bytes. */
	KUNIT_EXPECT_EQ(test, add_number(a, 0, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add_number(bobs, 0, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, fill(privileged, &ret), 1000);

	/* The bytes of an exempt queue do not count for b. */
	for (n = 0; n < nr; n++)
		KUNIT_EXPECT_EQ(test, remove_number(a, n), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, atomic64_read(&a->quota->bytes), 2 * kwq_keyed_own_bytes(""));
	KUNIT_EXPECT_EQ(test, add_number(b, 0, 0), KWQ_ADDED);
	kwq_keyed_put(privileged);
	KUNIT_EXPECT_EQ(test, remove_number(b, 0), KWQ_WAS_READY);
	kwq_keyed_put(b);

	/* L10: a remembered item gives its memory to an add that is refused without it. */
	WRITE_ONCE(kwq_max_user_bytes, bytes + kwq_keyed_own_bytes(""));
	remember_number(test, a, nr);
	KUNIT_EXPECT_EQ(test, a->nr_remembered, 1);
	for (n = 0; n < nr - 1; n++)
		KUNIT_EXPECT_EQ(test, add_number(a, n, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, a->nr_remembered, 1);
	KUNIT_EXPECT_NOT_NULL(test, kwq_quota_refuser(a->quota, a->small_bytes));
	KUNIT_EXPECT_TRUE(test, kwq_keyed_has_memory(a));
	KUNIT_EXPECT_EQ(test, add_number(a, n, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, a->nr_remembered, 0);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(a));
	KUNIT_EXPECT_EQ(test, add_number(a, nr, 0), -EDQUOT);
	/*
	 * Q19: nothing is remembered after a refusal, because that would need the memory. Later
	 * they become no more while less than a quarter of the quota is left.
	 */
	for (n = 0; n < 4; n++) {
		KUNIT_EXPECT_EQ(test, add_number(a, n, KWQ_ADD_RATE_LIMITED), KWQ_WAITING);
		kwq_queue_advance_by(&a->queue, NSEC_PER_SEC);
		take_next(test, a);
		KUNIT_EXPECT_EQ(test, a->nr_remembered, !!n);
		KUNIT_EXPECT_EQ(test, kwq_quota_is_wanted(a->quota), false);
	}
	kwq_keyed_put(a);
	kwq_keyed_put(bobs);
	WRITE_ONCE(kwq_max_user_bytes, max);
}

/* L10: counts go only if that helps an add, and no more of them than it needs. */
static void refused_add_drops_no_more_than_it_needs(struct kunit *test)
{
	unsigned long max = kwq_max_user_bytes;
	unsigned long total = kwq_max_total_bytes;
	struct kwq_keyed *keyed;
	const struct cred *old;
	struct cred *cred;
	int n;

	old = become(test, ALICE, STAFF, &cred);
	keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	be_oneself(old, cred);
	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	for (n = 0; n < 8; n++)
		remember_number(test, keyed, n);
	KUNIT_EXPECT_EQ(test, keyed->nr_remembered, 8);
	WRITE_ONCE(kwq_max_user_bytes, keyed->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(keyed, n, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, keyed->nr_remembered, 8);
	WRITE_ONCE(kwq_max_user_bytes, keyed->own_bytes + keyed->nr_bytes);
	KUNIT_EXPECT_EQ(test, add_number(keyed, n, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, keyed->nr_remembered, 7);
	/* The machine's bytes may be those of others. */
	WRITE_ONCE(kwq_max_total_bytes, 0);
	KUNIT_EXPECT_EQ(test, add_number(keyed, n + 1, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, keyed->nr_remembered, 7);
	WRITE_ONCE(kwq_max_total_bytes, total);
	WRITE_ONCE(kwq_max_user_bytes, max);
	kwq_keyed_put(keyed);
}

static void own_limit_comes_before_the_quota(struct kunit *test)
{
	static const struct kwq_limits small = { U32_MAX, 10000 };
	unsigned long max = kwq_max_user_bytes;
	struct kwq_keyed *keyed;
	const struct cred *old;
	struct cred *cred;
	int ret;

	/* O4 */
	WRITE_ONCE(kwq_max_user_bytes, small.max_bytes + kwq_keyed_own_bytes(""));
	old = become(test, ALICE, STAFF, &cred);
	keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &small);
	be_oneself(old, cred);
	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	fill(keyed, &ret);
	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic64_read(&keyed->quota->bytes),
			keyed->own_bytes + keyed->nr_bytes);
	kwq_keyed_put(keyed);
	WRITE_ONCE(kwq_max_user_bytes, max);
}

static struct kunit_case names_test_cases[] = {
	KUNIT_CASE_PARAM(name_check, name_gen_params),
	KUNIT_CASE(named_queue_is_found),
	KUNIT_CASE(name_is_given_once),
	KUNIT_CASE(name_keeps_the_queue_and_its_items),
	KUNIT_CASE(unlinked_queue_lives_on),
	KUNIT_CASE(longest_name),
	KUNIT_CASE(list_is_sorted_by_bytes),
	KUNIT_CASE_PARAM(permit, permit_gen_params),
	KUNIT_CASE(owner_unlinks),
	KUNIT_CASE(list_tells_the_owner),
	KUNIT_CASE(end_of_a_namespace_hands_its_queues_over),
	KUNIT_CASE_SLOW(user_has_a_quota),
	KUNIT_CASE(user_has_a_quota_of_bytes),
	KUNIT_CASE(refused_add_drops_no_more_than_it_needs),
	KUNIT_CASE(own_limit_comes_before_the_quota),
	{}
};

static struct kunit_suite names_test_suite = {
	.name = "kwq-names",
	.test_cases = names_test_cases,
};

kunit_test_suite(names_test_suite);
