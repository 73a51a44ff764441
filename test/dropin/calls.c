/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program that makes all calls of <infiniband/verbs.h>: implemented calls with arguments that they must refuse, and
 * all other calls, which must return an error. It is linked with -libverbs only, and uses the first device.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static char memory[4096];
static unsigned int calls, failures;

static void
check(const char *call, int got, int want)
{
	calls++;
	if (got == want)
		return;
	failures++;
	printf("%s: %s, not %s\n", call, strerror(got), strerror(want));
}

/* the call returns a pointer, or NULL and errno */
#define FAILS(call, error) do { \
	errno = 0; \
	check(#call, (call) == NULL ? errno : 0, error); \
} while (0)
/* the call returns an errno, or -1 and sets errno */
#define SAYS(call, error) do { \
	int ret; \
	errno = 0; \
	ret = (call); \
	check(#call, ret < 0 ? errno : ret, error); \
} while (0)

static int
make_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4, .max_recv_wr = 4,
									    .max_send_sge = 1, .max_recv_sge = 1 } };

	if (list == NULL || list[0] == NULL)
		return -1;
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	pd = context != NULL ? ibv_alloc_pd(context) : NULL;
	cq = context != NULL ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	if (pd == NULL || cq == NULL)
		return -1;
	qp_attr.send_cq = qp_attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &qp_attr);
	srq = ibv_create_srq(pd, &srq_attr);
	return qp != NULL && srq != NULL ? 0 : -1;
}

static void
not_there(void)
{
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = pd, .cq = cq };
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 0 };
	struct ibv_counters_init_attr counters = { .comp_mask = 0 };
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1 };
	struct ibv_flow_action_esp_attr esp = { .comp_mask = 0 };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1000 };
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_DEL }, *bad_op;
	struct ibv_ece ece = { .vendor_id = 0x15b3, .options = 1 };

	FAILS(ibv_alloc_dm(context, &dm), EOPNOTSUPP);
	FAILS(ibv_create_wq(context, &wq), EOPNOTSUPP);
	FAILS(ibv_create_rwq_ind_table(context, &table), EOPNOTSUPP);
	FAILS(ibv_create_counters(context, &counters), EOPNOTSUPP);
	FAILS(ibv_create_flow(qp, &flow), EOPNOTSUPP);
	FAILS(ibv_create_flow_action_esp(context, &esp), EOPNOTSUPP);
	FAILS(ibv_import_device(0), EOPNOTSUPP);
	FAILS(ibv_import_pd(context, 0), EOPNOTSUPP);
	FAILS(ibv_import_mr(pd, 0), EOPNOTSUPP);
	FAILS(ibv_import_dm(context, 0), EOPNOTSUPP);
	FAILS(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	SAYS(ibv_modify_qp_rate_limit(qp, &rate), EOPNOTSUPP);
	SAYS(ibv_post_srq_ops(srq, &op, &bad_op), EOPNOTSUPP);
	SAYS(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	check("ibv_qp_to_qp_ex", ibv_qp_to_qp_ex(qp) != NULL, 0);
}

/* Supported kinds of objects, with an unsupported variant of each. */
static void
not_such(void)
{
	struct ibv_qp_init_attr raw = { .qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq };
	struct ibv_qp_init_attr_ex rss = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .pd = pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH };
	struct ibv_qp_init_attr_ex tso = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .pd = pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_TSO };
	struct ibv_srq_init_attr_ex tags = { .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IBV_SRQT_TM, .pd = pd,
					     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD };
	struct ibv_cq_init_attr_ex tm = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO };

	FAILS(ibv_create_qp(pd, &raw), EOPNOTSUPP);
	FAILS(ibv_create_qp_ex(context, &rss), EOPNOTSUPP);
	FAILS(ibv_create_qp_ex(context, &tso), EOPNOTSUPP);
	FAILS(ibv_create_srq_ex(context, &tags), EOPNOTSUPP);
	FAILS(ibv_create_cq_ex(context, &tm), EOPNOTSUPP);
}

/* A parent domain may be used like its protection domain; only a protection domain can have one. */
static void
domains(void)
{
	struct ibv_td_init_attr td_attr = { .comp_mask = 0 }, unknown = { .comp_mask = 1 };
	struct ibv_td *td = ibv_alloc_td(context, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td }, none = { .td = td };
	struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = pd };
	struct ibv_cq_ex *ex;
	struct ibv_mr *mr;

	check("ibv_alloc_parent_domain", td == NULL || parent == NULL, 0);
	if (td == NULL || parent == NULL)
		return;
	FAILS(ibv_alloc_td(context, &unknown), EINVAL);
	FAILS(ibv_alloc_parent_domain(context, &none), EINVAL);
	FAILS(ibv_create_cq_ex(context, &cq_attr), EINVAL);
	mr = ibv_reg_mr(parent, memory, sizeof(memory), 0);
	cq_attr.parent_domain = attr.pd = parent;
	ex = ibv_create_cq_ex(context, &cq_attr);
	check("objects of a parent domain", mr == NULL || ex == NULL, 0);
	FAILS(ibv_alloc_parent_domain(context, &attr), EINVAL);
	SAYS(ibv_dealloc_pd(parent), EBUSY);
	SAYS(ibv_dealloc_td(td), EBUSY);
	SAYS(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	SAYS(ibv_dereg_mr(mr), 0);
	SAYS(ibv_dealloc_pd(parent), 0);
	SAYS(ibv_dealloc_td(td), 0);
}

