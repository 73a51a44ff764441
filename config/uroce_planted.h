/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Faults planted on purpose, each of which breaks one rule, to show that the tests find it (test/sim/planted). Only a
 * build with -Dplanted_faults=true has them, and there the environment chooses one; in every other
 * UROCE_PLANTED() is false, and nothing is left of it.
 */

#ifndef UROCE_PLANTED_H
#define UROCE_PLANTED_H

#include <stdbool.h>

/* Its constant, its name, what is broken. */
#define UROCE_PLANTED_FAULTS(FAULT) \
	FAULT(ICRC, "icrc", "R5: a wrong ICRC is not seen") \
	FAULT(QKEY, "qkey", "R7: any Q_Key will do") \
	FAULT(SOURCE, "source", "R8: any source address will do") \
	FAULT(PSN_HALF, "psn-half", "R11: PSNs are compared as if they never came round") \
	FAULT(NAK_ONCE, "nak-once", "R12: each packet behind a gap is answered with a NAK") \
	FAULT(OPCODE_SEQUENCE, "opcode-sequence", "R13: FIRST, MIDDLE and LAST may come in any order") \
	FAULT(UC_GAP, "uc-gap", "R13: a UC message goes on behind a gap") \
	FAULT(DMA_LENGTH, "dma-length", "R16: the packets of a WRITE may have less than DMALen") \
	FAULT(RKEY, "rkey", "R18: of a key only the slot counts") \
	FAULT(PD, "pd", "R18: keys of other protection domains will do") \
	FAULT(RIGHTS, "rights", "R18: a key grants what it was not given") \
	FAULT(BOUNDS, "bounds", "R18: a key reaches one byte too far") \
	FAULT(DEREGISTER, "deregister", "deregistration does not wait for mbufs in flight") \
	FAULT(RD_ATOMIC_LIMIT, "rd-atomic-limit", "R22: the responder takes any number of READs") \
	FAULT(DUPLICATE_SEND, "duplicate-send", "R26: a SEND that comes again is executed again") \
	FAULT(DUPLICATE_WRITE, "duplicate-write", "R26: a WRITE that comes again is executed again") \
	FAULT(READ_REPLAY, "read-replay", "R27: the rest of a READ is read from its beginning") \
	FAULT(ATOMIC_REPLAY, "atomic-replay", "R28: an atomic that comes again is executed again") \
	FAULT(MSN, "msn", "R29: the MSN counts packets") \
	FAULT(CREDITS, "credits", "R30: the requester sends without credits") \
	FAULT(ACK_REQ, "ack-req", "R31: AckReq within a message is not answered") \
	FAULT(SOLICITED, "solicited", "R31: the solicited event is lost") \
	FAULT(AFTER_ERROR, "after-error", "R32: a QP in error goes on executing") \
	FAULT(INVALIDATE, "invalidate", "R33: an invalidated window goes on working") \
	FAULT(RETRY_COUNT, "retry-count", "R34: progress does not reset the retries") \
	FAULT(RETRY_TIMER, "retry-timer", "R34: the timer is not armed again after a retry") \
	FAULT(RNR_TIMER, "rnr-timer", "R35: the RNR timer is ignored") \
	FAULT(RNR_RETRIES, "rnr-retries", "R35: RNR retries never run out") \
	FAULT(TIMEOUT, "timeout", "R36: the timeout comes at half its time") \
	FAULT(ACK_TOO_FAR, "ack-too-far", "R37: an ACK names a packet that has not come") \
	FAULT(READ_ACKED, "read-acked", "R37: an ACK completes a READ whose response has not come") \
	FAULT(FENCE, "fence", "R39: a fence does not wait") \
	FAULT(READS_OUTSTANDING, "reads-outstanding", "R39: more READs than max_rd_atomic") \
	FAULT(FLUSH, "flush", "R41: receives are not flushed") \
	FAULT(COMPLETION_ORDER, "completion-order", "R41: two completions change places") \
	FAULT(ERROR_UNSIGNALED, "error-unsignaled", "R42: an unsignaled request fails in silence") \
	FAULT(CQ_OVERRUN, "cq-overrun", "R43: a full CQ loses completions, and nothing tells of it") \
	FAULT(SQD, "sqd", "R45: the send queue is said to be drained when it is not") \
	FAULT(WINDOW, "window", "more packets under way than the window holds") \
	FAULT(ODD_TAIL, "odd-tail", "the last byte of an odd number is not copied") \
	FAULT(IMMEDIATE, "immediate", "immediate data is lost") \
	FAULT(SRQ_LIMIT, "srq-limit", "no event tells that an SRQ is below its limit") \
	FAULT(EARLY_ACKED, "early-acked", "what came early is acknowledged, though the gap is open") \
	FAULT(EARLY_TWICE, "early-twice", "what came early is executed twice") \
	FAULT(EARLY_LOST, "early-lost", "what came early is acknowledged selectively, and not kept") \
	FAULT(READ_HOLES, "read-holes", "a READ completes though responses before the last are missing") \
	FAULT(SACK_BELIEVED, "sack-believed", "a SACK may name what was never sent") \
	FAULT(CNP_INTERVAL, "cnp-interval", "a CNP for every marked packet, whatever the interval") \
	FAULT(CNP_IGNORED, "cnp-ignored", "a CNP does not reduce the rate") \
	FAULT(PACING, "pacing", "a QP sends at twice its rate")

#ifdef UROCE_HAS_PLANTED_FAULTS

enum uroce_planted {
	UROCE_PLANTED_NONE,
#define FAULT_CONSTANT(constant, name, what) UROCE_PLANTED_##constant,
	UROCE_PLANTED_FAULTS(FAULT_CONSTANT)
#undef FAULT_CONSTANT
};

/* The one that UROCE_PLANTED_FAULT in the environment names. Set before main(); any thread. */
extern enum uroce_planted uroce_planted;

#define UROCE_PLANTED(constant) (uroce_planted == UROCE_PLANTED_##constant)

#else

#define UROCE_PLANTED(constant) false

#endif

#endif /* UROCE_PLANTED_H */
