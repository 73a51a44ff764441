/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A client of EAL's telemetry socket, as dpdk-telemetry.py is one.
 */

#ifndef UROCE_TEST_PORT_TELEMETRY_CLIENT_H
#define UROCE_TEST_PORT_TELEMETRY_CLIENT_H

#include <stdint.h>

/** Start EAL with its socket in a directory of this process. @return 0 or -1 */
int telemetry_eal_init(void);
/** End it, and remove what it leaves. */
void telemetry_eal_cleanup(void);

void telemetry_open(void);
void telemetry_close(void);

/** Send a command; the format is printf's. @return what was answered, until the next one */
const char *telemetry_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The answer to it contains this. */
void telemetry_expect(const char *command, const char *part);
/** ... is null: there is no such thing, or the parameters are wrong. */
void telemetry_expect_null(const char *command);
/** The number of this name in the last answer; fails where there is none. */
uint64_t telemetry_number(const char *name);
/** ... or else, when there is none. */
uint64_t telemetry_number_or(const char *name, uint64_t other);

#endif /* UROCE_TEST_PORT_TELEMETRY_CLIENT_H */
