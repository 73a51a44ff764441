/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What goes on the wire: capsules, commands, completions and data structures of NVMe 1.4 and NVMe over Fabrics 1.1, as
 * far as the target uses them: other fields of structures are reserved here. All are little-endian.
 */

#ifndef UROCE_NVMF_NVME_H
#define UROCE_NVMF_NVME_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define NVME_NQN_BYTES 256		/* of the field; the text ends with a zero */
#define NVME_NQN_MAX 223		/* longest text */
#define NVME_DISCOVERY_NQN "nqn.2014-08.org.nvmexpress.discovery"
#define NVME_PAGE_BYTES 4096		/* CAP.MPSMIN */
#define NVME_NSID_ALL 0xffffffffu
#define NVME_CNTLID_DYNAMIC 0xffff
#define NVME_CNTLID_MAX 0xffef

/* Types of SGL descriptors: type << 4 | subtype */
enum nvme_sgl_type {
	NVME_SGL_IN_CAPSULE = 0x01,	/* data block, offset */
	NVME_SGL_KEYED = 0x40,		/* keyed data block, address */
	NVME_SGL_KEYED_INVALIDATE = 0x4f,	/* the same; the response invalidates the key */
};

struct nvme_sgl {
	union {
		struct {
			rte_le64_t addr;
			uint8_t length[3];
			uint8_t key[4];
			uint8_t type;
		} keyed;
		struct {
			rte_le64_t offset;
			rte_le32_t length;
			uint8_t reserved[3];
			uint8_t type;
		} block;
	};
} __attribute__((packed));

static_assert(sizeof(struct nvme_sgl) == 16, "an SGL descriptor");

/* Bits of nvme_command.flags */
#define NVME_FUSED_MASK 0x03
#define NVME_PSDT_MASK 0xc0
#define NVME_PSDT_SGL 0x40		/* an SGL; the only transfer of fabrics */

struct nvme_command {
	uint8_t opcode;
	uint8_t flags;
	rte_le16_t cid;
	union {
		rte_le32_t nsid;
		struct {
			uint8_t fctype;
			uint8_t reserved[3];
		} fabrics;
	};
	rte_le32_t cdw2;
	rte_le32_t cdw3;
	rte_le64_t metadata;
	struct nvme_sgl sgl;
	union {
		rte_le32_t cdw[6];	/* CDW10 to CDW15 */
		struct {
			rte_le16_t recfmt;
			rte_le16_t qid;
			rte_le16_t sqsize;
			uint8_t cattr;
			uint8_t reserved;
			rte_le32_t kato_ms;
		} connect;
		struct {
			uint8_t attrib;
			uint8_t reserved[3];
			rte_le32_t offset;
			rte_le64_t value;
		} property;
		struct {
			uint8_t reserved;
			uint8_t spsp0;		/* of the security protocol: 1 */
			uint8_t spsp1;		/* 1 */
			uint8_t secp;		/* NVME_SECURITY_PROTOCOL */
			rte_le32_t bytes;
		} auth;
		struct {
			rte_le64_t slba;
			rte_le16_t blocks;	/* minus 1 */
			rte_le16_t control;
			rte_le32_t dsm;
		} rw;
	};
} __attribute__((packed));

static_assert(sizeof(struct nvme_command) == 64, "a submission queue entry");

struct nvme_completion {
	union {
		rte_le64_t result;
		rte_le32_t dw0;
	};
	rte_le16_t sqhd;
	rte_le16_t sqid;
	rte_le16_t cid;
	rte_le16_t status;		/* status << 1; the phase tag is 0 in fabrics */
} __attribute__((packed));

static_assert(sizeof(struct nvme_completion) == 16, "a completion queue entry");

enum nvme_fabrics_type {
	NVME_FABRICS_PROPERTY_SET = 0x00,
	NVME_FABRICS_CONNECT = 0x01,
	NVME_FABRICS_PROPERTY_GET = 0x04,
	NVME_FABRICS_AUTH_SEND = 0x05,
	NVME_FABRICS_AUTH_RECEIVE = 0x06,
	NVME_FABRICS_DISCONNECT = 0x08,
};

