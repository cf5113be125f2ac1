// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A queue and its file.
 *
 * Each queue has an id that no other queue ever had (&kwq_stat.id), and the file has the id of the
 * queue that it is equal to. The ids tell which of the two is the truth:
 *
 * - The ids are the same. Then the queue has all that the file has, and what came after that. The
 *   file is made equal to the queue: what the queue does not list is removed.
 * - They differ, because the queue is a new one, perhaps after a reboot. Then the file has keys
 *   that the queue lacks. They are restored first. A restore leaves alone what the queue has. Only
 *   then is the file made equal, and gets the queue's id, all in one transaction.
 *
 * So this process may end at any point. Until that transaction is committed, the file has the old
 * id and all old keys, and the next start restores them once more. If the queue refuses a key, the
 * file stays as it is, because the transaction would remove the key.
 *
 * A queue that this process creates from a file is paused until the file has its id. Otherwise a
 * key might be done, and restored again by a second start. The file notes the id of such a queue
 * as "into" before the pause. So a later start knows that the pause is not the user's, and gives
 * the queue the state that the file has.
 *
 * The follower follows before it restores. So it restores only into a queue that nobody else keeps.
 * And calls of a handle that follows do not wait in a queue with KWQ_CREATE_SYNC, where a restore
 * would wait for this process itself.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/keys/drop.h"
#include "base/escape.h"
#include "queue/item_list.h"
#include "keep_file.h"
#include "queue/queue_options.h"
#include "base/read_clock.h"
#include "restore.h"
#include "saved_queue.h"

enum {
	/* Changes in one transaction, at most. */
	CHANGES = KWQ_BATCH_MAX,
	/* Room for their keys, groups and values. */
	CHANGES_BYTES = 1 << 20,
};

/*
 * @kept: the queue as the file has it
 * @changes: the request, whose @after is the last change in the file, and whose @kept the last one
 *	that is on the disk
 * @lists: all items have to be listed
 * @unsynced: the file has changes that are not on the disk
 * @synced_at: when it was last written there, on the monotonic clock
 * @complained: the last message about the file, so that it is not repeated
 */
struct keeper {
	struct keeper_options options;
	struct kwq *q;
	struct keep_file *file;
	struct kept_queue kept;
	struct kwq_changes_args changes;
	bool lists, unsynced, sync;
	uint64_t id, synced_at;
	char complained[512];
	struct item_list list;
	struct restorer restorer;
	struct kwq_listed entries[CHANGES];
	char bytes[CHANGES_BYTES];
};

const char *keeper_load(void)
{
	return keep_file_load();
}

/* ---- Messages ------------------------------------------------------------- */

static int complain_file(const struct keeper *k)
{
	message("%s: %s", k->options.path, keep_file_why(k->file));
	return STATUS_FAILED;
}

static void complain_once(struct keeper *k, const char *why)
{
	if (!strcmp(k->complained, why))
		return;
	message("%s: %s; trying again each second, with nothing lost as long as %s exists",
		k->options.path, why, k->options.queue);
	snprintf(k->complained, sizeof(k->complained), "%s", why);
}

/* The step for a result of the file that is not KEEP_OK. */
static enum keeper_step complain_step(struct keeper *k, enum keep_result result)
{
	const char *why = keep_file_why(k->file);

	if (result == KEEP_BROKEN) {
		complain_file(k);
		return KEEPER_FAILED;
	}
	complain_once(k, why);
	return KEEPER_LATER;
}

static void forget_complaint(struct keeper *k)
{
	if (k->complained[0])
		message("%s: written again", k->options.path);
	k->complained[0] = '\0';
}

/* ---- Items ---------------------------------------------------------------- */

static enum keep_result put(struct keeper *k, const struct kwq_listed *listed, const char *bytes,
			    uint64_t now)
{
	struct saved_item item = saved_item_of(listed);

	return listed->state ? keep_file_put_item(k->file, &item, bytes, now) :
			       keep_file_remove_item(k->file, bytes, listed->key_len);
}

/*
 * Writes all items of the queue, and removes those that it does not have. An item that changes
 * meanwhile comes again as a change. Returns 0 or the negative errno value of a call.
 */
