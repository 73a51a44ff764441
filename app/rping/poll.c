/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Polls the completions of a connection and hands them to the client's or server's rounds; probes a silent peer. Main
 * thread.
 */

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "conn.h"
#include "rping.h"

#define POLLED 8 /* completions per poll */

/* Without a request in flight, a dead peer goes unnoticed: probe a silent one with an empty WRITE, which needs no
 * memory at the peer (R19). */
static void
probe_if_silent(struct rping_conn *conn, bool heard)
{
	const uint64_t now = rte_rdtsc();

	if (heard || !conn->established)
		conn->heard_tsc = now;
	else if (!conn->probing && conn->phase < RPING_LEAVING &&
		 now - conn->heard_tsc > UROCE_RPING_PROBE_S * rte_get_tsc_hz())
		conn->probing = uroce_rping_conn_probe(conn) == 0;
}

static void
message_received(struct rping_conn *conn, const struct ibv_wc *wc)
{
	if (wc->byte_len != sizeof(conn->recv_info)) {
		uroce_rping_conn_fail(conn,
				      "the peer has sent %u bytes, a message of rping has %zu: check that it is rping",
				      wc->byte_len, sizeof(conn->recv_info));
		return;
	}
	/* the RTU may be lost: a peer that sends is connected */
	if (!conn->established)
		(void)uroce_rdma_notify(conn->id, IBV_EVENT_COMM_EST);
	conn->peer = (struct rping_info){
		.addr = rte_be_to_cpu_64(conn->recv_info.addr),
		.rkey = rte_be_to_cpu_32(conn->recv_info.rkey),
		.size = rte_be_to_cpu_32(conn->recv_info.size),
	};
	if (uroce_rping_conn_receive(conn) != 0)
		return;
	if (conn->server)
		uroce_rping_server_received(conn);
	else
		uroce_rping_client_received(conn);
}

static void
completed(struct rping_conn *conn, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR || conn->phase >= RPING_LEAVING)
		return;
	if (wc->status == IBV_WC_SUCCESS && wc->wr_id == RPING_PROBE_ID)
		conn->probing = false;
	else if (wc->status != IBV_WC_SUCCESS)
		uroce_rping_conn_fail(conn, "%s (work completion status %d)",
				      uroce_wc_status_str(wc->status), (int)wc->status);
	else if (wc->opcode == IBV_WC_RECV)
		message_received(conn, wc);
	else if (conn->server)
		uroce_rping_server_done(conn, wc->opcode);
}

unsigned int
uroce_rping_poll(struct rping_conn *conn)
{
	struct ibv_wc wcs[POLLED];
	int n;

	if (conn->cq == NULL)
		return 0;
	n = uroce_poll_cq(conn->cq, RTE_DIM(wcs), wcs);
	for (int i = 0; i < n; i++)
		completed(conn, &wcs[i]);
	if (n < 0)
		uroce_rping_conn_fail(conn, "the completion queue has overrun");
	probe_if_silent(conn, n > 0);
	return n > 0 ? (unsigned int)n : 0;
}
