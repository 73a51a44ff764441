/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keys and numbers of many objects at once: some of them must not reveal the next. For one thread.
 */

#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "statements.h"

#define GUESSES 48		/* objects of a kind: the suite's device has room for 64 */
#define REPEATED_STEPS 8	/* limit of repeated steps: chance makes hardly one */

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static unsigned int
repeated(uint32_t *values, unsigned int n)
{
	unsigned int count = 0;

	qsort(values, n, sizeof(values[0]), compare);
	for (unsigned int i = 1; i < n; i++)
		count += values[i] == values[i - 1];
	return count;
}

/* No two values are equal, each bit of the mask varies, and the steps between values do not repeat. */
static void
check(struct lexer *l, const uint32_t *values, uint32_t mask)
{
	uint32_t sorted[GUESSES], steps[GUESSES - 1], ones = 0, zeros = 0;

	for (unsigned int i = 0; i < GUESSES; i++) {
		ones |= values[i];
		zeros |= ~values[i];
	}
	if ((ones & zeros & mask) != mask)
		lexer_fail(l, "bits 0x%x are the same in all of %d", mask & ~(ones & zeros), GUESSES);
	memcpy(sorted, values, sizeof(sorted));
	if (repeated(sorted, GUESSES) != 0)
		lexer_fail(l, "two of %d are alike", GUESSES);
	for (unsigned int i = 0; i < GUESSES - 1; i++)
		steps[i] = values[i + 1] - values[i];
	if (repeated(steps, GUESSES - 1) > REPEATED_STEPS)
		lexer_fail(l, "the steps from one to the next repeat");
}

/* unguessable rkeys: of the same memory, registered again and again */
static void
check_rkeys(struct lexer *l)
{
	struct ibv_pd *pd = object_find(l, "P", OBJECT_PD)->pd;
	static uint8_t memory[64];
	struct ibv_mr *mrs[GUESSES];
	uint32_t rkeys[GUESSES];

	for (unsigned int i = 0; i < GUESSES; i++) {
		mrs[i] = uroce_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_READ);
		RTE_VERIFY(mrs[i] != NULL);
		rkeys[i] = mrs[i]->rkey;
	}
	for (unsigned int i = 0; i < GUESSES; i++)
		RTE_VERIFY(uroce_dereg_mr(mrs[i]) == 0);
	/* the application chooses the lowest 8 bits */
	check(l, rkeys, 0xffffff00);
}

static void
check_qpns(struct lexer *l)
{
	struct ibv_cq *cq = object_find(l, "S", OBJECT_CQ)->cq;
	struct ibv_pd *pd = object_find(l, "P", OBJECT_PD)->pd;
	struct ibv_qp *qps[GUESSES];
	uint32_t qpns[GUESSES];

	for (unsigned int i = 0; i < GUESSES; i++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };

		qps[i] = uroce_create_qp(pd, &init);
		RTE_VERIFY(qps[i] != NULL);
		qpns[i] = qps[i]->qp_num;
	}
	for (unsigned int i = 0; i < GUESSES; i++)
		RTE_VERIFY(uroce_destroy_qp(qps[i]) == 0);
	check(l, qpns, 0xffffff);
}

static void
unguessable_statement(struct lexer *l)
{
	if (lexer_take(l, "rkeys")) {
		check_rkeys(l);
	} else {
		lexer_need(l, "qpns");
		check_qpns(l);
	}
	statement_result(l, "unguessable", 0);
}

const struct statement guess_statements[] = {
	{ "unguessable", unguessable_statement }, { NULL, NULL },
};
