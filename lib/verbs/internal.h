/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Functions that the folders of lib/verbs share. Control threads.
 */

#ifndef UROCE_VERBS_INTERNAL_H
#define UROCE_VERBS_INTERNAL_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/device/device.h"
#include "verbs/qp/qp.h"

/* query.c: attributes of a device, as an operation of the context */
int uroce_context_query_port_compat(struct ibv_context *context, uint8_t port_num,
				    struct _compat_ibv_port_attr *attr);

/* qp.c */
/** Create the QP of an XRC target, without a handle. @return NULL and errno */
struct uroce_qp *uroce_xrc_qp_create(struct uroce_device *dev, struct uroce_xrc_target *target);
/** Withdraw a QP, wait until no worker uses it and its events are acknowledged, and dispose of it. */
void uroce_qp_destroy(struct uroce_qp *qp);
/** Makes the QP unreachable: after a grace period no worker uses it. */
void uroce_qp_withdraw(struct uroce_qp *qp);
/** Frees the QP: no worker uses it, and its events are acknowledged. */
void uroce_qp_dispose(struct uroce_qp *qp);

/* qp_modify.c: set the attributes of a QP in RESET */
void uroce_qp_attr_reset(struct uroce_qp *qp);

/* cq_forget.c */
/** Remove the QP's completions from its CQs. Control thread; the QP pushes no more. */
void uroce_qp_forget_completions(const struct uroce_qp *qp);

#endif /* UROCE_VERBS_INTERNAL_H */
