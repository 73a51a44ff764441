/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes the lines of message.h. Main thread.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer/message.h"

/* Find the text after " key=". */
static const char *
find(const char *line, const char *key)
{
	const size_t length = strlen(key);
	const char *p = line;

	while ((p = strchr(p, ' ')) != NULL) {
		p++;
		if (strncmp(p, key, length) == 0 && p[length] == '=')
			return p + length + 1;
	}
	return NULL;
}

int
uroce_perf_message_number(const char *line, const char *key, uint64_t min, uint64_t max,
			  uint64_t *value)
{
	const char *text = find(line, key);
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -EPROTO;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno != 0 || (*end != '\0' && *end != ' ') || *value < min || *value > max)
		return -EPROTO;
	return 0;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
uroce_perf_message_gid(const char *line, const char *key, union ibv_gid *gid)
{
	const char *text = find(line, key);

	if (text == NULL)
		return -EPROTO;
	for (unsigned int i = 0; i < sizeof(gid->raw); i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return -EPROTO;
		gid->raw[i] = (uint8_t)(high << 4 | low);
	}
	return text[32] == '\0' || text[32] == ' ' ? 0 : -EPROTO;
}

bool
uroce_perf_message_is(const char *line, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(line, word, length) == 0 && (line[length] == '\0' || line[length] == ' ');
}

int
uroce_perf_message_greeting(const char *line, const char *word, char *error, size_t room)
{
	unsigned long version;
	char *end;

	if (!uroce_perf_message_is(line, "uroce-perf") || line[10] != ' ') {
		snprintf(error, room, "the peer is not uroce-perf: check the address");
		return -1;
	}
	version = strtoul(line + 11, &end, 10);
	if (version != PERF_OOB_VERSION) {
		snprintf(error, room,
			 "the peer has version %lu of the handshake, this uroce-perf has version %u: use the same "
			 "release at both ends",
			 version, PERF_OOB_VERSION);
		return -1;
	}
	if (*end != ' ' || !uroce_perf_message_is(end + 1, word)) {
		snprintf(error, room,
			 "the peer is not a %s: run one end with --server, the other with --client",
			 strcmp(word, "hello") == 0 ? "client" : "server");
		return -1;
	}
	return 0;
}

void
uroce_perf_gid_print(const union ibv_gid *gid, char text[33])
{
	for (unsigned int i = 0; i < sizeof(gid->raw); i++)
		snprintf(text + 2 * i, 3, "%02x", gid->raw[i]);
}

int
uroce_perf_send_params(struct perf_conn *conn, const struct perf_params *p)
{
	return uroce_perf_conn_send(conn,
				    "row op=%u transport=%u mode=%u size=%u mtu=%u qps=%u depth=%u buffers=%u "
				    "rd_atomic=%u verify=%u fault=%lld",
				    p->op, p->transport, p->mode, p->size, p->mtu, p->qps, p->depth, p->buffers,
				    p->rd_atomic, p->verify, (long long)(p->fault + 1));
}

