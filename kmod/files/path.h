/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meaning of an event, and how its key is put together. It is pure, and includes nothing,
 * because a program on the host tests it: userspace/test/unit-files-path.c.
 */
#ifndef KWQ_FILES_PATH_H
#define KWQ_FILES_PATH_H

#define KWQ_FILES_EVENTS	(KWQ_FILE_CREATED | KWQ_FILE_WRITTEN | KWQ_FILE_MOVED_FROM | \
				 KWQ_FILE_MOVED_TO | KWQ_FILE_DELETED | KWQ_FILE_ATTRIBUTES)

static const struct {
	u32 bit, fs;
} kwq_files_events[] = {
	{ KWQ_FILE_CREATED, FS_CREATE },
	{ KWQ_FILE_WRITTEN, FS_CLOSE_WRITE },
	{ KWQ_FILE_MOVED_FROM, FS_MOVED_FROM },
	{ KWQ_FILE_MOVED_TO, FS_MOVED_TO },
	{ KWQ_FILE_DELETED, FS_DELETE },
	{ KWQ_FILE_ATTRIBUTES, FS_ATTRIB },
};

/* Returns the FS_* bits of KWQ_FILE_* bits. */
static inline u32 kwq_files_mask(u32 bits)
{
	u32 mask = 0, i;

	for (i = 0; i < ARRAY_SIZE(kwq_files_events); i++)
		if (bits & kwq_files_events[i].bit)
			mask |= kwq_files_events[i].fs;
	return mask;
}

/* Returns the KWQ_FILE_* bits of an event. */
static inline u32 kwq_files_bits(u32 mask)
{
	u32 bits = 0, i;

	for (i = 0; i < ARRAY_SIZE(kwq_files_events); i++)
		if (mask & kwq_files_events[i].fs)
			bits |= kwq_files_events[i].bit;
	return bits;
}

/*
 * The buffer in which a key is put together. The path in the filesystem, with its NUL, is at the
 * end of the first part. Because the longest key fits before that NUL, there is room for the
 * prefix. A name follows in the second part.
 */
enum {
	KWQ_FILES_PATH_SIZE = KWQ_KEY_MAX + 1,
	KWQ_FILES_ROOM = KWQ_FILES_PATH_SIZE + NAME_MAX + 1,
};

/* Returns the last @depth names of a path that begins with a slash and has so many. */
static inline char *kwq_files_tail(char *path, char *end, unsigned int depth)
{
	char *at = end;

	for (; depth; depth--)
		while (*--at != '/' && at > path)
			;
	return at == end ? end : at + 1;
}

/**
 * struct kwq_files_key - what a key is made of
 * @room: KWQ_FILES_ROOM bytes, which have the path
 * @path: the path, somewhere in the first part of @room
 * @depth: how many names of it are below the folder of the watch
 * @name: the name of the file in the folder @path; NULL if @path is the file's own
 * @name_len: its bytes, up to NAME_MAX
 * @is_folder: the file is a folder
 * @prefix: what stands before the path
 * @prefix_len: its bytes
 */
struct kwq_files_key {
	char *room;
	char *path;
	unsigned int depth;
	const char *name;
	u32 name_len;
	bool is_folder;
	const char *prefix;
	u32 prefix_len;
};

/* Returns the key, in @room, and its length; NULL if it is too long. */
static inline const char *kwq_files_put_together(const struct kwq_files_key *key, u32 *len)
{
	char *end = key->room + KWQ_FILES_PATH_SIZE - 1;
	char *begin = kwq_files_tail(key->path, end, key->depth);

	if (key->name) {
		if (begin < end)
			*end++ = '/';
		memcpy(end, key->name, key->name_len);
		end += key->name_len;
		if (key->is_folder)
			*end++ = '/';
	}
	*len = end - begin + key->prefix_len;
	if (*len > KWQ_KEY_MAX)
		return NULL;
	return memcpy(begin - key->prefix_len, key->prefix, key->prefix_len);
}

#endif /* KWQ_FILES_PATH_H */
