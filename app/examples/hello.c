/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A whole program on uroce: WRITEs a string into its own memory by RDMA, over a port of the EAL, and prints it.
 *
 *	cc -o hello hello.c $(pkg-config --static --cflags --libs uroce)
 *	./hello --no-huge --no-pci --vdev net_ring0
 */

#include <stdint.h>
#include <stdio.h>

#include <rte_eal.h>

#include <uroce.h>

static char source[] = "hello by RDMA", target[sizeof(source)];

static int
fail(const char *what)
{
	fprintf(stderr, "hello: cannot %s\n", what);
	return 1;
}

/* INIT, RTR, RTS: ibv_modify_qp(3) lists the attributes that each state takes. */
static int
connect_to(struct ibv_qp *qp, uint32_t peer_qpn, const union ibv_gid *peer_gid)
{
	static const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp_attr attr = {
		.dest_qp_num = peer_qpn,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *peer_gid, .sgid_index = 1 } },
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	int ret = 0;

	for (int state = IBV_QPS_INIT; ret == 0 && state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE | masks[state]);
	}
	return ret;
}

int
main(int argc, char **argv)
{
	union ibv_gid gid;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	struct uroce_worker *worker = uroce_create_worker(-1);
	struct ibv_context *device = worker == NULL ? NULL : uroce_open_port(0, NULL, &worker, 1);
	if (device == NULL || uroce_add_address(device, "10.0.0.1/24") != 0)
		return fail("open port 0: give EAL a port, such as --vdev net_ring0");

	struct ibv_pd *pd = uroce_alloc_pd(device);
	struct ibv_mr *from = uroce_reg_mr(pd, source, sizeof(source), 0);
	struct ibv_mr *to = uroce_reg_mr(pd, target, sizeof(target), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_cq *cq = uroce_create_cq(device, 16, NULL, NULL, 0);
	if (from == NULL || to == NULL || cq == NULL)
		return fail("register memory or create a completion queue");
	struct ibv_qp *qp = uroce_create_qp(pd, &(struct ibv_qp_init_attr) {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } });

	/* The peer is this QP itself. */
	if (qp == NULL || uroce_query_gid(device, 1, 1, &gid) != 0 || connect_to(qp, qp->qp_num, &gid) != 0)
		return fail("connect a queue pair");

	struct ibv_sge sge = { (uintptr_t)source, sizeof(source), from->lkey };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
					.wr.rdma = { (uintptr_t)target, to->rkey } };
	struct ibv_wc wc;

	if (uroce_post_send(qp, &wr, &bad) != 0)
		return fail("post a WRITE");
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		uroce_worker_poll(worker);	/* sends, receives and retransmits */
	printf("%s: %s\n", uroce_wc_status_str(wc.status), target);

	uroce_destroy_qp(qp);
	uroce_destroy_cq(cq);
	uroce_dereg_mr(to);
	uroce_dereg_mr(from);
	uroce_dealloc_pd(pd);
	uroce_close_device(device);
	uroce_destroy_worker(worker);
	rte_eal_cleanup();
	return wc.status == IBV_WC_SUCCESS ? 0 : 1;
}