#define NVME_OPCODE_FABRICS 0x7f
#define NVME_SECURITY_PROTOCOL 0xe9		/* NVMe, of Authentication Send and Receive */
#define NVME_CONNECT_AUTH_REQUIRED (1u << 17)	/* in the result of Connect */

enum nvme_admin_opcode {
	NVME_ADMIN_GET_LOG_PAGE = 0x02,
	NVME_ADMIN_IDENTIFY = 0x06,
	NVME_ADMIN_ABORT = 0x08,
	NVME_ADMIN_SET_FEATURES = 0x09,
	NVME_ADMIN_GET_FEATURES = 0x0a,
	NVME_ADMIN_ASYNC_EVENT = 0x0c,
	NVME_ADMIN_KEEP_ALIVE = 0x18,
};

enum nvme_io_opcode {
	NVME_IO_FLUSH = 0x00,
	NVME_IO_WRITE = 0x01,
	NVME_IO_READ = 0x02,
	NVME_IO_COMPARE = 0x05,
	NVME_IO_WRITE_ZEROES = 0x08,
	NVME_IO_DSM = 0x09,
	NVME_IO_VERIFY = 0x0c,
};

/* Direction of the data: the two low bits of an opcode, or of the type of a fabrics command */
enum nvme_direction {
	NVME_NO_DATA = 0,
	NVME_TO_TARGET = 1,
	NVME_TO_HOST = 2,
	NVME_BOTH_WAYS = 3,
};

/* Status: type << 8 | code */
enum nvme_status {
	NVME_SUCCESS = 0x000,
	NVME_INVALID_OPCODE = 0x001,
	NVME_INVALID_FIELD = 0x002,
	NVME_INTERNAL_ERROR = 0x006,
	NVME_ABORTED_BY_REQUEST = 0x007,
	NVME_INVALID_NAMESPACE = 0x00b,
	NVME_COMMAND_SEQUENCE = 0x00c,
	NVME_SGL_LENGTH_INVALID = 0x00f,
	NVME_SGL_TYPE_INVALID = 0x011,
	NVME_SGL_OFFSET_INVALID = 0x016,
	NVME_WRITE_PROTECTED = 0x020,
	NVME_LBA_OUT_OF_RANGE = 0x080,
	NVME_CAPACITY_EXCEEDED = 0x081,
	NVME_ASYNC_EVENT_LIMIT = 0x105,
	NVME_INVALID_LOG_PAGE = 0x109,
	NVME_FEATURE_NOT_SAVEABLE = 0x10d,
	NVME_FEATURE_NOT_CHANGEABLE = 0x10e,
	NVME_CONNECT_FORMAT = 0x180,
	NVME_CONNECT_BUSY = 0x181,
	NVME_CONNECT_INVALID_PARAM = 0x182,
	NVME_CONNECT_INVALID_HOST = 0x184,
	NVME_AUTH_REQUIRED = 0x191,
	NVME_WRITE_FAULT = 0x280,
	NVME_READ_ERROR = 0x281,
	NVME_COMPARE_FAILURE = 0x285,
	NVME_DO_NOT_RETRY = 0x4000,	/* a bit beside the status */
};

/* The data of Connect */
struct nvme_connect_data {
	uint8_t hostid[16];
	rte_le16_t cntlid;
	uint8_t reserved[238];
	char subnqn[NVME_NQN_BYTES];
	char hostnqn[NVME_NQN_BYTES];
	uint8_t reserved2[256];
};

static_assert(sizeof(struct nvme_connect_data) == 1024, "the data of Connect");

/* Properties (controller registers) */
enum nvme_property {
	NVME_PROPERTY_CAP = 0x00,
	NVME_PROPERTY_VS = 0x08,
	NVME_PROPERTY_CC = 0x14,
	NVME_PROPERTY_CSTS = 0x1c,
};

