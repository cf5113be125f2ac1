// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "nkey.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

/* Prefixes, in the upper 5 bits, so that they are the first letter in base 32. */
enum { PREFIX_SEED = 18 << 3, PREFIX_USER = 20 << 3 };

enum { KEY_LEN = 32, SEED_LEN = 2 + KEY_LEN + 2, PUBLIC_LEN = 1 + KEY_LEN + 2 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* CRC-16 of XMODEM. */
static uint16_t checksum(const uint8_t *bytes, size_t len)
{
	uint16_t crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return crc;
}

/* Decodes base 32 without padding. Returns whether there are just @len bytes. */
static bool decode(const char *text, uint8_t *bytes, size_t len)
{
	uint32_t bits = 0;
	size_t nr_bits = 0, nr = 0;
	const char *found;

	for (; *text; text++) {
		found = strchr(alphabet, *text);
		if (!found)
			return false;
		bits = bits << 5 | (uint32_t)(found - alphabet);
		nr_bits += 5;
		if (nr_bits >= 8) {
			if (nr == len)
				return false;
			nr_bits -= 8;
			bytes[nr++] = bits >> nr_bits;
		}
	}
	/* The rest are fewer bits than a letter has. */
	return nr == len && nr_bits < 5;
}

static void encode(const uint8_t *bytes, size_t len, char *text)
{
	uint32_t bits = 0;
	size_t nr_bits = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | bytes[i];
		for (nr_bits += 8; nr_bits >= 5; nr_bits -= 5)
			*text++ = alphabet[bits >> (nr_bits - 5) & 31];
	}
	if (nr_bits)
		*text++ = alphabet[bits << (5 - nr_bits) & 31];
	*text = '\0';
}

static bool is_seed(const uint8_t seed[SEED_LEN])
{
	uint8_t kind = (seed[0] & 7) << 5 | (seed[1] & 0xf8) >> 3;

	return (seed[0] & 0xf8) == PREFIX_SEED && kind == PREFIX_USER &&
	       checksum(seed, SEED_LEN - 2) == (seed[SEED_LEN - 2] | seed[SEED_LEN - 1] << 8);
}

static bool derive(const uint8_t *secret, uint8_t *public_key)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, KEY_LEN);
	size_t len = KEY_LEN;
	bool good = key && EVP_PKEY_get_raw_public_key(key, public_key, &len) == 1;

	EVP_PKEY_free(key);
	return good;
}

bool nkey_public(const char *text, char public_key[NKEY_MAX])
{
	uint8_t seed[SEED_LEN], key[PUBLIC_LEN] = { PREFIX_USER };
	uint16_t crc;
	bool good;

	good = decode(text, seed, sizeof(seed)) && is_seed(seed) && derive(seed + 2, key + 1);
	OPENSSL_cleanse(seed, sizeof(seed));
	if (!good)
		return false;
	crc = checksum(key, PUBLIC_LEN - 2);
	key[PUBLIC_LEN - 2] = crc & 0xff;
	key[PUBLIC_LEN - 1] = crc >> 8;
	encode(key, sizeof(key), public_key);
	return true;
}
