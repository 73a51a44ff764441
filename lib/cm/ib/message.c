/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes REQ, REP, SIDR_REP and the paths in REQ and LAP. Runs on the thread that has the CM's lock.
 * No state.
 */

#include "cm/ib/message.h"

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "cm/ib/mad.h"
#include "wire/headers.h"
#include "wire/psn.h"

#define MAX_TIMEOUT    31 /* 5 bits */
#define MAX_RETRIES    7  /* 3 bits */
#define MAX_CM_RETRIES 15 /* 4 bits */
#define MAX_SL         15
#define LID_PERMISSIVE 0xffff

/* Transport service type, and its extension, of a REQ. */
enum {
	SERVICE_RC,
	SERVICE_UC,
	SERVICE_RD,
	SERVICE_EXTENDED
};
#define EXTENDED_XRC 1

/* Fields of a path, as offsets from its first field: the order is the same in all messages. */
enum path_field {
	LOCAL_LID,
	REMOTE_LID,
	LOCAL_GID,
	REMOTE_GID,
	FLOW_LABEL,
	PACKET_RATE,
	TRAFFIC_CLASS,
	HOP_LIMIT,
	SL,
	SUBNET_LOCAL,
	ACK_TIMEOUT,
};

static_assert(UROCE_CM_F_REQ_PRIMARY_ACK_TIMEOUT - UROCE_CM_F_REQ_PRIMARY_LOCAL_LID == ACK_TIMEOUT,
	      "enum path_field must have the order of UROCE_CM_PATH_FIELDS");

static void
put(uint8_t *mad, enum uroce_cm_field first, enum path_field field, uint64_t value)
{
	uroce_cm_field_put(mad, first + field, value);
}

static uint64_t
get(const uint8_t *mad, enum uroce_cm_field first, enum path_field field)
{
	return uroce_cm_field_get(mad, first + field);
}

static void
path_encode(uint8_t *mad, enum uroce_cm_field first, const struct uroce_cm_path *path,
	    uint8_t ack_timeout)
{
	/* RoCE has no LIDs. As in Linux, the LID is permissive for a routed path and 0 for others. */
	bool routed = path->hop_limit > 1;

	put(mad, first, LOCAL_LID, routed ? LID_PERMISSIVE : 0);
	put(mad, first, REMOTE_LID, routed ? LID_PERMISSIVE : 0);
	memcpy(mad + uroce_cm_fields[first + LOCAL_GID].byte, path->sgid.raw,
	       sizeof(path->sgid.raw));
	memcpy(mad + uroce_cm_fields[first + REMOTE_GID].byte, path->dgid.raw,
	       sizeof(path->dgid.raw));
	put(mad, first, FLOW_LABEL, path->flow_label);
	put(mad, first, TRAFFIC_CLASS, path->traffic_class);
	put(mad, first, HOP_LIMIT, path->hop_limit);
	put(mad, first, SL, path->sl);
	put(mad, first, SUBNET_LOCAL, !routed);
	put(mad, first, ACK_TIMEOUT, ack_timeout);
}

static void
path_decode(const uint8_t *mad, enum uroce_cm_field first, struct uroce_cm_path *path)
{
	uint8_t ack_timeout = (uint8_t)get(mad, first, ACK_TIMEOUT);

	memset(path, 0, sizeof(*path));
	memcpy(path->dgid.raw, mad + uroce_cm_fields[first + LOCAL_GID].byte,
	       sizeof(path->dgid.raw));
	memcpy(path->sgid.raw, mad + uroce_cm_fields[first + REMOTE_GID].byte,
	       sizeof(path->sgid.raw));
	path->flow_label = (uint32_t)get(mad, first, FLOW_LABEL);
	path->traffic_class = (uint8_t)get(mad, first, TRAFFIC_CLASS);
	path->hop_limit = (uint8_t)get(mad, first, HOP_LIMIT);
	path->sl = (uint8_t)get(mad, first, SL);
	/* the acknowledgement timeout is twice the packet lifetime and more */
	path->packet_life_time = ack_timeout > 0 ? ack_timeout - 1 : 0;
}

static bool
gid_is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return memcmp(gid->raw, zero.raw, sizeof(zero.raw)) == 0;
}

static bool
path_fits(const struct uroce_cm_path *path)
{
	return path->flow_label <= UROCE_FLOW_LABEL_MASK && path->sl <= MAX_SL &&
	       path->packet_life_time <= MAX_TIMEOUT;
}