#define NVME_VERSION_1_4 0x00010400u
#define NVME_CC_ENABLE 0x1u
#define NVME_CC_CSS 0x70u
#define NVME_CC_MPS 0x780u
#define NVME_CC_SHUTDOWN 0xc000u
#define NVME_CC_IOSQES_SHIFT 16
#define NVME_CC_IOCQES_SHIFT 20
#define NVME_CSTS_READY 0x1u
#define NVME_CSTS_FATAL 0x2u
#define NVME_CSTS_SHUTDOWN_DONE 0x8u

/* Private data of the CM */
struct nvme_cm_request {
	rte_le16_t recfmt;
	rte_le16_t qid;
	rte_le16_t hrqsize;
	rte_le16_t hsqsize;		/* minus 1 */
	rte_le16_t cntlid;
	uint8_t reserved[22];
};

static_assert(sizeof(struct nvme_cm_request) == 32, "private data of a REQ");

struct nvme_cm_accept {
	rte_le16_t recfmt;
	rte_le16_t crqsize;
	uint8_t reserved[28];
};

static_assert(sizeof(struct nvme_cm_accept) == 32, "private data of a REP");

struct nvme_cm_reject {
	rte_le16_t recfmt;
	rte_le16_t status;
};

enum nvme_cm_status {
	NVME_CM_INVALID_LENGTH = 1,
	NVME_CM_INVALID_RECFMT = 2,
	NVME_CM_INVALID_QID = 3,
	NVME_CM_INVALID_HSQSIZE = 4,
	NVME_CM_INVALID_HRQSIZE = 5,
	NVME_CM_NO_RESOURCES = 6,
};

/* Identify */
enum nvme_cns {
	NVME_CNS_NAMESPACE = 0x00,
	NVME_CNS_CONTROLLER = 0x01,
	NVME_CNS_ACTIVE_NAMESPACES = 0x02,
	NVME_CNS_DESCRIPTORS = 0x03,
	NVME_CNS_CSI_NAMESPACE = 0x05,
	NVME_CNS_CSI_CONTROLLER = 0x06,
	NVME_CNS_COMMAND_SETS = 0x1c,
};

struct nvme_identify_controller {
	uint8_t reserved0[4];
	char serial[20];
	char model[40];
	char firmware[8];
	uint8_t reserved72[4];
	uint8_t cmic;
	uint8_t mdts;
	rte_le16_t cntlid;
	rte_le32_t version;
	uint8_t reserved84[8];
	rte_le32_t oaes;
	uint8_t reserved96[15];
	uint8_t cntrltype;
	uint8_t reserved112[146];
	uint8_t acl;			/* 258 */
	uint8_t aerl;
	uint8_t frmw;
	uint8_t lpa;
	uint8_t reserved262[58];
	rte_le16_t kas;			/* 320 */
	uint8_t reserved322[190];
	uint8_t sqes;			/* 512 */
	uint8_t cqes;
	rte_le16_t maxcmd;
	rte_le32_t nn;
	rte_le16_t oncs;
	uint8_t reserved522[3];
	uint8_t vwc;
	uint8_t reserved526[10];
	rte_le32_t sgls;
	uint8_t reserved540[228];
	char subnqn[NVME_NQN_BYTES];	/* 768 */
	uint8_t reserved1024[768];
	rte_le32_t ioccsz;		/* 1792, units of 16 bytes */
	rte_le32_t iorcsz;
	uint8_t reserved1800[3];
	uint8_t msdbd;
	uint8_t reserved1804[2292];
} __attribute__((packed));

static_assert(sizeof(struct nvme_identify_controller) == 4096, "identify controller");

