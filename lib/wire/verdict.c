/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The verdict table: for each outcome of a received packet the counter's name, the rule, the NAK, and the status of the
 * receive that it completes. Constant; any thread.
 */

#include <infiniband/verbs.h>

#include "wire/headers.h"
#include "wire/verdict.h"

#define SYNDROME_INVALID     (UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST)
#define SYNDROME_ACCESS      (UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR)
#define SYNDROME_OPERATIONAL (UROCE_AETH_NAK | UROCE_NAK_REMOTE_OPERATIONAL_ERROR)

#define ROW(verdict, name, rule, syndrome, wc_status) \
	[UROCE_##verdict] = { name, rule, syndrome, wc_status }
#define COUNT(verdict, name, rule)             ROW(verdict, name, rule, 0, 0)
#define NAK(verdict, name, rule, syndrome, wc) ROW(verdict, name, rule, syndrome, IBV_WC_##wc)

const struct uroce_verdict_info uroce_verdicts[UROCE_VERDICT_COUNT] = {
	COUNT(OK, "ok", ""),

	COUNT(DROP_L2_SHORT, "drop_l2_short", ""),
	COUNT(DROP_L2_ADDRESS, "drop_l2_address", ""),
	COUNT(DROP_VLAN, "drop_vlan", ""),
	COUNT(DROP_ETHERTYPE, "drop_ethertype", ""),
	COUNT(DROP_IP_HEADER, "drop_ip_header", ""),
	COUNT(DROP_IP_FRAGMENT, "drop_ip_fragment", ""),
	COUNT(DROP_IP_ADDRESS, "drop_ip_address", ""),
	COUNT(DROP_IP_PROTOCOL, "drop_ip_protocol", ""),
	COUNT(DROP_UDP_PORT, "drop_udp_port", ""),
	COUNT(DROP_UDP_LENGTH, "drop_udp_length", ""),
	COUNT(DROP_ARP, "drop_arp", ""),
	COUNT(DROP_ICMP, "drop_icmp", ""),
	COUNT(DROP_IGMP, "drop_igmp", ""),

	COUNT(DROP_TVER, "drop_tver", "R1"),
	COUNT(DROP_OPCODE, "drop_opcode", "R2"),
	COUNT(DROP_LENGTH, "drop_length", "R3"),
	COUNT(DROP_PAD, "drop_pad", "R4"),
	COUNT(DROP_ICRC, "drop_icrc", "R5"),
	COUNT(DROP_PKEY, "drop_pkey", "R6"),
	COUNT(DROP_QKEY, "drop_qkey", "R7"),
	COUNT(DROP_SOURCE, "drop_source", "R8"),
	COUNT(DROP_QPN, "drop_qpn", ""),
	COUNT(DROP_QP_STATE, "drop_qp_state", "R32"),
	COUNT(DROP_TRANSPORT, "drop_transport", "R2"),
	COUNT(DROP_HANDOVER, "drop_handover", ""),
	COUNT(DROP_CNP, "drop_cnp", ""),
	COUNT(CNP_RECEIVED, "cnp", ""),

	COUNT(DUPLICATE, "duplicate", "R26"),
	COUNT(DROP_DUPLICATE, "drop_duplicate", "R28"),
	COUNT(DROP_REVOKED, "drop_revoked", ""),
	COUNT(DROP_AHEAD, "drop_ahead", "R12"),
	COUNT(EARLY, "early", "R12"),
	ROW(NAK_SEQUENCE, "nak_sequence", "R12", UROCE_AETH_SEQUENCE_NAK, 0),
	NAK(NAK_OPCODE_SEQUENCE, "nak_opcode_sequence", "R13", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_PAYLOAD, "nak_payload", "R14", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_DMA_LEN, "nak_dma_len", "R16", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_RECV_LENGTH, "nak_recv_length", "R17", SYNDROME_INVALID, LOC_LEN_ERR),
	NAK(NAK_ACCESS, "nak_access", "R18", SYNDROME_ACCESS, LOC_ACCESS_ERR),
	NAK(NAK_NOT_ALLOWED, "nak_not_allowed", "R10", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_RD_ATOMIC, "nak_rd_atomic", "R22", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_ATOMIC_ALIGNMENT, "nak_atomic_alignment", "R23", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_ATOMIC_WRITE, "nak_atomic_write", "R24", SYNDROME_INVALID, REM_INV_REQ_ERR),
	NAK(NAK_FLUSH, "nak_flush", "R25", SYNDROME_INVALID, REM_INV_REQ_ERR),
	ROW(NAK_FLUSH_RESOURCES, "nak_flush_resources", "", UROCE_AETH_SEQUENCE_NAK, 0),
	ROW(NAK_FLUSH_PENDING, "nak_flush_pending", "", UROCE_AETH_SEQUENCE_NAK, 0),
	NAK(NAK_INVALIDATE, "nak_invalidate", "R33", SYNDROME_ACCESS, REM_INV_REQ_ERR),
	/* The transport adds the QP's timer code. */
	ROW(NAK_RNR, "nak_rnr", "R21", UROCE_AETH_RNR_NAK, 0),
	NAK(NAK_XRC_SRQ, "nak_xrc_srq", "", SYNDROME_ACCESS, LOC_ACCESS_ERR),
	NAK(NAK_LOCAL_PROTECTION, "nak_local_protection", "", SYNDROME_OPERATIONAL, LOC_PROT_ERR),

	COUNT(DROP_ACK_UNEXPECTED, "drop_ack_unexpected", "R37"),
	COUNT(DROP_ACK_SYNDROME, "drop_ack_syndrome", "R30"),
	COUNT(DROP_RESPONSE_DUPLICATE, "drop_response_duplicate", ""),
	COUNT(RESPONSE_GAP, "response_gap", "R34"),
	COUNT(DROP_SACK, "drop_sack", ""),
	COUNT(BAD_RESPONSE, "bad_response", ""),

	COUNT(DROP_SEQUENCE, "drop_sequence", "R13"),
	COUNT(DROP_PAYLOAD, "drop_payload", "R15"),
	COUNT(DROP_NO_RECV, "drop_no_recv", ""),
	COUNT(DROP_ACCESS, "drop_access", "R18"),
	COUNT(DROP_LOCAL_PROTECTION, "drop_local_protection", ""),
};
