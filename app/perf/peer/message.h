/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The lines that two processes exchange: a word, then key=value pairs. Every value received is checked
 * against its limits.
 *
 *	client					server
 *	uroce-perf 2 hello to=GID	->
 *					<-	uroce-perf 2 welcome mtu= rd_atomic=
 * for each row:
 *	row op= transport= ...		->
 *	qp index= qpn= psn= ...	(each)	->
 *					<-	qp index= ... (each)	or: error TEXT
 *	alive	(several times a second)	->
 *	count index= ops= (atomics)	->
 *	done ops= failed=		->
 *					<-	result received= verified= errors= retransmits= TEXT
 */

#ifndef UROCE_PERF_PEER_MESSAGE_H
#define UROCE_PERF_PEER_MESSAGE_H

#include <stdint.h>

#include "measure/endpoint.h"
#include "peer/oob.h"
#include "measure/server.h"

#define PERF_OOB_VERSION 3

/** Find " key=" and its decimal value. @return 0; -EPROTO: missing, not a number, not min..max */
int uroce_perf_message_number(const char *line, const char *key, uint64_t min, uint64_t max,
			      uint64_t *value);
/** Find " key=" and its GID of 32 hexadecimal digits. @return as above */
int uroce_perf_message_gid(const char *line, const char *key, union ibv_gid *gid);
/** Does the line begin with this word? */
bool uroce_perf_message_is(const char *line, const char *word);

/** Check "uroce-perf VERSION word". @return 0, or -1 and the reason */
int uroce_perf_message_greeting(const char *line, const char *word, char *error, size_t room);

void uroce_perf_gid_print(const union ibv_gid *gid, char text[33]);

int uroce_perf_send_params(struct perf_conn *conn, const struct perf_params *p);
/** @return 0 or -EPROTO */
int uroce_perf_parse_params(const char *line, struct perf_params *p);

int uroce_perf_send_qp(struct perf_conn *conn, uint32_t index, const struct perf_qp_info *info);
/** Parse the line of QP `index`. @return 0 or -EPROTO, also for another index */
int uroce_perf_parse_qp(const char *line, uint32_t index, struct perf_qp_info *info);

int uroce_perf_send_verdict(struct perf_conn *conn, const struct perf_verdict *v);
int uroce_perf_parse_verdict(const char *line, struct perf_verdict *v);

#endif /* UROCE_PERF_PEER_MESSAGE_H */
