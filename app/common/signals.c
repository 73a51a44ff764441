/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The signal handler. main() installs it before EAL starts; loops on any thread read the flag.
 */

#include <string.h>
#include <unistd.h>

#include "signals.h"

volatile sig_atomic_t uroce_app_stop_signal;

static void
on_signal(int number)
{
	if (uroce_app_stop_signal != 0)
		_exit(128 + number);
	uroce_app_stop_signal = number;
}

void
uroce_app_signals_init(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}
