/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses secrets: "DHHC-1:", the number of a hash, and Base64 of the key and of the key's CRC-32.
 */

#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "auth/secret.h"

#define PREFIX "DHHC-1:"
#define CRC_BYTES 4u
#define TEXT_BYTES ((AUTH_HASH_BYTES + CRC_BYTES + 2) / 3 * 4) /* Base64 of the longest */

static uint32_t
crc32(const uint8_t *bytes, unsigned int n)
{
	uint32_t crc = UINT32_MAX;

	for (unsigned int i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* @return the number of bytes, or -1 */
static int
decode(const char *text, size_t length, uint8_t bytes[TEXT_BYTES])
{
	int n;

	if (length < 4 || length > TEXT_BYTES || length % 4 != 0)
		return -1;
	n = EVP_DecodeBlock(bytes, (const uint8_t *)text, (int)length);
	return n < 0 ? -1 : n - (text[length - 1] == '=') - (text[length - 2] == '='); /* it counts padding as bytes */
}

int
uroce_nvmf_secret_parse(const char *text, struct nvmf_secret *secret)
{
	uint8_t bytes[TEXT_BYTES];
	const char *base64 = text + strlen(PREFIX) + 3;
	const char *end;
	uint32_t crc;
	int n;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0 || text[7] != '0' || text[8] < '0' || text[8] > '3' || text[9] != ':')
		return -EINVAL;
	end = strchr(base64, ':');
	if (end == NULL || end[1] != '\0')
		return -EINVAL;
	n = decode(base64, (size_t)(end - base64), bytes) - (int)CRC_BYTES;
	if (n != 32 && n != 48 && n != 64)
		return -EINVAL;
	crc = (uint32_t)bytes[n] | (uint32_t)bytes[n + 1] << 8 | (uint32_t)bytes[n + 2] << 16 | (uint32_t)bytes[n + 3] << 24;
	if (crc != crc32(bytes, (unsigned int)n))
		return -EINVAL;
	memcpy(secret->key, bytes, (size_t)n);
	secret->bytes = (unsigned int)n;
	secret->hash = (uint8_t)(text[8] - '0');
	return 0;
}