struct nvme_identify_namespace {
	rte_le64_t nsze;
	rte_le64_t ncap;
	rte_le64_t nuse;
	uint8_t reserved24[6];
	uint8_t nmic;
	uint8_t reserved31[2];
	uint8_t dlfeat;
	uint8_t reserved34[65];
	uint8_t nsattr;			/* 99 */
	uint8_t reserved100[4];
	uint8_t nguid[16];
	uint8_t eui64[8];
	struct {
		rte_le16_t metadata;
		uint8_t data_shift;
		uint8_t performance;
	} lbaf[16];
	uint8_t reserved192[3904];
} __attribute__((packed));

static_assert(sizeof(struct nvme_identify_namespace) == 4096, "identify namespace");

enum nvme_descriptor {
	NVME_DESCRIPTOR_NGUID = 2,
	NVME_DESCRIPTOR_UUID = 3,
	NVME_DESCRIPTOR_CSI = 4,
};

/* ASCII text of a structure, padded with spaces */
static inline void
uroce_nvme_set_text(char *to, size_t bytes, const char *from)
{
	size_t n = strnlen(from, bytes);

	memcpy(to, from, n);
	memset(to + n, ' ', bytes - n);
}

/* Log pages */
enum nvme_log {
	NVME_LOG_ERROR = 0x01,
	NVME_LOG_SMART = 0x02,
	NVME_LOG_FIRMWARE = 0x03,
	NVME_LOG_CHANGED_NAMESPACES = 0x04,
	NVME_LOG_EFFECTS = 0x05,
	NVME_LOG_DISCOVERY = 0x70,
};

#define NVME_CHANGED_NAMESPACES 1024	/* entries of the log */

struct nvme_discovery_entry {
	uint8_t trtype;
	uint8_t adrfam;
	uint8_t subtype;
	uint8_t treq;
	rte_le16_t portid;
	rte_le16_t cntlid;
	rte_le16_t asqsz;
	uint8_t reserved10[22];
	char trsvcid[32];
	uint8_t reserved64[192];
	char subnqn[NVME_NQN_BYTES];
	char traddr[256];
	struct {
		uint8_t qptype;
		uint8_t prtype;
		uint8_t cms;
		uint8_t reserved[5];
		rte_le16_t pkey;
		uint8_t reserved2[246];
	} rdma;
} __attribute__((packed));

static_assert(sizeof(struct nvme_discovery_entry) == 1024, "an entry of the discovery log");

struct nvme_discovery_log {
	rte_le64_t generation;
	rte_le64_t records;
	rte_le16_t recfmt;
	uint8_t reserved[1006];
	struct nvme_discovery_entry entries[];
} __attribute__((packed));

static_assert(sizeof(struct nvme_discovery_log) == 1024, "the head of the discovery log");

/* Features */
enum nvme_feature {
	NVME_FEATURE_ARBITRATION = 0x01,
	NVME_FEATURE_POWER = 0x02,
	NVME_FEATURE_TEMPERATURE = 0x04,
	NVME_FEATURE_ERROR_RECOVERY = 0x05,
	NVME_FEATURE_WRITE_CACHE = 0x06,
	NVME_FEATURE_QUEUES = 0x07,
	NVME_FEATURE_ATOMICITY = 0x0a,
	NVME_FEATURE_ASYNC_EVENTS = 0x0b,
	NVME_FEATURE_KEEP_ALIVE = 0x0f,
	NVME_FEATURE_HOST_ID = 0x81,
};

#define NVME_EVENT_NAMESPACE (1u << 8)	/* bit of async event configuration and of OAES: namespace attributes changed */
#define NVME_EVENT_NAMESPACE_CHANGED (0x02u | 0x00u << 8 | (uint32_t)NVME_LOG_CHANGED_NAMESPACES << 16)

/* Dataset management */
#define NVME_DSM_DEALLOCATE (1u << 2)	/* of CDW11 */

struct nvme_dsm_range {
	rte_le32_t attributes;
	rte_le32_t blocks;
	rte_le64_t slba;
};

#define NVME_CONTROL_FUA (1u << 14)	/* of nvme_command.rw.control */
#define NVME_CONTROL_PRINFO 0x3c00u

#endif /* UROCE_NVMF_NVME_H */
