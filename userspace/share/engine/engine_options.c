// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "nkey.h"

enum { SECRET_MAX = 4096 };

/* Of libnats, in ms. Three pings without an answer end a connection. */
enum { CONNECT_MS = 2000, PING_MS = 2000, PINGS = 2, WRITE_MS = 4000 };

/* Somebody has to change a file of this machine. */
static bool refuse(struct why *why, const char *file, const char *text)
{
	snprintf(why->text, sizeof(why->text), "%s: %s", file, text);
	why->refused = true;
	why->is_local = true;
	return false;
}

/* Reads up to two lines. Returns whether there is a first one; the second one may be empty. */
static bool read_secret(const char *file, char lines[2][SECRET_MAX], struct why *why)
{
	FILE *from = fopen(file, "re");

	if (!from)
		return refuse(why, file, strerror(errno));
	for (int i = 0; i < 2; i++) {
		if (!fgets(lines[i], SECRET_MAX, from))
			lines[i][0] = '\0';
		lines[i][strcspn(lines[i], "\r\n")] = '\0';
	}
	fclose(from);
	return lines[0][0] ? true : refuse(why, file, "the first line is empty");
}

static bool set_user(natsOptions *to, const char *file, struct why *why)
{
	char lines[2][SECRET_MAX];
	bool good = read_secret(file, lines, why);

	if (good && !lines[1][0])
		good = refuse(why, file,
			      "wanted are a user on the first line and the password on the second");
	good = good && natsOptions_SetUserInfo(to, lines[0], lines[1]) == NATS_OK;
	OPENSSL_cleanse(lines, sizeof(lines));
	return good;
}

static bool set_token(natsOptions *to, const char *file, struct why *why)
{
	char lines[2][SECRET_MAX];
	bool good = read_secret(file, lines, why) && natsOptions_SetToken(to, lines[0]) == NATS_OK;

	OPENSSL_cleanse(lines, sizeof(lines));
	return good;
}

static bool set_nkey(natsOptions *to, const char *file, struct why *why)
{
	char lines[2][SECRET_MAX], public_key[NKEY_MAX];
	bool good = read_secret(file, lines, why);

	if (good && !nkey_public(lines[0], public_key))
		good = refuse(why, file, "that is no seed of a user's NKey (SU...)");
	OPENSSL_cleanse(lines, sizeof(lines));
	return good && natsOptions_SetNKeyFromSeed(to, public_key, file) == NATS_OK;
}

/* Whether a file has a line that begins with @begin and has @word. */
static bool has_line(FILE *from, const char *begin, const char *word)
{
	char line[SECRET_MAX];

	rewind(from);
	while (fgets(line, sizeof(line), from))
		if (!strncmp(line, begin, strlen(begin)) && strstr(line, word))
			return true;
	return false;
}

/* libnats reads the file at each connection, and does not say what is wrong with it. */
static bool set_credentials(natsOptions *to, const char *file, struct why *why)
{
	FILE *from = fopen(file, "re");
	bool good;

	if (!from)
		return refuse(why, file, strerror(errno));
	good = has_line(from, "-----BEGIN", "JWT") && has_line(from, "-----BEGIN", "SEED");
	fclose(from);
	if (!good)
		return refuse(why, file, "these are no credentials: wanted are a JWT and a SEED");
	return natsOptions_SetUserCredentialsFromFiles(to, file, NULL) == NATS_OK;
}

static bool set_identity(natsOptions *to, const struct engine_options *options, struct why *why)
{
	if (options->user_file && !set_user(to, options->user_file, why))
		return false;
	if (options->token_file && !set_token(to, options->token_file, why))
		return false;
	if (options->nkey && !set_nkey(to, options->nkey, why))
		return false;
	return !options->credentials || set_credentials(to, options->credentials, why);
}

bool options_want_tls(const struct engine_options *options, const char *url)
{
	return options->ca || options->certificate || !strncmp(url, "tls://", 6);
}

static bool set_tls(natsOptions *to, const struct engine_options *options, const char *url,
		    struct why *why)
{
	if (!options_want_tls(options, url))
		return true;
	if (natsOptions_SetSecure(to, true) != NATS_OK)
		return false;
	if (options->ca && natsOptions_LoadCATrustedCertificates(to, options->ca) != NATS_OK)
		return refuse(why, options->ca, "that is no file of certificates");
	if (options->certificate &&
	    natsOptions_LoadCertificatesChain(to, options->certificate, options->key) != NATS_OK)
		return refuse(why, options->certificate,
			      "it is no certificate, or the key does not belong to it");
	return true;
}

/*
 * libnats must not connect anew. After its own attempts it gives up for some errors, and its
 * messages may be sent again. Each connection is a new one here.
 *
 * libnats must not try the servers that the first one tells of, either. Its error would be that of
 * the last one of them, and a refused password of the first one would stay unknown.
 */
static bool set_rest(natsOptions *to, const struct engine_options *options, struct inbox *inbox,
		     const char *url)
{
	return natsOptions_SetURL(to, url) == NATS_OK &&
	       natsOptions_SetName(to, options->client) == NATS_OK &&
	       natsOptions_SetAllowReconnect(to, false) == NATS_OK &&
	       natsOptions_SetIgnoreDiscoveredServers(to, true) == NATS_OK &&
	       natsOptions_SetTimeout(to, CONNECT_MS) == NATS_OK &&
	       natsOptions_SetPingInterval(to, PING_MS) == NATS_OK &&
	       natsOptions_SetMaxPingsOut(to, PINGS) == NATS_OK &&
	       natsOptions_SetWriteDeadline(to, WRITE_MS) == NATS_OK &&
	       natsOptions_SetClosedCB(to, inbox_on_closed, inbox) == NATS_OK &&
	       natsOptions_SetErrorHandler(to, inbox_on_error, inbox) == NATS_OK;
}

natsOptions *options_new(const struct engine_options *options, struct inbox *inbox, const char *url,
			 struct why *why)
{
	natsOptions *to = NULL;

	*why = (struct why){ 0 };
	if (natsOptions_Create(&to) == NATS_OK && set_rest(to, options, inbox, url) &&
	    set_tls(to, options, url, why) && set_identity(to, options, why))
		return to;
	if (!why->text[0])
		snprintf(why->text, sizeof(why->text), "libnats: %s", nats_GetLastError(NULL));
	natsOptions_Destroy(to);
	return NULL;
}
