// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Replaces keeper.c and keep_file.c in a build without SQLite. kwq keep then only says so.
 */
#include "keeper.h"

#include "base/cmd.h"

const char *keeper_load(void)
{
	return "this build has none";
}

int keeper_start(struct keeper **keeper, const struct keeper_options *options)
{
	(void)options;
	*keeper = NULL;
	return STATUS_FAILED;
}

enum keeper_step keeper_step(struct keeper *keeper, uint64_t now)
{
	(void)keeper;
	(void)now;
	return KEEPER_FAILED;
}

bool keeper_is_ready(const struct keeper *keeper)
{
	(void)keeper;
	return false;
}

int keeper_fd(const struct keeper *keeper)
{
	(void)keeper;
	return -1;
}

uint64_t keeper_due(const struct keeper *keeper)
{
	(void)keeper;
	return UINT64_MAX;
}

int keeper_finish(struct keeper *keeper, uint64_t now)
{
	(void)keeper;
	(void)now;
	return STATUS_FAILED;
}

void keeper_close(struct keeper *keeper)
{
	(void)keeper;
}
