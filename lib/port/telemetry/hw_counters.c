/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of Linux's counters: the names of rxe and mlx5, and the uroce counters that each of them sums up, after the
 * drivers and mlx5's manual. A counter that uroce does not have is left out, not shown as 0. Constant; any thread.
 */

#include <rte_common.h>

#include "port/counters.h"
#include "port/telemetry/hw_counters.h"
#include "port/port.h"
#include "port/worker/worker.h"

#define ENGINE(counter)   { UROCE_HW_ENGINE, UROCE_##counter }
#define VERDICT(verdict)  { UROCE_HW_VERDICT, UROCE_##verdict }
#define PORT(counter)     { UROCE_HW_PORT, UROCE_PORT_##counter }
#define ROW(name, of, ...) { name, of, { __VA_ARGS__ } }

const struct uroce_hw_counter uroce_hw_counters[] = {
	ROW("sent_pkts", "rxe", ENGINE(SENT_PACKETS)),
	ROW("rcvd_pkts", "rxe", { UROCE_HW_RECEIVED, 0 }),
	ROW("duplicate_request", "both", VERDICT(DUPLICATE), VERDICT(DROP_DUPLICATE)),
	ROW("out_of_seq_request", "rxe", VERDICT(NAK_SEQUENCE), VERDICT(DROP_AHEAD), VERDICT(EARLY)),
	ROW("rcvd_rnr_err", "rxe", ENGINE(RNR_NAKS_RECEIVED)),
	ROW("send_rnr_err", "rxe", ENGINE(SENT_RNR_NAKS)),
	ROW("rcvd_seq_err", "rxe", ENGINE(PACKET_SEQ_ERR)),
	ROW("retry_exceeded_err", "rxe", ENGINE(REQ_TRANSPORT_RETRIES_EXCEEDED)),
	ROW("retry_rnr_exceeded_err", "rxe", ENGINE(REQ_RNR_RETRIES_EXCEEDED)),
	ROW("completer_retry_err", "rxe", ENGINE(COMPLETER_RETRY_ERR)),
	ROW("send_err", "rxe", PORT(TX_DROP_STALLED), PORT(TX_DROP_UNRESOLVED), PORT(TX_DROP_LOOPBACK),
	    PORT(TX_DROP_LOCAL)),
	ROW("link_downed", "rxe", { UROCE_HW_LINK, 0 }),
	ROW("rdma_sends", "rxe", ENGINE(RDMA_SENDS)),
	ROW("rdma_recvs", "rxe", ENGINE(RDMA_RECVS)),

	ROW("rx_write_requests", "mlx5", ENGINE(RX_WRITE_REQUESTS)),
	ROW("rx_read_requests", "mlx5", ENGINE(RX_READ_REQUESTS)),
	ROW("rx_atomic_requests", "mlx5", ENGINE(RX_ATOMIC_REQUESTS)),
	ROW("out_of_buffer", "mlx5", VERDICT(NAK_RNR), VERDICT(DROP_NO_RECV)),
	ROW("out_of_sequence", "mlx5", VERDICT(NAK_SEQUENCE), VERDICT(DROP_AHEAD), VERDICT(EARLY),
	    VERDICT(DROP_SEQUENCE)),
	ROW("rnr_nak_retry_err", "mlx5", ENGINE(RNR_NAKS_RECEIVED)),
	ROW("packet_seq_err", "mlx5", ENGINE(PACKET_SEQ_ERR)),
	ROW("implied_nak_seq_err", "mlx5", VERDICT(RESPONSE_GAP)),
	ROW("local_ack_timeout_err", "mlx5", ENGINE(TIMEOUTS)),
	ROW("resp_local_length_error", "mlx5", ENGINE(RESP_LOCAL_LENGTH_ERROR)),
	ROW("resp_cqe_error", "mlx5", ENGINE(RESP_CQE_ERROR)),
	ROW("req_cqe_error", "mlx5", ENGINE(REQ_CQE_ERROR)),
	ROW("req_remote_invalid_request", "mlx5", ENGINE(REQ_REMOTE_INVALID_REQUEST)),
	ROW("req_remote_access_errors", "mlx5", ENGINE(REQ_REMOTE_ACCESS_ERRORS)),
	ROW("resp_remote_access_errors", "mlx5", VERDICT(NAK_ACCESS), VERDICT(NAK_INVALIDATE), VERDICT(NAK_XRC_SRQ),
	    VERDICT(DROP_ACCESS)),
	ROW("resp_cqe_flush_error", "mlx5", ENGINE(RESP_CQE_FLUSH_ERROR)),
	ROW("req_cqe_flush_error", "mlx5", ENGINE(REQ_CQE_FLUSH_ERROR)),
	ROW("req_transport_retries_exceeded", "mlx5", ENGINE(REQ_TRANSPORT_RETRIES_EXCEEDED)),
	ROW("req_rnr_retries_exceeded", "mlx5", ENGINE(REQ_RNR_RETRIES_EXCEEDED)),
	ROW("rp_cnp_ignored", "mlx5", ENGINE(RP_CNP_IGNORED)),
	ROW("rp_cnp_handled", "mlx5", ENGINE(RP_CNP_HANDLED)),
	ROW("np_ecn_marked_roce_packets", "mlx5", ENGINE(NP_ECN_MARKED_PACKETS)),
	ROW("np_cnp_sent", "mlx5", ENGINE(NP_CNP_SENT)),
	ROW("rx_icrc_encapsulated", "mlx5", VERDICT(DROP_ICRC)),
};

const unsigned int uroce_hw_counter_count = RTE_DIM(uroce_hw_counters);

static uint64_t
received(const struct uroce_port *port)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < port->nb_queues; i++)
		for (unsigned int v = 0; v < UROCE_VERDICT_COUNT; v++)
			sum += __atomic_load_n(&port->queues[i].worker->engine.verdicts[v], __ATOMIC_RELAXED);
	return sum;
}

static uint64_t
source_read(const struct uroce_port *port, const struct uroce_hw_source *source)
{
	switch (source->kind) {
	case UROCE_HW_ENGINE:
		return uroce_port_engine_counter(port, source->index);
	case UROCE_HW_VERDICT:
		return uroce_port_verdict_counter(port, source->index);
	case UROCE_HW_PORT:
		return uroce_port_counter(port, source->index);
	case UROCE_HW_RECEIVED:
		return received(port);
	case UROCE_HW_LINK:
		return __atomic_load_n(&port->link_downed, __ATOMIC_RELAXED);
	default:
		return 0;
	}
}

uint64_t
uroce_hw_counter_read(const struct uroce_port *port, const struct uroce_hw_counter *counter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < UROCE_HW_COUNTER_SOURCES && counter->sources[i].kind != UROCE_HW_END; i++)
		sum += source_read(port, &counter->sources[i]);
	return sum;
}
