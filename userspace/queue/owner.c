// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "owner.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>

/*
 * A static program has no name services, such as LDAP. It knows the users and groups of the
 * machine's own files.
 */
#ifdef KWQ_STATIC
static struct passwd *user_of(uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && user->pw_uid != uid)
		;
	if (file)
		fclose(file);
	return user;
}

static struct group *group_of(gid_t gid)
{
	FILE *file = fopen("/etc/group", "re");
	struct group *group = NULL;

	while (file && (group = fgetgrent(file)) && group->gr_gid != gid)
		;
	if (file)
		fclose(file);
	return group;
}
#else
static struct passwd *user_of(uid_t uid)
{
	return getpwuid(uid);
}

static struct group *group_of(gid_t gid)
{
	return getgrgid(gid);
}
#endif

struct last {
	bool known, numeric;
	uint32_t id;
	char text[256];
};

/* Returns whether the text is that of this id. Else makes it the number. */
static bool is_known(struct last *last, uint32_t id, bool numeric)
{
	if (last->known && last->id == id && last->numeric == numeric)
		return true;
	last->known = true;
	last->numeric = numeric;
	last->id = id;
	snprintf(last->text, sizeof(last->text), "%u", id);
	return numeric;
}

const char *owner_user(uint32_t uid, bool numeric)
{
	static struct last last;
	const struct passwd *user;

	if (is_known(&last, uid, numeric))
		return last.text;
	user = user_of(uid);
	if (user)
		snprintf(last.text, sizeof(last.text), "%s", user->pw_name);
	return last.text;
}

const char *owner_group(uint32_t gid, bool numeric)
{
	static struct last last;
	const struct group *group;

	if (is_known(&last, gid, numeric))
		return last.text;
	group = group_of(gid);
	if (group)
		snprintf(last.text, sizeof(last.text), "%s", group->gr_name);
	return last.text;
}