static int put_all(struct keeper *k, enum keep_result *result)
{
	const struct kwq_listed *listed;
	const char *bytes;
	uint64_t now = 0;
	int ret = 0;

	*result = keep_file_begin_list(k->file);
	item_list_begin(&k->list, k->q, SAVED_STATES);
	item_list_with(&k->list, SAVED_WITH);
	while (*result == KEEP_OK && (ret = item_list_next(&k->list, &listed, &bytes)) > 0) {
		/* A page is of one time, so that equal ages stay equal. */
		if (k->list.next == 1)
			now = read_clock(CLOCK_REALTIME);
		*result = put(k, listed, bytes, now);
	}
	if (*result != KEEP_OK)
		return 0;
	if (ret < 0)
		return ret;
	*result = keep_file_end_list(k->file);
	return 0;
}

static enum keep_result put_changes(struct keeper *k, int nr)
{
	enum keep_result result = KEEP_OK;
	/* After the call, so that no item is due early. */
	uint64_t now = read_clock(CLOCK_REALTIME);
	const char *at = k->bytes;
	int i;

	for (i = 0; i < nr && result == KEEP_OK; i++) {
		const struct kwq_listed *listed = &k->entries[i];

		result = put(k, listed, at, now);
		at += item_list_bytes(listed, SAVED_WITH);
	}
	return result;
}

/* ---- The queue ------------------------------------------------------------ */

/*
 * Reads what the file has of the queue itself. A queue that still gets the state of the file keeps
 * that one in the file. Returns 0 or a negative errno value.
 */
static int read_queue(struct keeper *k, struct kept_queue *kept)
{
	int err;

	*kept = (struct kept_queue){ .id = k->id, .into = k->kept.into };
	err = saved_queue_read(k->q, &kept->saved);
	if (!err && kept->into) {
		kept->saved.state = k->kept.saved.state;
		kept->saved.paused_for = k->kept.saved.paused_for;
	}
	return err;
}

/*
 * Writes the queue itself within a transaction, with all its items if they have to be listed. Sets
 * *@err to the negative errno value of a call, or 0.
 */
static enum keep_result put_queue(struct keeper *k, struct kept_queue *kept, int *err)
{
	enum keep_result result = KEEP_OK;

	*err = read_queue(k, kept);
	if (!*err && k->lists)
		*err = put_all(k, &result);
	if (*err || result != KEEP_OK)
		return result;
	return keep_file_put_queue(k->file, kept, read_clock(CLOCK_REALTIME));
}

/* For a negative errno value of a call. */
static enum keeper_step fail_call(const struct keeper *k, int err)
{
	complain(k->options.queue, err);
	return KEEPER_FAILED;
}

/* Writes the queue itself to the disk, and nothing else. */
static enum keep_result put_queue_alone(struct keeper *k, const struct kept_queue *kept)
{
	enum keep_result result = keep_file_begin(k->file, true);

	if (result != KEEP_OK)
		return result;
	result = keep_file_put_queue(k->file, kept, read_clock(CLOCK_REALTIME));
	if (result == KEEP_OK)
		result = keep_file_commit(k->file);
	else
		keep_file_rollback(k->file);
	if (result == KEEP_OK)
		k->kept = *kept;
	return result;
}

/* Gives a queue that was created from the file the state that the file has. */
static enum keeper_step hand_over(struct keeper *k)
{
	struct kept_queue kept = k->kept;
	enum keep_result result;
	int err;

	err = kept.saved.state & KWQ_STATE_PAUSED ?
		saved_queue_set_state(k->q, &kept.saved, KWQ_STATE_PAUSED) : kwq_resume(k->q);
	if (!err)
		err = saved_queue_set_state(k->q, &kept.saved, KWQ_STATE_SHUT_DOWN);
	if (err)
		return fail_call(k, err);
	kept.into = 0;
	result = put_queue_alone(k, &kept);
	return result == KEEP_OK ? KEEPER_MORE : complain_step(k, result);
}

/* ---- Steps ---------------------------------------------------------------- */

static enum keeper_step end(const struct keeper *k, const char *how)
{
	uint64_t nr = 0;
	uint32_t needs;

	if (keep_file_count(k->file, &nr, &needs) == KEEP_OK && nr)
		message("%s: %s; %s still has its %llu keys: remove it if nobody wants them",
			k->options.queue, how, k->options.path, (unsigned long long)nr);
	else
		message("%s: %s; %s has no more keys", k->options.queue, how, k->options.path);
	return KEEPER_ENDED;
}

/* A queue that is shut down, and whose keys are all done, needs no keeper. */
static enum keeper_step check_end(struct keeper *k)
{
	struct kept_queue kept = k->kept;
	enum keep_result result;
	bool is_empty;

