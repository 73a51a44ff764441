/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A client of EAL's telemetry socket, like dpdk-telemetry.py.
 */

#ifndef UROCE_TEST_PORT_TELEMETRY_CLIENT_H
#define UROCE_TEST_PORT_TELEMETRY_CLIENT_H

#include <stdint.h>

/** Start EAL, with its socket in a directory of this process. @return 0 or -1 */
int telemetry_eal_init(void);
/** Clean up EAL and its directory. */
void telemetry_eal_cleanup(void);

void telemetry_open(void);
void telemetry_close(void);

/** EAL and a client, for all tests of a group: set-up and teardown of cmocka. */
int telemetry_setup(void **state);
int telemetry_teardown(void **state);

/** Send a command; the format is printf's. @return the reply, valid until the next command */
const char *telemetry_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The reply to the command must contain this part. */
void telemetry_expect(const char *command, const char *part);
/** The reply must be null: no such object, or wrong parameters. */
void telemetry_expect_null(const char *command);
/** The number of this name in the last reply; fails if it is missing. */
uint64_t telemetry_number(const char *name);
/** The number of this name in the last reply, or `other` if it is missing. */
uint64_t telemetry_number_or(const char *name, uint64_t other);

#endif /* UROCE_TEST_PORT_TELEMETRY_CLIENT_H */
