/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ctrl-C: the first ends the run and has the results printed, the second ends the process.
 */

#ifndef UROCE_APP_SIGNALS_H
#define UROCE_APP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Set by the first SIGINT or SIGTERM. Any thread. */
extern volatile sig_atomic_t uroce_app_stop_signal;

static inline bool
uroce_app_stopped(void)
{
	return uroce_app_stop_signal != 0;
}

/** Request a stop as Ctrl-C does; uroce_app_stop_clear() withdraws it. Any thread. */
static inline void
uroce_app_stop(void)
{
	uroce_app_stop_signal = SIGINT;
}

static inline void
uroce_app_stop_clear(void)
{
	uroce_app_stop_signal = 0;
}

void uroce_app_signals_init(void);

#endif /* UROCE_APP_SIGNALS_H */
