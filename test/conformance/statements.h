/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The statements that are verbs calls, each read from its second word on. doc/reference/conformance.rst says what
 * they look like. One thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_STATEMENTS_H
#define UROCE_TEST_CONFORMANCE_STATEMENTS_H

#include "lexer.h"
#include "object.h"

struct statement {
	const char *name;
	void (*run)(struct lexer *l);
};

/* Each ends with an entry without a name. */
extern const struct statement control_statements[];	/* control.c: objects, made and destroyed */
extern const struct statement qp_statements[];		/* qp.c: queue pairs and their states */
extern const struct statement work_statements[];	/* work.c: work requests, completions, events */
extern const struct statement guess_statements[];	/* guess.c: numbers that nobody should guess */

/** "= EBUSY", or nothing for 0, then the end of the statement: is this what a call has returned? */
void statement_result(struct lexer *l, const char *call, int error);
/** Destroy everything that is left, in a good order. Fails the script when that cannot be done. */
void control_destroy_all(struct lexer *l);
/** "local_write|remote_read", "none" */
unsigned int control_access(struct lexer *l);
/** The QP that frames are for when they do not say: the first. */
const struct object *qp_first(void);
/** What a QP is connected with, where nothing else is said. */
struct ibv_qp_attr qp_usual_attributes(void);
/** From RESET to INIT, RTR, RTS, with what each step needs of attr. @return 0 or an error, of the step to
 * attr->qp_state */
int qp_connect(struct ibv_qp *qp, enum ibv_qp_state to, struct ibv_qp_attr *attr);
/** No completion and no event may be left over. */
void work_check_empty(struct lexer *l);

#endif /* UROCE_TEST_CONFORMANCE_STATEMENTS_H */