	if (!(kept.saved.state & KWQ_STATE_SHUT_DOWN) || kept.into)
		return KEEPER_MORE;
	result = keep_file_is_empty(k->file, &is_empty);
	if (result == KEEP_OK && !is_empty)
		return KEEPER_MORE;
	kept.ended = true;
	if (result == KEEP_OK)
		result = put_queue_alone(k, &kept);
	if (result != KEEP_OK)
		return complain_step(k, result);
	k->changes.kept = k->changes.after;
	return end(k, "shut down, and all is done");
}

static enum keeper_step check_removed(struct keeper *k)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(k->q, &st);

	if (!err && !(st.state & KWQ_STATE_UNLINKED))
		return KEEPER_MORE;
	/* The file has them, and whoever starts from it would run them again. */
	if (!err)
		err = drop_keys(k->q);
	return err ? fail_call(k, err) : end(k, "removed");
}

/* The file has all changes up to @after now; on the disk if @is_synced. */
static void note_commit(struct keeper *k, uint64_t after, bool is_synced, uint64_t now)
{
	k->changes.after = after;
	k->unsynced = !is_synced;
	if (!is_synced)
		return;
	k->changes.kept = after;
	k->synced_at = now;
}

/* Writes @nr changes that were read, and the queue itself if it has changed or has to be listed. */
static enum keeper_step write_changes(struct keeper *k, const struct kwq_changes_args *read, int nr,
				      uint64_t now)
{
	bool of_queue = read->of_queue != k->changes.of_queue || k->lists;
	bool synced = k->sync || k->lists;
	struct kept_queue kept = k->kept;
	enum keep_result result;
	int err = 0;

	result = keep_file_begin(k->file, synced);
	if (result != KEEP_OK)
		return complain_step(k, result);
	if (of_queue)
		result = put_queue(k, &kept, &err);
	if (!err && result == KEEP_OK)
		result = put_changes(k, nr);
	if (!err && result == KEEP_OK)
		result = keep_file_commit(k->file);
	else
		keep_file_rollback(k->file);
	if (err)
		return fail_call(k, err);
	if (result != KEEP_OK)
		return complain_step(k, result);
	forget_complaint(k);
	k->kept = kept;
	k->lists = false;
	k->changes.of_queue = read->of_queue;
	note_commit(k, read->after, synced, now);
	return of_queue ? check_removed(k) : KEEPER_MORE;
}

static enum keeper_step sync_file(struct keeper *k, uint64_t now)
{
	enum keep_result result = keep_file_sync(k->file);

	if (result != KEEP_OK)
		return complain_step(k, result);
	forget_complaint(k);
	note_commit(k, k->changes.after, true, now);
	/* The next call tells the queue. */
	return KEEPER_MORE;
}

uint64_t keeper_due(const struct keeper *k)
{
	return k->unsynced ? k->synced_at + k->options.interval : UINT64_MAX;
}

static enum keeper_step read_and_write(struct keeper *k, uint64_t now)
{
	struct kwq_changes_args read = k->changes;
	enum keeper_step step;
	int nr = kwq_changes(k->q, &read);

	if (nr == -EAGAIN)
		return k->unsynced && now >= keeper_due(k) ? sync_file(k, now) : KEEPER_IDLE;
	if (nr == -EINTR)
		return KEEPER_LATER;
	/* O9: the memory for calls of a user is bounded, too. */
	if (nr == -ENOMEM || nr == -EDQUOT) {
		complain_once(k, meaning(nr));
		return KEEPER_LATER;
	}
	if (nr < 0)
		return fail_call(k, nr);
	step = write_changes(k, &read, nr, now);
	if (step == KEEPER_MORE)
		step = check_end(k);
	/* At most one sync in each interval, and the first one at once. */
	if (step == KEEPER_MORE && k->unsynced && now >= keeper_due(k))
		step = sync_file(k, now);
	return step;
}

/* Makes the file equal to the queue, with all changes up to the last follow. */
static enum keeper_step write_all(struct keeper *k, uint64_t now)
{
	struct kwq_changes_args read = k->changes;
	enum keeper_step step = write_changes(k, &read, 0, now);

	return step == KEEPER_MORE ? check_end(k) : step;
}

enum keeper_step keeper_step(struct keeper *k, uint64_t now)
{
	if (k->lists)
		return write_all(k, now);
	if (k->kept.into)
		return hand_over(k);
	return read_and_write(k, now);
}

bool keeper_is_ready(const struct keeper *k)
{
	return !k->lists && !k->kept.into;
}

int keeper_fd(const struct keeper *k)
{
	return kwq_fd(k->q);
}

/* ---- Start ---------------------------------------------------------------- */

