/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * See records.h. A work request's wr_id is its index in the record.
 */

#include "records.h"

#include <rte_debug.h>

static struct record {
	uint8_t queue;
	bool signalled;
	bool done; /* completed, or needs no completion any more */
} records[RECORDS_MAX];

static unsigned int count;
static uint64_t last[RECORDS_QUEUES]; /* one more than the last completed wr_id */

void
records_reset(void)
{
	count = 0;
	for (unsigned int i = 0; i < RECORDS_QUEUES; i++)
		last[i] = 0;
}

bool
records_full(void)
{
	return count == RECORDS_MAX;
}

uint64_t
records_add(unsigned int queue, bool signalled)
{
	RTE_VERIFY(count < RECORDS_MAX && queue < RECORDS_QUEUES);
	records[count] = (struct record){ (uint8_t)queue, signalled, false };
	return count++;
}

void
records_remove(void)
{
	count--;
}

void
records_complete(const struct ibv_wc *wc)
{
	struct record *r;

	RTE_VERIFY(wc->wr_id < count);
	r = &records[wc->wr_id];
	RTE_VERIFY(!r->done);
	/* R42: an unsignaled request completes only with an error */
	RTE_VERIFY(r->signalled || wc->status != IBV_WC_SUCCESS);
	RTE_VERIFY(wc->wr_id >= last[r->queue]);
	last[r->queue] = wc->wr_id + 1;
	r->done = true;
}

void
records_forget(unsigned int queue)
{
	for (unsigned int i = 0; i < count; i++)
		if (records[i].queue == queue)
			records[i].done = true;
}

void
records_settle(unsigned int queue)
{
	for (unsigned int i = 0; i < count; i++)
		RTE_VERIFY(records[i].queue != queue || records[i].done || !records[i].signalled);
}
