/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* NKeys: Ed25519 keys as NATS writes them (https://github.com/nats-io/nkeys). */
#ifndef KWQ_SHARE_NKEY_H
#define KWQ_SHARE_NKEY_H

#include <stdbool.h>

/* A seed or a public key, with the NUL. */
enum { NKEY_MAX = 64 };

/*
 * Makes the public key of a user's seed. Returns false if it is none: SU and 56 more characters,
 * with a right check sum.
 */
bool nkey_public(const char *seed, char public_key[NKEY_MAX]);
#endif
