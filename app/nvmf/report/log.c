/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Limits the lines that a host can cause: one that connects in a loop must neither fill the disk with logs nor keep a
 * poller busy with them.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "report/log.h"
#include "program.h"
#include "uroce_config.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the next */
static struct nvmf_log_limit limits[NVMF_LOG_KINDS];

bool
uroce_nvmf_log_may(struct nvmf_log_limit *limit, uint64_t now_ns, uint64_t *left_out)
{
	if (now_ns - limit->since_ns >= UROCE_NVMF_LOG_NS) {
		limit->since_ns = now_ns;
		limit->lines = 0;
	}
	if (limit->lines == UROCE_NVMF_LOG_LINES) {
		limit->left_out++;
		return false;
	}
	limit->lines++;
	*left_out = limit->left_out;
	limit->left_out = 0;
	return true;
}

void
uroce_nvmf_log(enum nvmf_log_kind kind, const char *format, ...)
{
	uint64_t now_ns = rte_rdtsc() / (rte_get_tsc_hz() / 1000000) * 1000, left_out = 0;
	va_list args;
	bool may;

	pthread_mutex_lock(&lock);
	may = uroce_nvmf_log_may(&limits[kind], now_ns, &left_out);
	pthread_mutex_unlock(&lock);
	if (!may)
		return;
	if (left_out != 0)
		fprintf(stderr, "%s: %" PRIu64 " lines like the next one were left out\n", uroce_app_name, left_out);
	flockfile(stderr); /* one line */
	fprintf(stderr, "%s: ", uroce_app_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
}
