/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the programs that measure in virtual time have in common: a world with streams in it, and options that are
 * numbers. A check that fails ends the program, with the last frames and the time.
 */

#ifndef UROCE_TEST_SIM_MEASURED_H
#define UROCE_TEST_SIM_MEASURED_H

#include "stream.h"
#include "world.h"

extern struct world world;
extern struct stream streams[STREAM_MOST];

/** End the first n streams, and the world. */
void measured_stop(unsigned int n);

/** The argument of an option; usage() does not return. */
double measured_number(double least, double most, void (*usage)(const char *problem));

#endif /* UROCE_TEST_SIM_MEASURED_H */
