// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The file of kwq keep is an SQLite database in WAL mode: a commit appends to FILE-wal, and
 * now and then a checkpoint copies from there to FILE. SQLite documents this at
 * https://www.sqlite.org/wal.html and https://www.sqlite.org/pragma.html#pragma_synchronous.
 * What survives:
 *
 * - The death of this process: every commit. The commit's write(2) has put it into the page cache.
 * - A crash of the kernel, and a power cut: every commit up to the last sync. With synchronous=FULL
 *   a commit ends with a sync of FILE-wal, which covers all commits before it. With
 *   synchronous=NORMAL it ends without one. Some of the later commits may survive, from the first
 *   on. Each frame of FILE-wal has a checksum that goes on from the frame before, and recovery
 *   stops at the first wrong one. So the file is always one that was committed.
 * - The same during a checkpoint. It syncs FILE-wal before it writes to FILE. It syncs FILE before
 *   FILE-wal is used anew. The next open recovers from FILE-wal.
 *
 * A disk that does not write what it was told to sync breaks these promises.
 *
 * A sync that fails is not tried again as such. After an error the kernel may take pages as clean
 * that are not on the disk (fsync(2)), and a second sync would succeed without them. So after an
 * error of the disk a sync is a checkpoint, which writes all pages to FILE anew.
 *
 * SQLite is loaded by kwq keep alone, so that other commands start fast. A static kwq is linked
 * with it.
 */
#include "keep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cmd.h"
#include "base/library.h"

/* ---- SQLite --------------------------------------------------------------- */

/* The functions of SQLite. */
struct sqlite {
	__typeof__(sqlite3_bind_blob) *bind_blob;
	__typeof__(sqlite3_bind_int64) *bind_int64;
	__typeof__(sqlite3_bind_null) *bind_null;
	__typeof__(sqlite3_bind_text) *bind_text;
	__typeof__(sqlite3_busy_timeout) *busy_timeout;
	__typeof__(sqlite3_clear_bindings) *clear_bindings;
	__typeof__(sqlite3_close) *close;
	__typeof__(sqlite3_column_blob) *column_blob;
	__typeof__(sqlite3_column_bytes) *column_bytes;
	__typeof__(sqlite3_column_int64) *column_int64;
	__typeof__(sqlite3_column_text) *column_text;
	__typeof__(sqlite3_column_type) *column_type;
	__typeof__(sqlite3_errmsg) *errmsg;
	__typeof__(sqlite3_exec) *exec;
	__typeof__(sqlite3_extended_errcode) *extended_errcode;
	__typeof__(sqlite3_extended_result_codes) *extended_result_codes;
	__typeof__(sqlite3_finalize) *finalize;
	__typeof__(sqlite3_get_autocommit) *get_autocommit;
	__typeof__(sqlite3_open_v2) *open_v2;
	__typeof__(sqlite3_prepare_v2) *prepare_v2;
	__typeof__(sqlite3_reset) *reset;
	__typeof__(sqlite3_step) *step;
	__typeof__(sqlite3_system_errno) *system_errno;
	__typeof__(sqlite3_wal_checkpoint_v2) *wal_checkpoint_v2;
};

#ifdef SQLITE_SONAME
static struct sqlite sqlite;

static const struct library_function functions[] = {
#define FUNCTION(name) { "sqlite3_" #name, (void **)&sqlite.name }
	FUNCTION(bind_blob), FUNCTION(bind_int64), FUNCTION(bind_null), FUNCTION(bind_text),
	FUNCTION(busy_timeout), FUNCTION(clear_bindings), FUNCTION(close), FUNCTION(column_blob),
	FUNCTION(column_bytes), FUNCTION(column_int64), FUNCTION(column_text),
	FUNCTION(column_type), FUNCTION(errmsg), FUNCTION(exec), FUNCTION(extended_errcode),
	FUNCTION(extended_result_codes), FUNCTION(finalize), FUNCTION(get_autocommit),
	FUNCTION(open_v2), FUNCTION(prepare_v2), FUNCTION(reset), FUNCTION(step),
	FUNCTION(system_errno), FUNCTION(wal_checkpoint_v2),
#undef FUNCTION
};

const char *keep_file_load(void)
{
	return library_load(SQLITE_SONAME, functions, ARRAY_SIZE(functions));
}
#else
static const struct sqlite sqlite = {
#define FUNCTION(name) .name = sqlite3_##name
	FUNCTION(bind_blob), FUNCTION(bind_int64), FUNCTION(bind_null), FUNCTION(bind_text),
	FUNCTION(busy_timeout), FUNCTION(clear_bindings), FUNCTION(close), FUNCTION(column_blob),
	FUNCTION(column_bytes), FUNCTION(column_int64), FUNCTION(column_text),
	FUNCTION(column_type), FUNCTION(errmsg), FUNCTION(exec), FUNCTION(extended_errcode),
	FUNCTION(extended_result_codes), FUNCTION(finalize), FUNCTION(get_autocommit),
	FUNCTION(open_v2), FUNCTION(prepare_v2), FUNCTION(reset), FUNCTION(step),
	FUNCTION(system_errno), FUNCTION(wal_checkpoint_v2),
#undef FUNCTION
};