int
uroce_cm_req_check(const struct uroce_cm_req *req)
{
	if (req->qp_type != IBV_QPT_RC && req->qp_type != IBV_QPT_UC &&
	    req->qp_type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	if (req->qpn > UROCE_QPN_MASK || req->peer_flow_label > UROCE_FLOW_LABEL_MASK || req->starting_psn > UROCE_PSN_MASK ||
	    req->path.mtu < IBV_MTU_256 || req->path.mtu > IBV_MTU_4096 ||
	    req->ece_vendor_id > UROCE_QPN_MASK)
		return -EINVAL;
	if (req->remote_cm_response_timeout > MAX_TIMEOUT ||
	    req->local_cm_response_timeout > MAX_TIMEOUT || req->local_ack_timeout > MAX_TIMEOUT ||
	    req->retry_count > MAX_RETRIES || req->rnr_retry_count > MAX_RETRIES ||
	    req->max_cm_retries > MAX_CM_RETRIES)
		return -EINVAL;
	if (!path_fits(&req->path) || !path_fits(&req->alternate))
		return -EINVAL;
	return uroce_cm_private_check(UROCE_CM_REQ, &req->priv);
}

int
uroce_cm_rep_check(const struct uroce_cm_rep *rep)
{
	if (rep->qpn > UROCE_QPN_MASK || rep->starting_psn > UROCE_PSN_MASK ||
	    rep->target_ack_delay > MAX_TIMEOUT || rep->failover_accepted > 3 ||
	    rep->rnr_retry_count > MAX_RETRIES || rep->ece_vendor_id > UROCE_QPN_MASK)
		return -EINVAL;
	return uroce_cm_private_check(UROCE_CM_REP, &rep->priv);
}

static void
transport_encode(uint8_t *mad, const struct uroce_cm_req *req)
{
	if (req->qp_type == IBV_QPT_XRC_SEND) {
		/* An XRC initiator has no responder: the fields of a responder stay 0. */
		uroce_cm_put(mad, REQ, TRANSPORT_SERVICE, SERVICE_EXTENDED);
		uroce_cm_put(mad, REQ, EXTENDED_TRANSPORT, EXTENDED_XRC);
		return;
	}
	uroce_cm_put(mad, REQ, TRANSPORT_SERVICE,
		     req->qp_type == IBV_QPT_UC ? SERVICE_UC : SERVICE_RC);
	uroce_cm_put(mad, REQ, RESPONDER_RESOURCES, req->responder_resources);
	uroce_cm_put(mad, REQ, RETRY_COUNT, req->retry_count);
	uroce_cm_put(mad, REQ, RNR_RETRY_COUNT, req->rnr_retry_count);
	uroce_cm_put(mad, REQ, SRQ, req->srq);
}

static uint8_t
transport_decode(const uint8_t *mad)
{
	switch (uroce_cm_get(mad, REQ, TRANSPORT_SERVICE)) {
	case SERVICE_RC: return IBV_QPT_RC;
	case SERVICE_UC: return IBV_QPT_UC;
	case SERVICE_EXTENDED:
		return uroce_cm_get(mad, REQ, EXTENDED_TRANSPORT) == EXTENDED_XRC ? IBV_QPT_XRC_RECV
										  : 0;
	default: return 0; /* reliable datagram, which no device implements */
	}
}

void
uroce_cm_req_encode(uint8_t *mad, const struct uroce_cm_req *req)
{
	uroce_cm_header(mad)->attr_mod = rte_cpu_to_be_32(req->ece_attr_mod);
	uroce_cm_put(mad, REQ, VENDOR_ID, req->ece_vendor_id);
	uroce_cm_put(mad, REQ, SERVICE_ID, req->service_id);
	uroce_cm_put(mad, REQ, CA_GUID, rte_be_to_cpu_64(req->ca_guid));
	uroce_cm_put(mad, REQ, QKEY, req->qkey);
	uroce_cm_put(mad, REQ, QPN, req->qpn);
	uroce_cm_put(mad, REQ, INITIATOR_DEPTH, req->initiator_depth);
	uroce_cm_put(mad, REQ, REMOTE_CM_RESPONSE_TIMEOUT, req->remote_cm_response_timeout);
	uroce_cm_put(mad, REQ, FLOW_CONTROL, req->flow_control);
	uroce_cm_put(mad, REQ, STARTING_PSN, req->starting_psn);
	uroce_cm_put(mad, REQ, LOCAL_CM_RESPONSE_TIMEOUT, req->local_cm_response_timeout);
	uroce_cm_put(mad, REQ, PKEY, req->path.pkey);
	uroce_cm_put(mad, REQ, MTU, req->path.mtu);
	uroce_cm_put(mad, REQ, MAX_CM_RETRIES, req->max_cm_retries);
	transport_encode(mad, req);
	path_encode(mad, UROCE_CM_F_REQ_PRIMARY_LOCAL_LID, &req->path, req->local_ack_timeout);
	if (!gid_is_zero(&req->alternate.dgid))
		path_encode(mad, UROCE_CM_F_REQ_ALTERNATE_LOCAL_LID, &req->alternate,
			    req->local_ack_timeout);
	uroce_cm_private_put(mad, UROCE_CM_REQ, &req->priv);
}

void
uroce_cm_req_decode(const uint8_t *mad, struct uroce_cm_req *req)
{
	memset(req, 0, sizeof(*req));
	req->ece_attr_mod = rte_be_to_cpu_32(uroce_cm_header_const(mad)->attr_mod);
	req->ece_vendor_id = (uint32_t)uroce_cm_get(mad, REQ, VENDOR_ID);
	req->service_id = uroce_cm_get(mad, REQ, SERVICE_ID);
	req->ca_guid = rte_cpu_to_be_64(uroce_cm_get(mad, REQ, CA_GUID));
	req->qkey = (uint32_t)uroce_cm_get(mad, REQ, QKEY);
	req->qpn = (uint32_t)uroce_cm_get(mad, REQ, QPN);
	req->responder_resources = (uint8_t)uroce_cm_get(mad, REQ, INITIATOR_DEPTH);
	req->initiator_depth = (uint8_t)uroce_cm_get(mad, REQ, RESPONDER_RESOURCES);
	req->local_cm_response_timeout = (uint8_t)uroce_cm_get(mad, REQ,
							       REMOTE_CM_RESPONSE_TIMEOUT);
	req->remote_cm_response_timeout = (uint8_t)uroce_cm_get(mad, REQ,
								LOCAL_CM_RESPONSE_TIMEOUT);
	req->flow_control = uroce_cm_get(mad, REQ, FLOW_CONTROL) != 0;
	req->starting_psn = (uint32_t)uroce_cm_get(mad, REQ, STARTING_PSN);
	req->retry_count = (uint8_t)uroce_cm_get(mad, REQ, RETRY_COUNT);
	req->rnr_retry_count = (uint8_t)uroce_cm_get(mad, REQ, RNR_RETRY_COUNT);
	req->max_cm_retries = (uint8_t)uroce_cm_get(mad, REQ, MAX_CM_RETRIES);
	req->srq = uroce_cm_get(mad, REQ, SRQ) != 0;
	req->qp_type = transport_decode(mad);
	req->local_ack_timeout = (uint8_t)uroce_cm_get(mad, REQ, PRIMARY_ACK_TIMEOUT);
	path_decode(mad, UROCE_CM_F_REQ_PRIMARY_LOCAL_LID, &req->path);
	path_decode(mad, UROCE_CM_F_REQ_ALTERNATE_LOCAL_LID, &req->alternate);
	req->path.pkey = (uint16_t)uroce_cm_get(mad, REQ, PKEY);
	req->path.mtu = (uint8_t)uroce_cm_get(mad, REQ, MTU);
	req->alternate.pkey = req->path.pkey;
	req->alternate.mtu = req->path.mtu;
	req->priv = uroce_cm_private_get(mad, UROCE_CM_REQ);
}

void
uroce_cm_rep_encode(uint8_t *mad, const struct uroce_cm_rep *rep, enum ibv_qp_type qp_type)
{
	uroce_cm_header(mad)->attr_mod = rte_cpu_to_be_32(rep->ece_attr_mod);
	uroce_cm_put(mad, REP, QKEY, rep->qkey);
	uroce_cm_put(mad, REP, VENDOR_ID_H, rep->ece_vendor_id >> 16);
	uroce_cm_put(mad, REP, VENDOR_ID_M, rep->ece_vendor_id >> 8 & 0xff);
	uroce_cm_put(mad, REP, VENDOR_ID_L, rep->ece_vendor_id & 0xff);
	uroce_cm_put(mad, REP, STARTING_PSN, rep->starting_psn);
	uroce_cm_put(mad, REP, RESPONDER_RESOURCES, rep->responder_resources);
	uroce_cm_put(mad, REP, TARGET_ACK_DELAY, rep->target_ack_delay);
	uroce_cm_put(mad, REP, FAILOVER_ACCEPTED, rep->failover_accepted);
	uroce_cm_put(mad, REP, RNR_RETRY_COUNT, rep->rnr_retry_count);
	uroce_cm_put(mad, REP, CA_GUID, rte_be_to_cpu_64(rep->ca_guid));
	if (qp_type == IBV_QPT_XRC_RECV) {
		uroce_cm_put(mad, REP, EECN, rep->qpn);
		uroce_cm_put(mad, REP, SRQ, 1);
	} else {
		uroce_cm_put(mad, REP, QPN, rep->qpn);
		uroce_cm_put(mad, REP, INITIATOR_DEPTH, rep->initiator_depth);
		uroce_cm_put(mad, REP, FLOW_CONTROL, rep->flow_control);
		uroce_cm_put(mad, REP, SRQ, rep->srq);
	}
	uroce_cm_private_put(mad, UROCE_CM_REP, &rep->priv);
}

void
uroce_cm_rep_decode(const uint8_t *mad, struct uroce_cm_rep *rep, enum ibv_qp_type qp_type)
{
	memset(rep, 0, sizeof(*rep));
	rep->ece_attr_mod = rte_be_to_cpu_32(uroce_cm_header_const(mad)->attr_mod);
	rep->ece_vendor_id = (uint32_t)(uroce_cm_get(mad, REP, VENDOR_ID_H) << 16 |
					uroce_cm_get(mad, REP, VENDOR_ID_M) << 8 |
					uroce_cm_get(mad, REP, VENDOR_ID_L));
	rep->ca_guid = rte_cpu_to_be_64(uroce_cm_get(mad, REP, CA_GUID));
	rep->qpn = (uint32_t)(qp_type == IBV_QPT_XRC_SEND ? uroce_cm_get(mad, REP, EECN)
							  : uroce_cm_get(mad, REP, QPN));
	rep->qkey = (uint32_t)uroce_cm_get(mad, REP, QKEY);
	rep->starting_psn = (uint32_t)uroce_cm_get(mad, REP, STARTING_PSN);
	rep->responder_resources = (uint8_t)uroce_cm_get(mad, REP, INITIATOR_DEPTH);
	rep->initiator_depth = (uint8_t)uroce_cm_get(mad, REP, RESPONDER_RESOURCES);
	rep->target_ack_delay = (uint8_t)uroce_cm_get(mad, REP, TARGET_ACK_DELAY);
	rep->failover_accepted = (uint8_t)uroce_cm_get(mad, REP, FAILOVER_ACCEPTED);
	rep->rnr_retry_count = (uint8_t)uroce_cm_get(mad, REP, RNR_RETRY_COUNT);
	rep->flow_control = uroce_cm_get(mad, REP, FLOW_CONTROL) != 0;
	rep->srq = uroce_cm_get(mad, REP, SRQ) != 0;
	rep->priv = uroce_cm_private_get(mad, UROCE_CM_REP);
}

void
uroce_cm_sidr_rep_encode(uint8_t *mad, const struct uroce_cm_sidr_rep *rep)
{
	uroce_cm_put(mad, SIDR_REP, STATUS, rep->status);
	uroce_cm_put(mad, SIDR_REP, QPN, rep->qpn);
	uroce_cm_put(mad, SIDR_REP, QKEY, rep->qkey);
	uroce_cm_private_put(mad, UROCE_CM_SIDR_REP, &rep->priv);
}

void
uroce_cm_sidr_rep_decode(const uint8_t *mad, struct uroce_cm_sidr_rep *rep)
{
	*rep = (struct uroce_cm_sidr_rep){
		.qpn = (uint32_t)uroce_cm_get(mad, SIDR_REP, QPN),
		.qkey = (uint32_t)uroce_cm_get(mad, SIDR_REP, QKEY),
		.status = (uint8_t)uroce_cm_get(mad, SIDR_REP, STATUS),
		.priv = uroce_cm_private_get(mad, UROCE_CM_SIDR_REP),
	};
}

void
uroce_cm_lap_path_encode(uint8_t *mad, const struct uroce_cm_path *path, uint8_t ack_timeout)
{
	path_encode(mad, UROCE_CM_F_LAP_ALTERNATE_LOCAL_LID, path, ack_timeout);
}

void
uroce_cm_lap_path_decode(const uint8_t *mad, struct uroce_cm_path *path)
{
	path_decode(mad, UROCE_CM_F_LAP_ALTERNATE_LOCAL_LID, path);
}
