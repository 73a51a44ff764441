/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Common parts of the programs that measure in virtual time: a world with streams, and numeric options. A failed check
 * prints the last frames and the time, and ends the program.
 */

#ifndef UROCE_TEST_SIM_MEASURED_H
#define UROCE_TEST_SIM_MEASURED_H

#include "stream.h"
#include "world.h"

extern struct world world;
extern struct stream streams[STREAM_MOST];

/** Destroy the first n streams, and the world. */
void measured_stop(unsigned int n);

/** @return the argument of an option; calls usage(), which does not return, if it is out of range */
double measured_number(double least, double most, void (*usage)(const char *problem));

#endif /* UROCE_TEST_SIM_MEASURED_H */