/*
 * SQLite can load extensions, and kwq keep has none. A static program that refers to dlopen(3) gets
 * a warning of the linker, so the references are replaced (--wrap).
 */
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL;
}

const char *keep_file_load(void)
{
	return NULL;
}
#endif

/* ---- The tables ----------------------------------------------------------- */

/* "kwqk". A change of any table needs a new version. */
enum { APPLICATION = 0x6b77716b, VERSION = 1 };

/*
 * All times that are not of the configuration are ns since 1970. So what is left of a wait is right
 * after a time without power, too. Numbers of 64 bits keep their bits, so those above 2^63 look
 * negative.
 *
 * queue.id is that of the queue whose items these are. queue.into_id is that of a queue that is
 * being made equal to them. item.list is the number of the list that wrote the item, or that came
 * before. queue.list is the number of the last list that came to its end.
 */
static const char schema[] =
	"PRAGMA application_id = 0x6b77716b;"
	"PRAGMA user_version = 1;"
	"CREATE TABLE queue (only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL,"
	" id INTEGER, into_id INTEGER, list INTEGER, ended INTEGER, shut_down INTEGER,"
	" paused INTEGER, paused_until INTEGER, create_flags INTEGER, clock INTEGER,"
	" max_items INTEGER, max_bytes INTEGER, lease INTEGER, aging INTEGER, group_limit INTEGER,"
	" mode INTEGER, uid INTEGER, gid INTEGER, config_flags INTEGER, max_wait INTEGER,"
	" forget_after INTEGER, dead_after INTEGER, dead_after_lost INTEGER, written_at INTEGER);"
	"CREATE TABLE limiter (position INTEGER PRIMARY KEY, kind INTEGER,"
	" a INTEGER, b INTEGER, c INTEGER, d INTEGER, e INTEGER);"
	"CREATE TABLE item (key BLOB NOT NULL UNIQUE, grp BLOB, value BLOB, note BLOB, state INTEGER,"
	" rank INTEGER, place INTEGER, priority INTEGER, wait_priority INTEGER,"
	" requeues INTEGER, abandoned INTEGER, ready_since INTEGER, waiting_since INTEGER,"
	" due_at INTEGER, dead_since INTEGER, token INTEGER, list INTEGER);"
	"CREATE TABLE synced (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER);"
	"INSERT INTO synced VALUES (1, 0);";

enum statement {
	GET_QUEUE, PUT_QUEUE, GET_LIMITERS, REMOVE_LIMITERS, PUT_LIMITER, PUT_ITEM, REMOVE_ITEM,
	GET_LIST, PUT_LIST, REMOVE_UNLISTED, SORT_ITEMS, GET_ITEM, COUNT_ITEMS, FIND_ITEM,
	PUT_SYNCED,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[GET_QUEUE] =
	"SELECT name, id, into_id, ended, shut_down, paused, paused_until, create_flags, clock,"
	" max_items, max_bytes, lease, aging, group_limit, mode, uid, gid, config_flags, max_wait,"
	" forget_after, dead_after, dead_after_lost FROM queue",
	[PUT_QUEUE] =
	"INSERT INTO queue (only, list, name, id, into_id, ended, shut_down, paused, paused_until,"
	" create_flags, clock, max_items, max_bytes, lease, aging, group_limit, mode, uid, gid,"
	" config_flags, max_wait, forget_after, dead_after, dead_after_lost, written_at)"
	" VALUES (1, 0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
	" ?17, ?18, ?19, ?20, ?21, ?22, ?23)"
	" ON CONFLICT (only) DO UPDATE SET name = ?1, id = ?2, into_id = ?3, ended = ?4,"
	" shut_down = ?5, paused = ?6, paused_until = ?7, create_flags = ?8, clock = ?9,"
	" max_items = ?10, max_bytes = ?11, lease = ?12, aging = ?13, group_limit = ?14,"
	" mode = ?15, uid = ?16, gid = ?17, config_flags = ?18, max_wait = ?19,"
	" forget_after = ?20, dead_after = ?21, dead_after_lost = ?22, written_at = ?23",
	[GET_LIMITERS] = "SELECT kind, a, b, c, d, e FROM limiter ORDER BY position",
	[REMOVE_LIMITERS] = "DELETE FROM limiter",
	[PUT_LIMITER] = "INSERT INTO limiter VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[PUT_ITEM] =
	"INSERT INTO item (key, grp, value, state, rank, place, priority, wait_priority, requeues,"
	" abandoned, ready_since, waiting_since, due_at, dead_since, token, list, note)"
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
	" ON CONFLICT (key) DO UPDATE SET grp = ?2, value = ?3, state = ?4, rank = ?5, place = ?6,"
	" priority = ?7, wait_priority = ?8, requeues = ?9, abandoned = ?10, ready_since = ?11,"
	" waiting_since = ?12, due_at = ?13, dead_since = ?14, token = ?15,"
	" list = ?16, note = ?17",
	[REMOVE_ITEM] = "DELETE FROM item WHERE key = ?1",
	[GET_LIST] = "SELECT list FROM queue",
	[PUT_LIST] = "UPDATE queue SET list = ?1",
	[REMOVE_UNLISTED] = "DELETE FROM item WHERE list <> ?1",
	[SORT_ITEMS] = "SELECT rowid FROM item ORDER BY rank, place, rowid",
	[GET_ITEM] =
	("SELECT key, grp, value, note, state, priority, wait_priority, requeues, abandoned,"
	 " ready_since, waiting_since, due_at, dead_since, token FROM item WHERE rowid = ?1"),
	[COUNT_ITEMS] =
	("SELECT count(*), total(value IS NOT NULL OR note IS NOT NULL) > 0,"
	 " total(grp IS NOT NULL) > 0 FROM item"),
	[FIND_ITEM] = "SELECT 1 FROM item LIMIT 1",
	[PUT_SYNCED] = "UPDATE synced SET number = number + 1",
};

