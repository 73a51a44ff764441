/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts work requests that complete with an error, by cause, under the names of Linux's mlx5. On the engine's thread.
 */

#include "transport/qp/qp.h"

void
uroce_count_send_error(struct uroce_engine *e, enum ibv_wc_status status)
{
	uroce_count(e, UROCE_REQ_CQE_ERROR, 1);
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
		uroce_count(e, UROCE_REQ_CQE_FLUSH_ERROR, 1);
		break;
	case IBV_WC_REM_INV_REQ_ERR:
		uroce_count(e, UROCE_REQ_REMOTE_INVALID_REQUEST, 1);
		break;
	case IBV_WC_REM_ACCESS_ERR:
		uroce_count(e, UROCE_REQ_REMOTE_ACCESS_ERRORS, 1);
		break;
	case IBV_WC_RETRY_EXC_ERR:
		uroce_count(e, UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED, 1);
		break;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		uroce_count(e, UROCE_REQ_RNR_RETRIES_EXCEEDED, 1);
		break;
	default:
		break;
	}
}

void
uroce_count_recv_error(struct uroce_engine *e, enum ibv_wc_status status)
{
	uroce_count(e, UROCE_RESP_CQE_ERROR, 1);
	if (status == IBV_WC_WR_FLUSH_ERR)
		uroce_count(e, UROCE_RESP_CQE_FLUSH_ERROR, 1);
	else if (status == IBV_WC_LOC_LEN_ERR)
		uroce_count(e, UROCE_RESP_LOCAL_LENGTH_ERROR, 1);
}
