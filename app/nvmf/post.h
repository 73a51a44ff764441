/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The work requests of a queue. When one cannot be posted, the queue is dead.
 */

#ifndef UROCE_NVMF_POST_H
#define UROCE_NVMF_POST_H

#include <stdbool.h>

struct nvmf_capsule;
struct nvmf_request;

/* wr_id: the address of a capsule or request, with the kind in its low bits */
enum nvmf_wr_kind {
	NVMF_WR_RECV,
	NVMF_WR_FETCH,
	NVMF_WR_RESPONSE,
	NVMF_WR_KIND_MASK = 3,
};

/** Post the receive of a capsule. @return 0 or an errno */
int uroce_nvmf_post_receive(struct nvmf_capsule *c);
/** Begin the RDMA READ of a request's data. @return false: the queue is dead */
bool uroce_nvmf_post_fetch(struct nvmf_request *req);
/** Post the receive again, and send the completion, after an RDMA WRITE of the data if with_data. @return as above */
bool uroce_nvmf_post_response(struct nvmf_request *req, bool with_data);

#endif /* UROCE_NVMF_POST_H */
