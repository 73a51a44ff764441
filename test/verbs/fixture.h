/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Common set-up and tear-down functions for cmocka: the fake device with a pair, and one QP or one XRC domain, for each
 * test.
 */

#ifndef UROCE_TEST_VERBS_FIXTURE_H
#define UROCE_TEST_VERBS_FIXTURE_H

#include "fake.h"

extern struct fake_pair pair;
int pair_setup(void **state);
int pair_teardown(void **state);

/* with a QP in RESET */
extern struct uroce_qp *qp;
int qp_setup(void **state);
int qp_teardown(void **state);

/* with an XRC domain */
extern struct ibv_xrcd *xrcd;
int xrcd_setup(void **state);
int xrcd_teardown(void **state);
/* Opens another XRC domain. */
struct ibv_xrcd *open_xrcd(void);

#endif /* UROCE_TEST_VERBS_FIXTURE_H */