static int complain_follow(const struct keeper *k, int err)
{
	switch (err) {
	case -EBUSY:
		message("%s: another program follows this queue: only one can", k->options.queue);
		return STATUS_FAILED;
	case -EOPNOTSUPP:
		message("%s: this queue cannot be followed: remove it, and let kwq keep create it "
			"(kwq save and kwq load keep its keys), or see kwq create --changes",
			k->options.queue);
		return STATUS_FAILED;
	case -ENOTTY:
		message("the kernel's kwq is older than this command and nobody can follow its queues");
		return STATUS_FAILED;
	}
	return complain(k->options.queue, err);
}

/* Follows the queue from now on. Returns an exit status. */
static int follow(struct keeper *k)
{
	uint64_t number;
	int err = kwq_follow(k->q, &number);

	if (err)
		return complain_follow(k, err);
	k->changes = (struct kwq_changes_args){
		.size = sizeof(k->changes),
		.flags = KWQ_CHANGES_NONBLOCK | KWQ_CHANGES_VALUES |
			 KWQ_CHANGES_NOTES,
		.after = number,
		.batch = {
			.entries = kwq_ptr(k->entries),
			.keys = kwq_ptr(k->bytes),
			.keys_len = sizeof(k->bytes),
			.nr = ARRAY_SIZE(k->entries),
			.entry_size = sizeof(k->entries[0]),
		},
	};
	k->lists = true;
	return STATUS_OK;
}

/* Follows anew, because the changes up to now need not be read. */
static int follow_again(struct keeper *k)
{
	struct kwq *again;
	int err = kwq_reopen(&again, k->q, KWQ_RIGHTS_ALL, O_CLOEXEC);

	if (err)
		return complain(k->options.queue, err);
	kwq_close(k->q);
	k->q = again;
	return follow(k);
}

/* Whether the queue can be kept at all. Returns an exit status. */
static int check_queue(struct keeper *k)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(k->q, &st);

	if (err)
		return complain(k->options.queue, err);
	if (st.clockid == KWQ_CLOCK_ID_MANUAL) {
		message("%s: a queue with a manual clock cannot be kept: its times mean nothing later",
			k->options.queue);
		return STATUS_FAILED;
	}
	if (st.create_flags & KWQ_CREATE_OUTBOX) {
		message("%s: a queue with an outbox is kept by its manager: with kwq share --sync, adds return when they are stored",
			k->options.queue);
		return STATUS_FAILED;
	}
	if (k->options.sync && st.create_flags & KWQ_CREATE_CHANGES &&
	    !(st.create_flags & KWQ_CREATE_SYNC)) {
		message("%s: this queue was created without --sync, so adds would not wait: stop its programs, start kwq keep without --sync, do kwq debug sync %s, stop it, and do kwq rm --force %s; then start it with --sync: the file has the keys",
			k->options.queue, k->options.queue, k->options.queue);
		return STATUS_FAILED;
	}
	/* The owner whom the file names may have it again. A file without a queue names root. */
	if (st.uid != k->kept.saved.uid && check_owner(k->q, k->options.queue))
		return STATUS_FAILED;
	k->id = st.id;
	/* The calls of others wait for the disk. */
	k->sync = k->options.sync || st.create_flags & KWQ_CREATE_SYNC;
	return STATUS_OK;
}

static int create(struct keeper *k, bool has_file)
{
	struct saved_queue *saved = &k->kept.saved;
	int err;

	if (has_file && k->kept.ended) {
		message("%s: its queue was shut down, and all was done: remove it to begin anew",
			k->options.path);
		return STATUS_SHUT_DOWN;
	}
	if (!has_file) {
		err = create_queue(&k->q, k->options.queue, &k->options.create);
		return err ? complain_create(k->options.queue, &k->options.create, err) : STATUS_OK;
	}
	saved->create_flags |= KWQ_CREATE_CHANGES | (k->options.sync ? KWQ_CREATE_SYNC : 0);
	err = saved_queue_create(&k->q, saved, k->options.queue);
	return err ? complain(k->options.queue, err) : STATUS_OK;
}

/* Notes that the queue gets the state of the file, and pauses it until then. */
static int begin_into(struct keeper *k)
{
	struct kept_queue kept = k->kept;
	int err;

	kept.into = k->id;
	if (put_queue_alone(k, &kept) != KEEP_OK)
		return complain_file(k);
	err = kwq_pause(k->q);
	return err ? complain(k->options.queue, err) : STATUS_OK;
}

