/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks of the MPI programs. `rank` is this process's.
 */

#ifndef UROCE_TEST_DROPIN_PROGRAMS_MPI_NEED_H
#define UROCE_TEST_DROPIN_PROGRAMS_MPI_NEED_H

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define NEED(condition) \
	do { \
		if (!(condition)) { \
			printf("FAIL rank %d, %s:%d: not so: %s\n", rank, __FILE__, __LINE__, #condition); \
			fflush(stdout); \
			MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); \
		} \
	} while (0)

#endif /* UROCE_TEST_DROPIN_PROGRAMS_MPI_NEED_H */
