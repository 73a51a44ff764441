/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A memory window on an end's memory.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "end.h"
#include "line.h"

int
window_close(void)
{
	int ret = self.mw == NULL ? 0 : VERB(dealloc_mw)(self.mw);

	self.mw = NULL;
	return ret;
}

/* Type 1 by its call, type 2 by a work request; both complete on the CQ, with wr_id 0. */
static int
bind(const struct ibv_mw_bind_info *info, uint8_t key)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = *info };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = self.mw,
			.rkey = (self.mw->rkey & ~0xffu) | key,
			.bind_info = *info,
		},
	};
	int ret;

	if (self.mw->type == IBV_MW_TYPE_1)
		return VERB(bind_mw)(self.qps[0], self.mw, &bind);
	ret = VERB(post_send)(self.qps[0], &wr, &bad);
	if (ret == 0)
		self.mw->rkey = wr.bind_mw.rkey;
	return ret;
}

void
do_bind(const char *line)
{
	struct ibv_mw_bind_info info = {
		.mr = self.mr,
		.addr = (uintptr_t)self.memory + line_number(line, "at", 0),
		.length = line_number(line, "len", 0),
		.mw_access_flags = (unsigned int)line_number(line, "access", 0),
	};
	enum ibv_mw_type type = line_number(line, "type", 2) == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	int ret;

	if (self.mw != NULL && self.mw->type != type)
		window_close();
	if (self.mw == NULL)
		self.mw = VERB(alloc_mw)(pd, type);
	if (self.mw == NULL) {
		printf("error alloc_mw: %s\n", strerror(errno));
		return;
	}
	ret = bind(&info, (uint8_t)line_number(line, "key", 0));
	if (ret == 0)
		printf("ok rkey=%u\n", self.mw->rkey);
	else
		printf("error bind: %s\n", strerror(ret));
}