/*
 * @lock: FILE, for as long as this process keeps it. It must stay open: a close(2) of any
 *	descriptor of FILE would drop the locks of SQLite, which belong to the process.
 * @made: this process has made the file
 * @full: synchronous is FULL
 * @distrust: FILE-wal may lack on the disk what a sync has told to be there
 * @list: the number of the list that is being written, or was last
 */
struct keep_file {
	sqlite3 *db;
	char *path;
	int lock;
	bool is_new, made, full, distrust;
	int64_t list;
	struct sqlite3_stmt *statements[STATEMENTS];
	char why[400];
};

/* ---- Errors --------------------------------------------------------------- */

const char *keep_file_why(const struct keep_file *file)
{
	return file->why;
}

static enum keep_result broken(struct keep_file *file, const char *why)
{
	snprintf(file->why, sizeof(file->why), "%s", why);
	return KEEP_BROKEN;
}

/* For an error of a system call. */
static enum keep_result fail_errno(struct keep_file *file)
{
	return broken(file, strerror(errno));
}

static enum keep_result later(struct keep_file *file, const char *why)
{
	snprintf(file->why, sizeof(file->why), "%s", why);
	return KEEP_LATER;
}

/* For an error of SQLite. */
static enum keep_result fail(struct keep_file *file)
{
	int err = sqlite.extended_errcode(file->db);

	switch (err & 0xff) {
	case SQLITE_FULL:
		return later(file, "there is no room on the disk");
	case SQLITE_READONLY:
		return later(file, "it is read-only, or its file system is");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return later(file, "another program is writing to it");
	case SQLITE_CORRUPT:
		snprintf(file->why, sizeof(file->why), "damaged (%s): put a copy of it back, or move "
			 "it away to begin with the keys that the queue has now",
			 sqlite.errmsg(file->db));
		return KEEP_BROKEN;
	case SQLITE_NOTADB:
		return broken(file, "not a file of kwq keep: name another FILE");
	case SQLITE_IOERR:
		file->distrust = true;
		break;
	}
	/* SQLite's words for most errors of the disk name no cause. */
	snprintf(file->why, sizeof(file->why), "%s (%s; SQLite's error %d)",
		 sqlite.errmsg(file->db), strerror(sqlite.system_errno(file->db)), err);
	return KEEP_LATER;
}

/* ---- Statements ----------------------------------------------------------- */

static enum keep_result exec(struct keep_file *file, const char *text)
{
	return sqlite.exec(file->db, text, NULL, NULL, NULL) == SQLITE_OK ? KEEP_OK : fail(file);
}

/* Returns a statement without values, or NULL. */
static sqlite3_stmt *statement(struct keep_file *file, enum statement which)
{
	sqlite3_stmt **s = &file->statements[which];

	if (!*s && sqlite.prepare_v2(file->db, texts[which], -1, s, NULL) != SQLITE_OK)
		return NULL;
	sqlite.reset(*s);
	sqlite.clear_bindings(*s);
	return *s;
}

/* Ends a statement that returns no rows. */
static enum keep_result run(struct keep_file *file, sqlite3_stmt *s)
{
	enum keep_result result = sqlite.step(s) == SQLITE_DONE ? KEEP_OK : fail(file);

	sqlite.reset(s);
	return result;
}

/* Sets *@is_row to whether there is a row. */
static enum keep_result row(struct keep_file *file, sqlite3_stmt *s, bool *is_row)
{
	int ret = sqlite.step(s);

	*is_row = ret == SQLITE_ROW;
	return ret == SQLITE_ROW || ret == SQLITE_DONE ? KEEP_OK : fail(file);
}