static void
wrong_objects(void)
{
	struct ibv_qp_init_attr no_cq = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_init_attr large = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
					  .cap = { .max_send_wr = UINT32_MAX } };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = UINT32_MAX } };
	struct ibv_ah_attr ah = { .port_num = 1 };
	struct ibv_mr *mr;

	FAILS(ibv_create_cq(context, 0, NULL, NULL, 0), EINVAL);
	FAILS(ibv_create_cq(context, -1, NULL, NULL, 0), EINVAL);
	FAILS(ibv_create_cq(context, 1, NULL, NULL, 1000), EINVAL);
	FAILS(ibv_create_qp(pd, &no_cq), EINVAL);
	FAILS(ibv_create_qp(pd, &large), EINVAL);
	FAILS(ibv_create_srq(pd, &srq_attr), EINVAL);
	FAILS(ibv_create_ah(pd, &ah), EINVAL);
	FAILS(ibv_alloc_mw(pd, (enum ibv_mw_type)7), EINVAL);
	FAILS(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_WRITE), EINVAL);
	FAILS(ibv_reg_mr(pd, NULL, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	FAILS(ibv_reg_mr(pd, (void *)UINTPTR_MAX, 4096, 0), EINVAL);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
	check("ibv_reg_mr", mr == NULL, 0);
	SAYS(ibv_rereg_mr(mr, 1 << 20, pd, memory, 1, 0), EINVAL);
	SAYS(ibv_dereg_mr(mr), 0);
	SAYS(ibv_dealloc_pd(pd), EBUSY);
	SAYS(ibv_destroy_cq(cq), EBUSY);
	SAYS(ibv_resize_cq(cq, -5), EINVAL);
}

static void
wrong_questions(void)
{
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	__be16 pkey;

	SAYS(ibv_query_port(context, 0, &port), EINVAL);
	SAYS(ibv_query_port(context, 2, &port), EINVAL);
	SAYS(ibv_query_gid(context, 1, 10000, &gid), EINVAL);
	SAYS(ibv_query_gid(context, 1, -1, &gid), EINVAL);
	SAYS(ibv_query_gid_ex(context, 7, 0, &entry, 0), EINVAL);
	SAYS(ibv_query_gid_ex(context, 1, 0, &entry, 1), EINVAL);
	SAYS(ibv_query_pkey(context, 1, 100, &pkey), EINVAL);
	check("ibv_get_pkey_index", ibv_get_pkey_index(context, 1, 0x1234) >= 0, 0);
	check("ibv_wc_status_str", ibv_wc_status_str((enum ibv_wc_status)1000) == NULL, 0);
	check("ibv_event_type_str", ibv_event_type_str((enum ibv_event_type)1000) == NULL, 0);
	check("ibv_node_type_str", ibv_node_type_str((enum ibv_node_type)1000) == NULL, 0);
	check("ibv_port_state_str", ibv_port_state_str((enum ibv_port_state)1000) == NULL, 0);
}

static void
wrong_requests(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = 1, .lkey = 1 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	union ibv_gid gid = { .raw = { 1 } };
	struct ibv_wc wc;

	SAYS(ibv_post_send(qp, &send, &bad_send), EINVAL);	/* in RESET */
	SAYS(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
	recv.num_sge = 1000;
	SAYS(ibv_post_srq_recv(srq, &recv, &bad_recv), EINVAL);
	SAYS(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	SAYS(ibv_modify_qp(qp, &attr, 1 << 30), EINVAL);
	attr.qp_state = (enum ibv_qp_state)99;
	SAYS(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	SAYS(ibv_attach_mcast(qp, &gid, 0), EINVAL);
	SAYS(ibv_detach_mcast(qp, &gid, 0), EINVAL);
	SAYS(ibv_poll_cq(cq, 0, &wc), 0);
	SAYS(ibv_poll_cq(cq, -1, &wc), 0);
	SAYS(ibv_req_notify_cq(cq, 0), 0);
}

int
main(void)
{
	if (make_objects() != 0) {
		printf("no verbs device: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	not_there();
	not_such();
	domains();
	wrong_objects();
	wrong_questions();
	wrong_requests();
	SAYS(ibv_destroy_qp(NULL), EINVAL);
	SAYS(ibv_destroy_srq(srq), 0);
	SAYS(ibv_destroy_qp(qp), 0);
	SAYS(ibv_destroy_cq(cq), 0);
	SAYS(ibv_dealloc_pd(pd), 0);
	SAYS(ibv_close_device(context), 0);
	printf("%u calls, %u not as expected\n", calls, failures);
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
