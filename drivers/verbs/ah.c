/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: ibv_create_ah(3). Like the kernel, it refuses an address handle without a GID, since RoCE has no
 * LIDs. The exception is a path to the port's own LID: librdmacm's rsockets create one for each QP, to send the QP
 * the datagrams that arrived over UDP before the peers knew each other. Such a handle gets the GID of one of the
 * port's addresses. Any thread of the program.
 */

#include <infiniband/verbs.h>

#include "ah.h"
#include "ucma/cdev.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "verbs/address/path.h"

bool
uroce_lid_resolve(struct ibv_context *context, struct ibv_ah_attr *attr)
{
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;

	if (attr->is_global != 0 || uroce_query_port(context, attr->port_num, &port) != 0 || attr->dlid != port.lid)
		return false;
	for (uint8_t i = 0; i < UROCE_MAX_GID; i++) {
		if (uroce_query_gid_ex(context, attr->port_num, i, &entry, 0) != 0)
			continue;
		attr->is_global = 1;
		attr->grh = (struct ibv_global_route){ .dgid = entry.gid, .sgid_index = i, .hop_limit = 1 };
		return true;
	}
	return false;
}

/* Wait for the MAC address, so that the program can fill its send queue at once, as with the kernel. */
struct ibv_ah *
ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah_attr own = *attr;
	struct ibv_ah *ah;

	if (attr->is_global == 0 && uroce_cdev_is_librdmacm(__builtin_return_address(0)))
		uroce_lid_resolve(pd->context, &own);
	ah = uroce_create_ah(pd, &own);
	if (ah != NULL)
		uroce_path_wait(uroce_device_of(ah->context), &uroce_ah_of(ah)->path);
	return ah;
}

struct ibv_ah *
ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah *ah = uroce_create_ah_from_wc(pd, wc, grh, port_num);

	if (ah != NULL)
		uroce_path_wait(uroce_device_of(ah->context), &uroce_ah_of(ah)->path);
	return ah;
}
