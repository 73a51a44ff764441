/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Includes the kernel's <rdma/rdma_user_cm.h> together with librdmacm's <rdma/rdma_cma.h>. Both define these names,
 * with the same values, and C accepts only one definition. Also defines the commands of Linux 6.18 for older headers.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_UCMA_ABI_H
#define UROCE_DRIVERS_VERBS_UCMA_UCMA_ABI_H

#include <assert.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

#define RDMA_PS_IPOIB KERNEL_PS_IPOIB
#define RDMA_PS_IB KERNEL_PS_IB
#define RDMA_PS_TCP KERNEL_PS_TCP
#define RDMA_PS_UDP KERNEL_PS_UDP
#define RDMA_MC_JOIN_FLAG_FULLMEMBER KERNEL_MC_JOIN_FLAG_FULLMEMBER
#define RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER KERNEL_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
#define RDMA_MC_JOIN_FLAG_RESERVED KERNEL_MC_JOIN_FLAG_RESERVED
#define RDMA_OPTION_ID KERNEL_OPTION_ID
#define RDMA_OPTION_IB KERNEL_OPTION_IB
#define RDMA_OPTION_ID_TOS KERNEL_OPTION_ID_TOS
#define RDMA_OPTION_ID_REUSEADDR KERNEL_OPTION_ID_REUSEADDR
#define RDMA_OPTION_ID_AFONLY KERNEL_OPTION_ID_AFONLY
#define RDMA_OPTION_ID_ACK_TIMEOUT KERNEL_OPTION_ID_ACK_TIMEOUT
#define RDMA_OPTION_IB_PATH KERNEL_OPTION_IB_PATH
#include <rdma/rdma_user_cm.h>
#undef RDMA_PS_IPOIB
#undef RDMA_PS_IB
#undef RDMA_PS_TCP
#undef RDMA_PS_UDP
#undef RDMA_MC_JOIN_FLAG_FULLMEMBER
#undef RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
#undef RDMA_MC_JOIN_FLAG_RESERVED
#undef RDMA_OPTION_ID
#undef RDMA_OPTION_IB
#undef RDMA_OPTION_ID_TOS
#undef RDMA_OPTION_ID_REUSEADDR
#undef RDMA_OPTION_ID_AFONLY
#undef RDMA_OPTION_ID_ACK_TIMEOUT
#undef RDMA_OPTION_IB_PATH

enum { UROCE_UCMA_CMD_RESOLVE_IB_SERVICE = 23, UROCE_UCMA_CMD_WRITE_CM_EVENT = 24 };
enum { UROCE_UCMA_QUERY_IB_SERVICE = 3 };
enum { UROCE_UCMA_EVENT_USER = 18, UROCE_UCMA_EVENT_INTERNAL = 19 };

struct uroce_ucma_resolve_ib_service {
	uint32_t id;
	uint32_t reserved;
	uint64_t service_id;
	uint8_t service_name[64];
	uint32_t flags;
	uint32_t reserved2;
};
static_assert(sizeof(struct uroce_ucma_resolve_ib_service) == 88, "the kernel's ABI");

struct uroce_ucma_query_ib_service_resp {
	uint32_t num_service_recs;
	uint32_t reserved;
};

struct uroce_ucma_write_cm_event {
	uint32_t id;
	uint32_t reserved;
	uint32_t event;
	uint32_t status;
	union {
		struct rdma_ucm_conn_param conn;
		struct rdma_ucm_ud_param ud;
		uint64_t arg;
	} param;
};
static_assert(sizeof(struct uroce_ucma_write_cm_event) == 320, "the kernel's ABI");

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_ABI_H */
