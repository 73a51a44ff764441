/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Printable names of completion statuses, asynchronous events, nodes and port states. Any thread.
 */

#include <stddef.h>

#include <rte_common.h>

#include "uroce.h"

static const char *const wc_status_names[] = {
	[IBV_WC_SUCCESS] = "success",
	[IBV_WC_LOC_LEN_ERR] = "local length error",
	[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
	[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
	[IBV_WC_LOC_PROT_ERR] = "local protection error",
	[IBV_WC_WR_FLUSH_ERR] = "work request flushed",
	[IBV_WC_MW_BIND_ERR] = "memory window bind error",
	[IBV_WC_BAD_RESP_ERR] = "bad response",
	[IBV_WC_LOC_ACCESS_ERR] = "local access error",
	[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
	[IBV_WC_REM_ACCESS_ERR] = "remote access error",
	[IBV_WC_REM_OP_ERR] = "remote operation error",
	[IBV_WC_RETRY_EXC_ERR] = "transport retry count exceeded",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry count exceeded",
	[IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation",
	[IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
	[IBV_WC_REM_ABORT_ERR] = "aborted by the remote side",
	[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
	[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
	[IBV_WC_FATAL_ERR] = "fatal error",
	[IBV_WC_RESP_TIMEOUT_ERR] = "response timeout",
	[IBV_WC_GENERAL_ERR] = "general error",
	[IBV_WC_TM_ERR] = "tag matching error",
	[IBV_WC_TM_RNDV_INCOMPLETE] = "tag matching rendezvous incomplete",
};

static const char *const event_type_names[] = {
	[IBV_EVENT_CQ_ERR] = "CQ error",
	[IBV_EVENT_QP_FATAL] = "fatal error of a QP",
	[IBV_EVENT_QP_REQ_ERR] = "invalid request at a QP",
	[IBV_EVENT_QP_ACCESS_ERR] = "access error at a QP",
	[IBV_EVENT_COMM_EST] = "communication established",
	[IBV_EVENT_SQ_DRAINED] = "send queue drained",
	[IBV_EVENT_PATH_MIG] = "path migrated",
	[IBV_EVENT_PATH_MIG_ERR] = "path migration failed",
	[IBV_EVENT_DEVICE_FATAL] = "fatal error of the device",
	[IBV_EVENT_PORT_ACTIVE] = "port active",
	[IBV_EVENT_PORT_ERR] = "port down",
	[IBV_EVENT_LID_CHANGE] = "LID changed",
	[IBV_EVENT_PKEY_CHANGE] = "P_Key table changed",
	[IBV_EVENT_SM_CHANGE] = "subnet manager changed",
	[IBV_EVENT_SRQ_ERR] = "SRQ error",
	[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
	[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE of a QP reached",
	[IBV_EVENT_CLIENT_REREGISTER] = "client reregistration requested",
	[IBV_EVENT_GID_CHANGE] = "GID table changed",
	[IBV_EVENT_WQ_FATAL] = "fatal error of a WQ",
};

static const char *const node_type_names[] = {
	[IBV_NODE_CA] = "channel adapter",
	[IBV_NODE_SWITCH] = "switch",
	[IBV_NODE_ROUTER] = "router",
	[IBV_NODE_RNIC] = "iWARP NIC",
	[IBV_NODE_USNIC] = "usNIC",
	[IBV_NODE_USNIC_UDP] = "usNIC over UDP",
	[IBV_NODE_UNSPECIFIED] = "unspecified",
};

static const char *const port_state_names[] = {
	[IBV_PORT_NOP] = "no change",
	[IBV_PORT_DOWN] = "down",
	[IBV_PORT_INIT] = "initializing",
	[IBV_PORT_ARMED] = "armed",
	[IBV_PORT_ACTIVE] = "active",
	[IBV_PORT_ACTIVE_DEFER] = "active, deferring",
};

static const char *
name_at(const char *const *names, size_t count, unsigned int i)
{
	return i < count && names[i] != NULL ? names[i] : "unknown";
}

const char *
uroce_node_type_str(enum ibv_node_type type)
{
	return name_at(node_type_names, RTE_DIM(node_type_names), (unsigned int)type);
}

const char *
uroce_port_state_str(enum ibv_port_state state)
{
	return name_at(port_state_names, RTE_DIM(port_state_names), (unsigned int)state);
}

const char *
uroce_wc_status_str(enum ibv_wc_status status)
{
	return name_at(wc_status_names, RTE_DIM(wc_status_names), (unsigned int)status);
}

const char *
uroce_event_type_str(enum ibv_event_type event)
{
	return name_at(event_type_names, RTE_DIM(event_type_names), (unsigned int)event);
}