/* The first column of the first row of a text; 0 if there is none. */
static enum keep_result number(struct keep_file *file, const char *text, int64_t *to)
{
	enum keep_result result;
	sqlite3_stmt *s;
	bool is_row;

	if (sqlite.prepare_v2(file->db, text, -1, &s, NULL) != SQLITE_OK)
		return fail(file);
	result = row(file, s, &is_row);
	*to = is_row ? sqlite.column_int64(s, 0) : 0;
	sqlite.finalize(s);
	return result;
}

/* A blob, or NULL if it is empty. */
static void bind_bytes(sqlite3_stmt *s, int column, const void *bytes, size_t len)
{
	if (len)
		sqlite.bind_blob(s, column, bytes, len, SQLITE_STATIC);
	else
		sqlite.bind_null(s, column);
}

/* ---- Opening -------------------------------------------------------------- */

static enum keep_result lock(struct keep_file *file)
{
	struct stat st;

	file->lock = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	file->made = file->lock >= 0;
	if (file->lock < 0 && errno == EEXIST)
		file->lock = open(file->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	/* The first sync of FILE-wal writes its folder, too, and so this name. */
	if (file->lock < 0 || fstat(file->lock, &st))
		return fail_errno(file);
	if (!S_ISREG(st.st_mode))
		return broken(file, "not a file of kwq keep: name another FILE");
	if (!flock(file->lock, LOCK_EX | LOCK_NB))
		return KEEP_OK;
	if (errno == EWOULDBLOCK)
		return broken(file, "another kwq keep has it: stop that one first");
	return fail_errno(file);
}

static enum keep_result check_pages(struct keep_file *file)
{
	enum keep_result result;
	const char *text;
	sqlite3_stmt *s;
	bool is_row;

	if (sqlite.prepare_v2(file->db, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK)
		return fail(file);
	result = row(file, s, &is_row);
	text = is_row ? (const char *)sqlite.column_text(s, 0) : NULL;
	if (result == KEEP_OK && (!text || strcmp(text, "ok"))) {
		snprintf(file->why, sizeof(file->why), "damaged (%.200s): put a copy of it back, or "
			 "move it away to begin with the keys that the queue has now",
			 text ? text : "no answer");
		result = KEEP_BROKEN;
	}
	sqlite.finalize(s);
	return result;
}

/* Whose file is it? */
static enum keep_result check_kind(struct keep_file *file)
{
	int64_t application, version, tables;
	enum keep_result result;

	result = number(file, "PRAGMA application_id", &application);
	if (result == KEEP_OK)
		result = number(file, "PRAGMA user_version", &version);
	if (result == KEEP_OK)
		result = number(file, "SELECT count(*) FROM sqlite_master", &tables);
	if (result != KEEP_OK)
		return result;
	/* A process that died before its first commit leaves a file without tables. */
	file->is_new = !application && !version && !tables;
	if (file->is_new)
		return KEEP_OK;
	if (application != APPLICATION)
		return broken(file, "an SQLite file, but not one of kwq keep: name another FILE");
	if (version != VERSION)
		return broken(file, "written by a newer kwq: install that one");
	return check_pages(file);
}

static enum keep_result set_mode(struct keep_file *file)
{
	enum keep_result result = KEEP_OK;
	const char *text;
	sqlite3_stmt *s;
	bool is_row;

	/* The journal of this change has to be gone from the disk before FILE-wal is there. */
	if (exec(file, "PRAGMA synchronous = EXTRA") != KEEP_OK)
		return fail(file);
	if (sqlite.prepare_v2(file->db, "PRAGMA journal_mode = WAL", -1, &s, NULL) != SQLITE_OK)
		return fail(file);
	result = row(file, s, &is_row);
	text = is_row ? (const char *)sqlite.column_text(s, 0) : NULL;
	if (result == KEEP_OK && (!text || strcmp(text, "wal")))
		result = broken(file, "its file system cannot have SQLite's write-ahead log: use a local one");
	sqlite.finalize(s);
	file->full = true;
	return result == KEEP_OK ? exec(file, "PRAGMA synchronous = FULL") : result;
}

static enum keep_result open_database(struct keep_file *file)
{
	enum keep_result result;
	char *path;
	int ret;

	/* SQLite knows names that are no files, such as ":memory:". */
	if (asprintf(&path, "%s%s", *file->path == '/' ? "" : "./", file->path) < 0)
		exit(complain("memory", -ENOMEM));
	ret = sqlite.open_v2(path, &file->db, SQLITE_OPEN_READWRITE, NULL);
	free(path);
	if (ret != SQLITE_OK) {
		if (!file->db)
			exit(complain("memory", -ENOMEM));
		return fail(file);
	}
	sqlite.extended_result_codes(file->db, 1);
	sqlite.busy_timeout(file->db, 1000);
	result = check_kind(file);
	return result == KEEP_OK ? set_mode(file) : result;
}

enum keep_result keep_file_open(struct keep_file **to, const char *path)
{
	struct keep_file *file = calloc(1, sizeof(*file));
	enum keep_result result;

