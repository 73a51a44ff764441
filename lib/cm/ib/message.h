/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes REQ, REP, SIDR_REP and the path of a LAP. A decoded message is seen from the receiver: `local` is
 * the receiver, and the peer's initiator depth is the receiver's responder resources. No state; any thread.
 */

#ifndef UROCE_CM_IB_MESSAGE_H
#define UROCE_CM_IB_MESSAGE_H

#include <stdint.h>

#include "cm/ib/cm.h"

/** @return 0; -EINVAL: a value does not fit its field, or no QP can have it; -EMSGSIZE: private data too long */
int uroce_cm_req_check(const struct uroce_cm_req *req);
int uroce_cm_rep_check(const struct uroce_cm_rep *rep);

/* mad: initialized by uroce_cm_mad_init(). The values were checked. */
void uroce_cm_req_encode(uint8_t *mad, const struct uroce_cm_req *req);
void uroce_cm_rep_encode(uint8_t *mad, const struct uroce_cm_rep *rep, enum ibv_qp_type qp_type);
void uroce_cm_sidr_rep_encode(uint8_t *mad, const struct uroce_cm_sidr_rep *rep);
/** @param ack_timeout	5 bits */
void uroce_cm_lap_path_encode(uint8_t *mad, const struct uroce_cm_path *path, uint8_t ack_timeout);

/* Pointers in the decoded message lead into the MAD, and none of its values is checked. qp_type of a REQ is the
 * receiver's: XRC_RECV for XRC; 0: not supported. sgid_index of paths is 0. */
void uroce_cm_req_decode(const uint8_t *mad, struct uroce_cm_req *req);
void uroce_cm_rep_decode(const uint8_t *mad, struct uroce_cm_rep *rep, enum ibv_qp_type qp_type);
void uroce_cm_sidr_rep_decode(const uint8_t *mad, struct uroce_cm_sidr_rep *rep);
void uroce_cm_lap_path_decode(const uint8_t *mad, struct uroce_cm_path *path);

#endif /* UROCE_CM_IB_MESSAGE_H */
