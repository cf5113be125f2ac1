// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Names of streams and subjects. NATS splits subjects at dots, and forbids '*', '>' and white space
 * in them. The name of a stream is also the name of a folder on the server.
 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>
#include <linux/kwq.h>

/*
 * LONGEST: the longest escaped name of a queue; "kwq-" before it stays within the 255 bytes that a
 * stream's name may have. KEPT: what a longer one keeps, at most.
 */
enum { LONGEST = 200, KEPT = 128, SHA256_LEN = 32 };

static int sha256(uint8_t digest[SHA256_LEN], const void *bytes, size_t len)
{
	return EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static void put_hex(char *to, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = '\0';
}

/* Escapes as much of a text as fits into @size bytes. Returns whether all did. */
static bool escape_name(char *to, size_t size, const char *text)
{
	const char *end = to + size - 1;
	uint8_t c;

	for (; *text; text++) {
		c = *text;
		if (end - to < (is_plain(c) ? 1 : 3))
			break;
		if (is_plain(c)) {
			*to++ = c;
		} else {
			*to++ = '=';
			put_hex(to, &c, 1);
			to += 2;
		}
	}
	*to = '\0';
	return !*text;
}

/* Escapes the name of a queue. In a plain escape a hexadecimal digit follows each '='. */
static int escape_queue(char to[LONGEST + 1], const char *queue)
{
	uint8_t digest[SHA256_LEN];
	size_t len;

	if (escape_name(to, LONGEST + 1, queue))
		return 0;
	if (sha256(digest, queue, strlen(queue)))
		return -EIO;
	escape_name(to, KEPT + 1, queue);
	len = strlen(to);
	memcpy(to + len, "=-", 2);
	put_hex(to + len + 2, digest, sizeof(digest));
	return 0;
}

int names_init(struct names *names, const char *queue)
{
	char escaped[LONGEST + 1];

	if (!*queue || strlen(queue) > KWQ_NAME_MAX || strchr(queue, '/'))
		return -EINVAL;
	if (escape_queue(escaped, queue))
		return -EIO;
	snprintf(names->stream, sizeof(names->stream), "kwq-%s", escaped);
	snprintf(names->root, sizeof(names->root), "kwq.%s", escaped);
	snprintf(names->subjects, sizeof(names->subjects), "kwq.%s.>", escaped);
	snprintf(names->control, sizeof(names->control), "kwq.%s.c.>", escaped);
	snprintf(names->messages, sizeof(names->messages), "kwq-to.%s", escaped);
	return 0;
}

int key_hash_of(struct key_hash *hash, struct bytes key)
{
	uint8_t digest[SHA256_LEN];

	if (sha256(digest, key.at, key.len))
		return -EIO;
	memcpy(hash->bytes, digest, HASH_LEN);
	return 0;
}

static int with_machine(char subject[SUBJECT_MAX], const char *root, const char *kind,
			const char *machine)
{
	char escaped[3 * MACHINE_MAX];

	if (!machine || !*machine || strlen(machine) >= MACHINE_MAX)
		return -EINVAL;
	escape_name(escaped, sizeof(escaped), machine);
	snprintf(subject, SUBJECT_MAX, "%s.%s.%s", root, kind, escaped);
	return 0;
}

int record_subject(char subject[SUBJECT_MAX], const struct names *names,
		   const struct record *record)
{
	static const char letters[] = {
		[RECORD_ADD] = 'a', [RECORD_TIMED] = 't', [RECORD_RETRY] = 'r'
	};
	char hash[2 * HASH_LEN + 1];

	switch (record->kind) {
	case RECORD_ADD:
	case RECORD_TIMED:
	case RECORD_RETRY:
		put_hex(hash, record->hash.bytes, HASH_LEN);
		snprintf(subject, SUBJECT_MAX, "%s.%c.%s", names->root, letters[record->kind],
			 hash);
		return 0;
	case RECORD_EPOCH:
		snprintf(subject, SUBJECT_MAX, "%s.c.e", names->root);
		return 0;
	case RECORD_JOIN:
		return with_machine(subject, names->root, "c.j", record->machine);
	case RECORD_BEAT:
		return with_machine(subject, names->root, "c.m", record->machine);
	}
	return -EINVAL;
}

void master_subject(char subject[SUBJECT_MAX], const struct names *names, uint64_t epoch)
{
	snprintf(subject, SUBJECT_MAX, "%s.master.%llu", names->messages,
		 (unsigned long long)epoch);
}

int machine_subject(char subject[SUBJECT_MAX], const struct names *names, const char *machine)
{
	return with_machine(subject, names->messages, "machine", machine);
}

const char *subject_shown(char to[SUBJECT_MAX], const char *subject)
{
	size_t i;

	for (i = 0; i < SUBJECT_MAX - 1 && subject[i]; i++)
		to[i] = subject[i] > ' ' && subject[i] <= '~' ? subject[i] : '?';
	to[i] = '\0';
	return to;
}