	if (file)
		file->path = strdup(path);
	if (!file || !file->path)
		exit(complain("memory", -ENOMEM));
	*to = file;
	result = lock(file);
	return result == KEEP_OK ? open_database(file) : result;
}

void keep_file_close(struct keep_file *file)
{
	int i;

	if (!file)
		return;
	for (i = 0; i < STATEMENTS; i++)
		if (file->statements[i])
			sqlite.finalize(file->statements[i]);
	if (file->db)
		sqlite.close(file->db);
	if (file->made && file->is_new)
		unlink(file->path);
	if (file->lock >= 0)
		close(file->lock);
	free(file->path);
	free(file);
}

bool keep_file_is_new(const struct keep_file *file)
{
	return file->is_new;
}

/* ---- Transactions --------------------------------------------------------- */

static enum keep_result set_full(struct keep_file *file, bool full)
{
	enum keep_result result;

	if (file->full == full)
		return KEEP_OK;
	result = exec(file, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
	if (result == KEEP_OK)
		file->full = full;
	return result;
}

/* Writes all that was committed to FILE itself. */
static enum keep_result checkpoint(struct keep_file *file)
{
	int ret = sqlite.wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	if (ret != SQLITE_OK)
		return fail(file);
	file->distrust = false;
	return KEEP_OK;
}

enum keep_result keep_file_begin(struct keep_file *file, bool synced)
{
	enum keep_result result = synced && file->distrust ? checkpoint(file) : KEEP_OK;

	if (result == KEEP_OK)
		result = set_full(file, synced);
	if (result == KEEP_OK)
		result = exec(file, "BEGIN IMMEDIATE");
	if (result != KEEP_OK || !file->is_new)
		return result;
	result = exec(file, schema);
	if (result != KEEP_OK)
		keep_file_rollback(file);
	return result;
}

enum keep_result keep_file_commit(struct keep_file *file)
{
	enum keep_result result = exec(file, "COMMIT");

	if (result != KEEP_OK) {
		keep_file_rollback(file);
		return result;
	}
	file->is_new = false;
	return KEEP_OK;
}

void keep_file_rollback(struct keep_file *file)
{
	int i;

	for (i = 0; i < STATEMENTS; i++)
		if (file->statements[i])
			sqlite.reset(file->statements[i]);
	/* SQLite has rolled back by itself after some errors. */
	if (!sqlite.get_autocommit(file->db))
		sqlite.exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}

enum keep_result keep_file_sync(struct keep_file *file)
{
	enum keep_result result;
	sqlite3_stmt *s;

	if (file->distrust)
		return checkpoint(file);
	/* The sync at the end of this commit covers those before it. */
	result = keep_file_begin(file, true);
	if (result != KEEP_OK)
		return result;
	s = statement(file, PUT_SYNCED);
	result = s ? run(file, s) : fail(file);
	if (result == KEEP_OK)
		return keep_file_commit(file);
	keep_file_rollback(file);
	return result;
}

/* ---- The queue ------------------------------------------------------------ */

/* The parameters of a limiter, by its kind. Returns false for a kind that is not known. */
static bool limiter_to_numbers(const struct kwq_limiter *l, int64_t to[5])
{
	memset(to, 0, 5 * sizeof(to[0]));
	switch (l->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		to[0] = l->u.exponential.base;
		to[1] = l->u.exponential.max;
		return true;
	case KWQ_LIMITER_FAST_SLOW:
		to[0] = l->u.fast_slow.fast;
		to[1] = l->u.fast_slow.slow;
		to[2] = l->u.fast_slow.nr_fast;
		return true;
	case KWQ_LIMITER_BUCKET:
		to[0] = l->u.bucket.period;
		to[1] = l->u.bucket.events;
		to[2] = l->u.bucket.burst;
		return true;
	case KWQ_LIMITER_BACKOFF:
		to[0] = l->u.backoff.duration;
		to[1] = l->u.backoff.cap;
		to[2] = l->u.backoff.factor;
		to[3] = l->u.backoff.jitter;
		to[4] = l->u.backoff.steps;
		return true;
	}
	return false;
}

static void limiter_from_numbers(struct kwq_limiter *l, uint32_t kind, const int64_t from[5])
{
	*l = (struct kwq_limiter){ .kind = kind };
	switch (kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		l->u.exponential.base = from[0];
		l->u.exponential.max = from[1];
		break;
	case KWQ_LIMITER_FAST_SLOW:
		l->u.fast_slow.fast = from[0];
		l->u.fast_slow.slow = from[1];
		l->u.fast_slow.nr_fast = from[2];
		break;
	case KWQ_LIMITER_BUCKET:
		l->u.bucket.period = from[0];
		l->u.bucket.events = from[1];
		l->u.bucket.burst = from[2];
		break;
	case KWQ_LIMITER_BACKOFF:
		l->u.backoff.duration = from[0];
		l->u.backoff.cap = from[1];
		l->u.backoff.factor = from[2];
		l->u.backoff.jitter = from[3];
		l->u.backoff.steps = from[4];
		break;
	}
}

static enum keep_result put_limiters(struct keep_file *file, const struct saved_queue *queue)
{
	enum keep_result result;
	int64_t numbers[5];
	sqlite3_stmt *s;
	unsigned int i, j;