int
uroce_perf_parse_params(const char *line, struct perf_params *p)
{
	uint64_t op, transport, mode, size, mtu, qps, depth, buffers, rd_atomic, verify, fault;

	if (!uroce_perf_message_is(line, "row") ||
	    uroce_perf_message_number(line, "op", 0, PERF_OP_COUNT - 1, &op) != 0 ||
	    uroce_perf_message_number(line, "transport", 0, PERF_TRANSPORT_COUNT - 1, &transport) !=
		    0 ||
	    uroce_perf_message_number(line, "mode", 0, PERF_MODE_COUNT - 1, &mode) != 0 ||
	    uroce_perf_message_number(line, "size", 0, UROCE_PERF_MAX_SIZE, &size) != 0 ||
	    uroce_perf_message_number(line, "mtu", 256, 4096, &mtu) != 0 ||
	    uroce_perf_message_number(line, "qps", 1, UROCE_PERF_MAX_QPS, &qps) != 0 ||
	    uroce_perf_message_number(line, "depth", 1, UROCE_MAX_QP_WR, &depth) != 0 ||
	    uroce_perf_message_number(line, "buffers", 0, UROCE_PERF_BUFFER_BYTES, &buffers) != 0 ||
	    uroce_perf_message_number(line, "rd_atomic", 1, UROCE_MAX_RD_ATOMIC, &rd_atomic) != 0 ||
	    uroce_perf_message_number(line, "verify", 0, 1, &verify) != 0 ||
	    uroce_perf_message_number(line, "fault", 0, (uint64_t)INT32_MAX + 1, &fault) != 0)
		return -EPROTO;
	if ((uroce_perf_transports[transport].ops & 1u << op) == 0)
		return -EPROTO;
	if ((mtu & (mtu - 1)) != 0 || (uroce_perf_ops[op].atomic && size != 8))
		return -EPROTO;
	*p = (struct perf_params){
		.op = (enum perf_op)op,
		.transport = (enum perf_transport)transport,
		.mode = (enum perf_mode)mode,
		.size = (uint32_t)size,
		.mtu = (uint32_t)mtu,
		.qps = (uint32_t)qps,
		.depth = (uint32_t)depth,
		.buffers = (uint32_t)buffers,
		.rd_atomic = (uint32_t)rd_atomic,
		.verify = verify != 0,
		.fault = (int64_t)fault - 1,
	};
	return 0;
}

int
uroce_perf_send_qp(struct perf_conn *conn, uint32_t index, const struct perf_qp_info *info)
{
	char gid[33];

	uroce_perf_gid_print(&info->gid, gid);
	return uroce_perf_conn_send(conn,
				    "qp index=%u qpn=%u psn=%u gid=%s rkey=%u out=%llu in=%llu "
				    "credit=%llu",
				    index, info->qpn, info->psn, gid, info->rkey,
				    (unsigned long long)info->out, (unsigned long long)info->in,
				    (unsigned long long)info->credit);
}

int
uroce_perf_parse_qp(const char *line, uint32_t index, struct perf_qp_info *info)
{
	uint64_t value, qpn, psn, rkey;

	if (!uroce_perf_message_is(line, "qp") ||
	    uroce_perf_message_number(line, "index", index, index, &value) != 0 ||
	    uroce_perf_message_number(line, "qpn", 2, 0xfffffe, &qpn) != 0 ||
	    uroce_perf_message_number(line, "psn", 0, 0xffffff, &psn) != 0 ||
	    uroce_perf_message_number(line, "rkey", 0, UINT32_MAX, &rkey) != 0 ||
	    uroce_perf_message_number(line, "out", 0, UINT64_MAX, &info->out) != 0 ||
	    uroce_perf_message_number(line, "in", 0, UINT64_MAX, &info->in) != 0 ||
	    uroce_perf_message_number(line, "credit", 0, UINT64_MAX, &info->credit) != 0)
		return -EPROTO;
	info->qpn = (uint32_t)qpn;
	info->psn = (uint32_t)psn;
	info->rkey = (uint32_t)rkey;
	return uroce_perf_message_gid(line, "gid", &info->gid);
}

int
uroce_perf_send_verdict(struct perf_conn *conn, const struct perf_verdict *v)
{
	return uroce_perf_conn_send(
		conn,
		"result received=%llu verified=%llu errors=%llu "
		"retransmits=%llu text=%.*s",
		(unsigned long long)v->received, (unsigned long long)v->verified_bytes,
		(unsigned long long)v->errors, (unsigned long long)v->retransmits,
		PERF_TEXT_BYTES - 1, v->text);
}

int
uroce_perf_parse_verdict(const char *line, struct perf_verdict *v)
{
	const char *text;

	if (!uroce_perf_message_is(line, "result") ||
	    uroce_perf_message_number(line, "received", 0, UINT64_MAX, &v->received) != 0 ||
	    uroce_perf_message_number(line, "verified", 0, UINT64_MAX, &v->verified_bytes) != 0 ||
	    uroce_perf_message_number(line, "errors", 0, UINT64_MAX, &v->errors) != 0 ||
	    uroce_perf_message_number(line, "retransmits", 0, UINT64_MAX, &v->retransmits) != 0)
		return -EPROTO;
	text = find(line, "text");
	snprintf(v->text, sizeof(v->text), "%s", text == NULL ? "" : text);
	return 0;
}
