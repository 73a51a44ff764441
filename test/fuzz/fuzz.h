/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared by all targets of test/fuzz. A target is a program: main() of libFuzzer or of driver.c calls its two
 * functions. The target consumes the bytes of an input one by one to decide its actions: each input is valid, and the
 * same input always has the same effect. For one thread.
 */

#ifndef UROCE_TEST_FUZZ_H
#define UROCE_TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_debug.h>

/** Called by libFuzzer before the first input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/** Called by libFuzzer for each input. A failed check ends the process. @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** For LLVMFuzzerInitialize(): make cmocka's assertions end the process, and start EAL unless the target does. */
void fuzz_init(bool eal);

/* The rest of an input. Zeros follow its end. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline bool
fuzz_more(const struct fuzz_input *in)
{
	return in->left > 0;
}

static inline uint8_t
fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t
fuzz_u16(struct fuzz_input *in)
{
	uint8_t low = fuzz_u8(in);

	return (uint16_t)(fuzz_u8(in) << 8 | low);
}

static inline uint32_t
fuzz_u32(struct fuzz_input *in)
{
	uint32_t low = fuzz_u16(in);

	return (uint32_t)fuzz_u16(in) << 16 | low;
}

static inline uint64_t
fuzz_u64(struct fuzz_input *in)
{
	uint64_t low = fuzz_u32(in);

	return (uint64_t)fuzz_u32(in) << 32 | low;
}

/* A number below n, which is 1 .. 256. */
static inline uint32_t
fuzz_below(struct fuzz_input *in, uint32_t n)
{
	return fuzz_u8(in) % n;
}

/* Change one byte of n. The order of the two reads of the input is fixed, for all compilers. */
static inline void
fuzz_poke(struct fuzz_input *in, void *bytes, size_t n)
{
	size_t at = fuzz_u8(in) % n;

	((uint8_t *)bytes)[at] = fuzz_u8(in);
}

/* The next bytes, with zeros behind the end. */
void fuzz_bytes(struct fuzz_input *in, void *dst, size_t n);

#endif /* UROCE_TEST_FUZZ_H */