	s = statement(file, REMOVE_LIMITERS);
	result = s ? run(file, s) : fail(file);
	for (i = 0; i < queue->config.nr && result == KEEP_OK; i++) {
		if (!limiter_to_numbers(&queue->limiters[i], numbers))
			return broken(file, "the queue has a limiter that this kwq does not know");
		s = statement(file, PUT_LIMITER);
		if (!s)
			return fail(file);
		sqlite.bind_int64(s, 1, i);
		sqlite.bind_int64(s, 2, queue->limiters[i].kind);
		for (j = 0; j < ARRAY_SIZE(numbers); j++)
			sqlite.bind_int64(s, 3 + j, numbers[j]);
		result = run(file, s);
	}
	return result;
}

static enum keep_result get_limiters(struct keep_file *file, struct saved_queue *queue)
{
	sqlite3_stmt *s = statement(file, GET_LIMITERS);
	enum keep_result result;
	int64_t numbers[5];
	unsigned int j;
	bool is_row;

	if (!s)
		return fail(file);
	while ((result = row(file, s, &is_row)) == KEEP_OK && is_row) {
		if (queue->config.nr == KWQ_LIMITERS_MAX)
			break;
		for (j = 0; j < ARRAY_SIZE(numbers); j++)
			numbers[j] = sqlite.column_int64(s, 1 + j);
		limiter_from_numbers(&queue->limiters[queue->config.nr++],
				     sqlite.column_int64(s, 0), numbers);
	}
	sqlite.reset(s);
	return result;
}

enum keep_result keep_file_put_queue(struct keep_file *file, const struct kept_queue *queue,
				     uint64_t now)
{
	const struct saved_queue *q = &queue->saved;
	sqlite3_stmt *s = statement(file, PUT_QUEUE);
	const int64_t numbers[] = {
		queue->id, queue->into, queue->ended, !!(q->state & KWQ_STATE_SHUT_DOWN),
		!!(q->state & KWQ_STATE_PAUSED), 0, q->create_flags, q->clockid, q->max_items,
		q->max_bytes, q->lease, q->aging, q->group_limit, q->mode, q->uid, q->gid,
		q->config.flags, q->config.max_wait, q->config.forget_after, q->config.dead_after,
		q->config.dead_after_lost, now,
	};
	enum keep_result result;
	size_t i;

	if (!s)
		return fail(file);
	sqlite.bind_text(s, 1, q->name, -1, SQLITE_STATIC);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		sqlite.bind_int64(s, 2 + i, numbers[i]);
	/* When the pause ends; NULL for never. */
	if (q->state & KWQ_STATE_PAUSED && q->paused_for != UINT64_MAX)
		sqlite.bind_int64(s, 7, now + q->paused_for);
	else
		sqlite.bind_null(s, 7);
	result = run(file, s);
	return result == KEEP_OK ? put_limiters(file, q) : result;
}

/* A pause that ends at a time. One that is over is none. */
static void set_pause(struct saved_queue *q, bool is_timed, uint64_t until, uint64_t now)
{
	q->paused_for = UINT64_MAX;
	if (!is_timed)
		return;
	q->paused_for = until > now ? until - now : 0;
	if (!q->paused_for)
		q->state &= ~KWQ_STATE_PAUSED;
}

static enum keep_result read_queue(struct keep_file *file, sqlite3_stmt *s,
				   struct kept_queue *queue, uint64_t now)
{
	const char *name = (const char *)sqlite.column_text(s, 0);
	struct saved_queue *q = &queue->saved;
	int at = 1;

	if (!name || strlen(name) > KWQ_NAME_MAX)
		return broken(file, "damaged: the name of its queue");
	memcpy(q->name, name, strlen(name));
	queue->id = sqlite.column_int64(s, at++);
	queue->into = sqlite.column_int64(s, at++);
	queue->ended = sqlite.column_int64(s, at++);
	q->state = sqlite.column_int64(s, at++) ? KWQ_STATE_SHUT_DOWN : 0;
	q->state |= sqlite.column_int64(s, at++) ? KWQ_STATE_PAUSED : 0;
	if (q->state & KWQ_STATE_PAUSED)
		set_pause(q, sqlite.column_type(s, at) != SQLITE_NULL, sqlite.column_int64(s, at),
			  now);
	at++;
	q->create_flags = sqlite.column_int64(s, at++);
	q->clockid = sqlite.column_int64(s, at++);
	q->max_items = sqlite.column_int64(s, at++);
	q->max_bytes = sqlite.column_int64(s, at++);
	q->lease = sqlite.column_int64(s, at++);
	q->aging = sqlite.column_int64(s, at++);
	q->group_limit = sqlite.column_int64(s, at++);
	q->mode = sqlite.column_int64(s, at++);
	q->uid = sqlite.column_int64(s, at++);
	q->gid = sqlite.column_int64(s, at++);
	q->config.size = sizeof(q->config);
	q->config.flags = sqlite.column_int64(s, at++);
	q->config.max_wait = sqlite.column_int64(s, at++);
	q->config.forget_after = sqlite.column_int64(s, at++);
	q->config.dead_after = sqlite.column_int64(s, at++);
	q->config.dead_after_lost = sqlite.column_int64(s, at++);
	return get_limiters(file, q);
}

enum keep_result keep_file_get_queue(struct keep_file *file, struct kept_queue *queue, uint64_t now)
{
	sqlite3_stmt *s = statement(file, GET_QUEUE);
	enum keep_result result;
	bool is_row;

