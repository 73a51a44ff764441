/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames for tests: those of test/pcap, and mbuf chains whose segments end at an unreadable page, so that any read
 * beyond the frame stops the test. For one thread.
 */

#ifndef UROCE_TEST_FRAMES_H
#define UROCE_TEST_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* The contents of test/pcap; each test that reads all of it checks these numbers. */
#define TEST_CAPTURE_FILES  67
#define TEST_CAPTURE_FRAMES 1636 /* RoCEv2 over IPv4 or IPv6 */

struct test_frame {
	const char *file;    /* "rc_pingpong.pcap" */
	unsigned int number; /* from 1, as in tcpdump and Wireshark */
	const uint8_t *bytes;
	uint32_t len;
};

typedef void (*test_frame_fn)(const struct test_frame *frame, void *arg);

/** Call fn for every RoCEv2 frame of every capture, in the order of file names. Exits with a
 * message when a capture cannot be read. @return the number of files */
unsigned int test_frames_each(test_frame_fn fn, void *arg);

#define TEST_CHAIN_SEGS 8

struct test_chain {
	struct rte_mbuf segs[TEST_CHAIN_SEGS];
	uint8_t *ends[TEST_CHAIN_SEGS]; /* start of the unreadable page */
};

void test_chain_init(struct test_chain *c);
void test_chain_fini(struct test_chain *c);

/**
 * Make a chain of mbufs that holds a frame.
 *
 * @param cuts	where a further segment begins, ascending; equal ones make an empty segment
 * @return	the first segment; valid until the next call
 */
struct rte_mbuf *test_chain_set(struct test_chain *c, const uint8_t *bytes, uint32_t len,
				const uint32_t *cuts, unsigned int nb_cuts);

/** A buffer as an mbuf with its data at the start, len of room bytes used. */
void test_mbuf_init(struct rte_mbuf *m, uint8_t *buf, uint32_t room, uint32_t len);

/** Pseudo-random numbers that are the same in every run. */
uint32_t test_random(uint64_t *state);

#endif /* UROCE_TEST_FRAMES_H */