/* Restores all items of the file. Returns an exit status. */
static int restore(struct keeper *k)
{
	struct kwq_config config = { .size = sizeof(config) };
	struct restorer *r = &k->restorer;
	enum keep_result result;
	struct saved_item item;
	uint64_t now = 0;
	bool end = false;
	int err;

	err = kwq_config(k->q, &config);
	if (err)
		return complain(k->options.queue, err);
	restore_begin(r, k->q, k->options.queue);
	result = keep_file_begin_items(k->file);
	while (result == KEEP_OK && !err) {
		/* A batch is of one time, so that items keep their order by age. */
		if (!r->nr)
			now = read_clock(CLOCK_REALTIME);
		result = keep_file_next(k->file, &item, restore_room(r), now, &end);
		if (result != KEEP_OK || end)
			break;
		saved_item_lose(&item, config.dead_after_lost);
		err = restore_item(r, &item);
	}
	if (result != KEEP_OK)
		return complain_file(k);
	if (!err)
		err = restore_end(r);
	if (err)
		return complain(k->options.queue, err);
	if (r->refused) {
		message("%s: it refused %llu keys of %s, which stays as it is: %s",
			k->options.queue, (unsigned long long)r->refused, k->options.path,
			meaning(r->why));
		return status_of(r->why);
	}
	if (k->options.verbose) {
		print_escaped(stdout, k->options.queue, strlen(k->options.queue));
		printf(": %llu restored, %llu were there already\n",
		       (unsigned long long)r->restored, (unsigned long long)r->there);
	}
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* Restores what the file has and the queue lacks. Returns an exit status. */
static int restore_lacking(struct keeper *k, bool is_new)
{
	enum keep_result result;
	uint32_t needs;
	uint64_t nr;
	int status;

	result = keep_file_count(k->file, &nr, &needs);
	if (result != KEEP_OK)
		return complain_file(k);
	if (!saved_queue_can_have(k->q, needs, k->options.queue))
		return STATUS_FAILED;
	status = is_new || k->kept.into ? begin_into(k) : STATUS_OK;
	if (!status)
		status = restore(k);
	return status ? status : follow_again(k);
}

/* Reads the file's queue. Returns an exit status. */
static int read_file(struct keeper *k)
{
	if (keep_file_get_queue(k->file, &k->kept, read_clock(CLOCK_REALTIME)) != KEEP_OK)
		return complain_file(k);
	if (!strcmp(k->kept.saved.name, k->options.queue))
		return STATUS_OK;
	message("%s: it has the queue %s, not %s: name another FILE", k->options.path,
		k->kept.saved.name, k->options.queue);
	return STATUS_FAILED;
}

static int start(struct keeper *k)
{
	bool has_file, is_new = false;
	int status, err;

	if (keep_file_open(&k->file, k->options.path) != KEEP_OK)
		return complain_file(k);
	has_file = !keep_file_is_new(k->file);
	status = has_file ? read_file(k) : STATUS_OK;
	if (status)
		return status;
	err = kwq_open(&k->q, k->options.queue, KWQ_RIGHTS_ALL, O_CLOEXEC);
	if (err == -ENOENT) {
		is_new = true;
		status = create(k, has_file);
		if (status)
			return status;
	} else if (err) {
		return complain_open(k->options.queue, err);
	}
	status = check_queue(k);
	if (!status)
		status = follow(k);
	if (k->kept.into != k->id && !is_new)
		k->kept.into = 0;
	if (status || !has_file || k->kept.id == k->id)
		return status;
	return restore_lacking(k, is_new);
}

int keeper_start(struct keeper **keeper, const struct keeper_options *options)
{
	struct keeper *k = calloc(1, sizeof(*k));

	*keeper = k;
	if (!k)
		return complain("memory", -ENOMEM);
	k->options = *options;
	return start(k);
}

int keeper_finish(struct keeper *k, uint64_t now)
{
	enum keeper_step step = KEEPER_MORE;

	/* Changes until now, and those that were committed before. */
	if (keeper_is_ready(k))
		step = read_and_write(k, now);
	if (step == KEEPER_ENDED)
		return STATUS_OK;
	if (step == KEEPER_FAILED || step == KEEPER_LATER)
		return STATUS_FAILED;
	if (k->unsynced && sync_file(k, now) != KEEPER_MORE)
		return STATUS_FAILED;
	/* Tells the queue. The changes that this call reads are left to the next follower. */
	if (keeper_is_ready(k))
		kwq_changes(k->q, &k->changes);
	return STATUS_OK;
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	keep_file_close(k->file);
	kwq_close(k->q);
	free(k);
}