	memset(queue, 0, sizeof(*queue));
	if (!s)
		return fail(file);
	result = row(file, s, &is_row);
	if (result == KEEP_OK && !is_row)
		result = broken(file, "damaged: it has no queue");
	if (result == KEEP_OK)
		result = read_queue(file, s, queue, now);
	sqlite.reset(s);
	return result;
}

/* ---- Items ---------------------------------------------------------------- */

/* The states in which an item has an age of being ready, as saved_item_of() has it. */
#define READY_STATES	(KWQ_IS_READY | KWQ_IS_PROCESSING)

static void bind_since(sqlite3_stmt *s, int column, bool is_set, uint64_t age, uint64_t now)
{
	if (is_set && age != KWQ_AGE_UNKNOWN)
		sqlite.bind_int64(s, column, now > age ? now - age : 0);
	else
		sqlite.bind_null(s, column);
}

/* Ready items have orders near 2^63, which would not sort as numbers with a sign. */
static int64_t place_of(const struct saved_item *item)
{
	return item->order_of == KWQ_IS_READY ? (int64_t)(item->order - INT64_MAX) :
						(int64_t)item->order;
}

/* The time after a duration. Neither is beyond the end of SQLite's numbers. */
static int64_t after(uint64_t now, uint64_t duration)
{
	return duration < INT64_MAX - now ? (int64_t)(now + duration) : INT64_MAX;
}

enum keep_result keep_file_put_item(struct keep_file *file, const struct saved_item *item,
				    const void *bytes, uint64_t now)
{
	const unsigned char *key = bytes, *group = key + item->key_len;
	const unsigned char *value = group + item->group_len;
	sqlite3_stmt *s = statement(file, PUT_ITEM);
	bool waits = item->state & KWQ_IS_WAITING;

	if (!s)
		return fail(file);
	bind_bytes(s, 1, key, item->key_len);
	bind_bytes(s, 2, group, item->group_len);
	bind_bytes(s, 3, value, item->value_len);
	bind_bytes(s, 17, value + item->value_len, item->note_len);
	sqlite.bind_int64(s, 4, item->state);
	sqlite.bind_int64(s, 5, saved_rank(item));
	sqlite.bind_int64(s, 6, place_of(item));
	sqlite.bind_int64(s, 7, item->priority);
	sqlite.bind_int64(s, 8, item->wait_priority);
	sqlite.bind_int64(s, 9, item->requeues);
	sqlite.bind_int64(s, 10, item->abandoned);
	bind_since(s, 11, item->state & READY_STATES, item->dirty_for, now);
	bind_since(s, 12, waits, item->waiting_for, now);
	if (waits)
		sqlite.bind_int64(s, 13, after(now, item->due_in));
	bind_since(s, 14, item->state & KWQ_IS_DEAD, item->dead_for, now);
	sqlite.bind_int64(s, 15, item->token);
	sqlite.bind_int64(s, 16, file->list);
	return run(file, s);
}

enum keep_result keep_file_remove_item(struct keep_file *file, const void *key, size_t len)
{
	sqlite3_stmt *s = statement(file, REMOVE_ITEM);

	if (!s)
		return fail(file);
	bind_bytes(s, 1, key, len);
	return run(file, s);
}

/* Reads the number of the last list. */
static enum keep_result read_list(struct keep_file *file)
{
	sqlite3_stmt *s = statement(file, GET_LIST);
	enum keep_result result;
	bool is_row;

	if (!s)
		return fail(file);
	result = row(file, s, &is_row);
	file->list = is_row ? sqlite.column_int64(s, 0) : 0;
	sqlite.reset(s);
	return result;
}

enum keep_result keep_file_begin_list(struct keep_file *file)
{
	enum keep_result result = read_list(file);

	file->list++;
	return result;
}

enum keep_result keep_file_end_list(struct keep_file *file)
{
	sqlite3_stmt *s = statement(file, REMOVE_UNLISTED);
	enum keep_result result;

