/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The digest of a simulated seed: a hash over every frame that an end sends and every completion that an application
 * polls. A refactoring must not change it: two builds with the same digest behave the same.
 */

#ifndef UROCE_TEST_SIM_DIGEST_H
#define UROCE_TEST_SIM_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

void digest_reset(void);

/** Add a frame, from its Ethernet header on. Virtual addresses in its headers differ between processes: they and the
 * ICRC, which covers them, count as zeros. */
void digest_frame(uint64_t now_ns, unsigned int from, unsigned int to, const uint8_t *data, uint32_t bytes);

/** Add a completion, without the fields that its status leaves undefined. */
void digest_completion(uint64_t now_ns, unsigned int end, const struct ibv_wc *wc);

uint64_t digest_get(void);

/** Read a file of lines "SEED DIGEST". Exits with a message on error. */
void digest_load(const char *path);

/** Compare with the loaded file. @return false: the file has another digest of this seed, or none */
bool digest_is_expected(uint64_t seed);

#endif /* UROCE_TEST_SIM_DIGEST_H */
