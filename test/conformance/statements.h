/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The statements that are verbs calls, each parsed from its second word on. doc/reference/conformance.rst describes
 * them. For one thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_STATEMENTS_H
#define UROCE_TEST_CONFORMANCE_STATEMENTS_H

#include "lexer.h"
#include "object.h"

struct statement {
	const char *name;
	void (*run)(struct lexer *l);
};

/* Each table ends with an entry without a name. */
extern const struct statement control_statements[];	/* control.c: objects are created and destroyed */
extern const struct statement qp_statements[];		/* qp.c: queue pairs and their states */
extern const struct statement work_statements[];	/* work.c: work requests, completions, events */
extern const struct statement guess_statements[];	/* guess.c: numbers that must not be guessable */

/** Take "= EBUSY", or nothing for 0, and the end of the statement: the call must have returned this. */
void statement_result(struct lexer *l, const char *call, int error);
/** Destroy all remaining objects in a valid order. Fails the script if one cannot be destroyed. */
void control_destroy_all(struct lexer *l);
/** Take "local_write|remote_read" or "none". */
unsigned int control_access(struct lexer *l);
/** The default QP for frames: the first. */
const struct object *qp_first(void);
/** The default attributes for connecting a QP. */
struct ibv_qp_attr qp_usual_attributes(void);
/**
 * Take a QP from RESET to INIT, RTR, RTS, with the required ones of attr. @return 0 or the error of the transition to
 * attr->qp_state
 */
int qp_connect(struct ibv_qp *qp, enum ibv_qp_state to, struct ibv_qp_attr *attr);
/** Fails if a completion or an event is left. */
void work_check_empty(struct lexer *l);

#endif /* UROCE_TEST_CONFORMANCE_STATEMENTS_H */