	if (!s)
		return fail(file);
	sqlite.bind_int64(s, 1, file->list);
	result = run(file, s);
	if (result != KEEP_OK)
		return result;
	s = statement(file, PUT_LIST);
	if (!s)
		return fail(file);
	sqlite.bind_int64(s, 1, file->list);
	return run(file, s);
}

enum keep_result keep_file_begin_items(struct keep_file *file)
{
	return statement(file, SORT_ITEMS) ? KEEP_OK : fail(file);
}

static uint64_t age(sqlite3_stmt *s, int column, bool is_set, uint64_t now)
{
	uint64_t since = sqlite.column_int64(s, column);

	if (!is_set)
		return 0;
	if (sqlite.column_type(s, column) == SQLITE_NULL)
		return KWQ_AGE_UNKNOWN;
	return now > since ? now - since : 0;
}

/*
 * The rest of a wait. If the wall clock went back, as that of a machine without a battery does,
 * it is not more than the whole wait was.
 */
static uint64_t left_of(uint64_t due_at, uint64_t since, uint64_t now)
{
	uint64_t left = due_at > now ? due_at - now : 0;

	return due_at > since && left > due_at - since ? due_at - since : left;
}

static bool copy_column(sqlite3_stmt *s, int column, unsigned char **to, uint32_t *len, size_t max)
{
	const void *from = sqlite.column_blob(s, column);
	size_t bytes = sqlite.column_bytes(s, column);

	if (bytes > max)
		return false;
	if (bytes)
		memcpy(*to, from, bytes);
	*to += bytes;
	*len = bytes;
	return true;
}

static enum keep_result read_item(struct keep_file *file, sqlite3_stmt *s, struct saved_item *item,
				  unsigned char *bytes, uint64_t now)
{
	bool waits;

	memset(item, 0, sizeof(*item));
	if (!copy_column(s, 0, &bytes, &item->key_len, KWQ_KEY_MAX) || !item->key_len ||
	    !copy_column(s, 1, &bytes, &item->group_len, KWQ_GROUP_MAX) ||
	    !copy_column(s, 2, &bytes, &item->value_len, KWQ_VALUE_MAX) ||
	    !copy_column(s, 3, &bytes, &item->note_len, KWQ_NOTE_MAX))
		return broken(file, "damaged: a key, group, value or note has a wrong length");
	item->state = sqlite.column_int64(s, 4);
	item->priority = sqlite.column_int64(s, 5);
	item->wait_priority = sqlite.column_int64(s, 6);
	item->requeues = sqlite.column_int64(s, 7);
	item->abandoned = sqlite.column_int64(s, 8);
	waits = item->state & KWQ_IS_WAITING;
	item->dirty_for = age(s, 9, item->state & READY_STATES, now);
	item->waiting_for = age(s, 10, waits, now);
	if (waits)
		item->due_in = left_of(sqlite.column_int64(s, 11), sqlite.column_int64(s, 10), now);
	item->dead_for = age(s, 12, item->state & KWQ_IS_DEAD, now);
	item->token = sqlite.column_int64(s, 13);
	return KEEP_OK;
}

enum keep_result keep_file_next(struct keep_file *file, struct saved_item *item, void *bytes,
				uint64_t now, bool *end)
{
	sqlite3_stmt *sorted = file->statements[SORT_ITEMS], *s;
	enum keep_result result;
	bool is_row;

	result = row(file, sorted, &is_row);
	*end = !is_row;
	if (result != KEEP_OK || *end) {
		sqlite.reset(sorted);
		return result;
	}
	s = statement(file, GET_ITEM);
	if (!s)
		return fail(file);
	sqlite.bind_int64(s, 1, sqlite.column_int64(sorted, 0));
	result = row(file, s, &is_row);
	if (result == KEEP_OK && !is_row)
		result = broken(file, "another program has changed it");
	if (result == KEEP_OK)
		result = read_item(file, s, item, bytes, now);
	sqlite.reset(s);
	return result;
}

enum keep_result keep_file_count(struct keep_file *file, uint64_t *nr, uint32_t *needs)
{
	sqlite3_stmt *s = statement(file, COUNT_ITEMS);
	enum keep_result result;
	bool is_row;

	if (!s)
		return fail(file);
	result = row(file, s, &is_row);
	*nr = is_row ? sqlite.column_int64(s, 0) : 0;
	*needs = is_row ? (sqlite.column_int64(s, 1) ? KWQ_CREATE_VALUES : 0) |
			  (sqlite.column_int64(s, 2) ? KWQ_CREATE_GROUPS : 0) : 0;
	sqlite.reset(s);
	return result;
}

enum keep_result keep_file_is_empty(struct keep_file *file, bool *empty)
{
	sqlite3_stmt *s = statement(file, FIND_ITEM);
	enum keep_result result;
	bool is_row;

	if (!s)
		return fail(file);
	result = row(file, s, &is_row);
	*empty = !is_row;
	sqlite.reset(s);
	return result;
}
