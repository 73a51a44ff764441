/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Commands of the rdma_cm device that establish and end connections. librdmacm owns the QPs: lib/cm's IDs have none,
 * and return the attributes with which librdmacm modifies its QPs. Any thread of the program.
 */

#include <errno.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "cm/ib/cm.h"
#include "ucma/kern.h"
#include "base/log.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_cma.h"
#include "uroce_config.h"

static struct rdma_conn_param
conn_param(const struct rdma_ucm_conn_param *from)
{
	return (struct rdma_conn_param){
		.private_data = from->private_data,
		.private_data_len = from->private_data_len,
		.responder_resources = from->responder_resources,
		.initiator_depth = from->initiator_depth,
		.flow_control = from->flow_control,
		.retry_count = from->retry_count,
		.rnr_retry_count = from->rnr_retry_count,
		.srq = from->srq,
		.qp_num = from->qp_num,
	};
}

/* Enhanced connection establishment; a vendor ID of 0 offers none. */
static int
set_ece(struct rdma_cm_id *cm, const struct rdma_ucm_ece *ece)
{
	struct ibv_ece local = { .vendor_id = ece->vendor_id, .options = ece->attr_mod };

	return ece->vendor_id == 0 ? 0 : uroce_rdma_set_local_ece(cm, &local);
}

int
uroce_ucma_connect(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_connect *cmd = arg;
	struct rdma_conn_param param = conn_param(&cmd->conn_param);
	struct uroce_ucma_id *id;
	int ret;

	if (cmd->conn_param.valid == 0)
		return -EINVAL;
	ret = uroce_ucma_id_get(file, cmd->id, &id);
	if (ret != 0)
		return ret;
	ret = set_ece(id->cm, &cmd->ece);
	if (ret == 0)
		ret = uroce_rdma_connect(id->cm, &param);
	ret = uroce_ucma_result(ret);
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_listen(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_listen *cmd = arg;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_listen(id->cm, (int)cmd->backlog));
	if (ret == 0)
		UROCE_LOG(DEBUG, "listens on port %u\n", rte_be_to_cpu_16(uroce_rdma_get_src_port(id->cm)));
	uroce_ucma_id_put(id);
	return ret;
}

/* Set the name first: an accepted ID has events, which carry its name. */
static int
accept_request(struct uroce_ucma_id *id, const struct rdma_ucm_accept *cmd)
{
	struct rdma_conn_param param = conn_param(&cmd->conn_param);

	pthread_mutex_lock(&uroce_ucma_lock);
	id->uid = cmd->uid;
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (set_ece(id->cm, &cmd->ece) != 0)
		return -1;
	return uroce_rdma_accept(id->cm, &param);
}

/* Without parameters, the command reports that the reply has arrived and that librdmacm's QP is connected. */
int
uroce_ucma_accept(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_accept *cmd = arg;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	ret = cmd->conn_param.valid != 0 ? accept_request(id, cmd) : uroce_rdma_establish(id->cm);
	ret = uroce_ucma_result(ret);
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_reject(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_reject *cmd = arg;
	struct uroce_ucma_id *id;
	int ret;

	if (cmd->reason != 0 && cmd->reason != UROCE_CM_REJ_CONSUMER_DEFINED &&
	    cmd->reason != UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		return -EINVAL;
	ret = uroce_ucma_id_get(file, cmd->id, &id);
	if (ret != 0)
		return ret;
	if (cmd->reason == UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		ret = uroce_rdma_reject_ece(id->cm, cmd->private_data, cmd->private_data_len);
	else
		ret = uroce_rdma_reject(id->cm, cmd->private_data, cmd->private_data_len);
	ret = uroce_ucma_result(ret);
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_disconnect(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_disconnect *cmd = arg;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_disconnect(id->cm));
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_init_qp_attr(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_init_qp_attr *cmd = arg;
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)cmd->qp_state };
	struct uroce_ucma_id *id;
	int mask = 0;
	int ret;

	if (cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	ret = uroce_ucma_id_get(file, cmd->id, &id);
	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_init_qp_attr(id->cm, &attr, &mask));
	uroce_ucma_id_put(id);
	if (ret == 0)
		uroce_copy_qp_attr_to_kern(uroce_ucma_user(cmd->response), &attr, mask);
	return ret;
}

int
uroce_ucma_set_option(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_set_option *cmd = arg;
	uint8_t value[UROCE_UCMA_MAX_BYTES] __rte_aligned(8);
	struct uroce_ucma_id *id;
	int ret;

	if (cmd->optlen > sizeof(value))
		return -EINVAL;
	ret = uroce_ucma_user_read(cmd->optval, value, cmd->optlen);
	if (ret != 0)
		return ret;
	ret = uroce_ucma_id_get(file, cmd->id, &id);
	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_set_option(id->cm, (int)cmd->level, (int)cmd->optname, value,
						      cmd->optlen));
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_notify(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_notify *cmd = arg;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_notify(id->cm, (enum ibv_event_type)cmd->event));
	uroce_ucma_id_put(id);
	return ret;
}
