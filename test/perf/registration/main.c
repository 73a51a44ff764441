/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses arguments, opens a device, and measures registration and pinning in turn, on the same memory, for each kind of
 * memory and each size.
 */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>

#include "host.h"
#include "program.h"
#include "registration.h"

#define REG_TURN    4096
#define PIN_TURN    4
#define TIMES_MOST  (16 * REG_TURN) /* most measurements of a row */
#define ACCESS	    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

const char uroce_app_name[] = "registration";
const char uroce_app_both_ends[] = "leave the port out";
const char uroce_app_usage[] =
	"registration [EAL arguments] -- [--most BYTES[K|M|G]] [--seconds S] [--json FILE|-]\n";

#define KB ((size_t)1024)
#define MB (1024 * KB)
#define GB (1024 * MB)

struct options {
	size_t most;
	double seconds; /* of a row */
	const char *json; /* NULL: none; "-": standard output */
};

struct samples {
	unsigned int n;
	double us[TIMES_MOST];
};

/* Of one row. */
struct measurement {
	struct samples reg;
	struct samples dereg;
	struct samples pin;
	struct samples unpin;
};

static double
now_us(void)
{
	return (double)rte_rdtsc_precise() * 1e6 / (double)rte_get_tsc_hz();
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
summarize(struct samples *s, struct cost *c)
{
	if (s->n == 0)
		return;
	qsort(s->us, s->n, sizeof(s->us[0]), by_value);
	c->median_us = s->us[s->n / 2];
	c->best_us = s->us[0];
}

static void
registered(struct ibv_pd *pd, void *va, size_t bytes, struct measurement *m)
{
	const double start = now_us();
	struct ibv_mr *mr = uroce_reg_mr(pd, va, bytes, ACCESS);
	const double middle = now_us();

	if (mr == NULL)
		rte_exit(1, "registering %zu bytes: %s\n", bytes, strerror(errno));
	errno = uroce_dereg_mr(mr);
	if (errno != 0)
		rte_exit(1, "deregistering %zu bytes: %s\n", bytes, strerror(errno));
	m->reg.us[m->reg.n++] = middle - start;
	m->dereg.us[m->dereg.n++] = now_us() - middle;
}

/* @return 0 or -errno: the memory cannot be pinned */
static int
pinned(int fd, void *va, size_t bytes, struct measurement *m)
{
	const double start = now_us();
	int ret = pin(fd, va, bytes);
	const double middle = now_us();

	if (ret != 0)
		return ret;
	ret = unpin(fd);
	if (ret != 0)
		rte_exit(1, "unpinning %zu bytes: %s\n", bytes, strerror(-ret));
	m->pin.us[m->pin.n++] = middle - start;
	m->unpin.us[m->unpin.n++] = now_us() - middle;
	return 0;
}

/* Measure some of each in turn, so that other load affects both alike. A large pinning evicts all other data from the
 * caches: enough registrations follow for a warm cache. */
static void
measure(struct row *row, struct ibv_pd *pd, int fd, void *va, double seconds)
{
	struct measurement *m = calloc(1, sizeof(*m));
	const double end = now_us() + seconds * 1e6;
	int ret = fd < 0 ? fd : 0;

	RTE_VERIFY(m != NULL);
	do {
		for (unsigned int i = 0; i < REG_TURN; i++)
			registered(pd, va, row->bytes, m);
		for (unsigned int i = 0; i < PIN_TURN && ret == 0; i++)
			ret = pinned(fd, va, row->bytes, m);
	} while (m->reg.n < TIMES_MOST && now_us() < end);
	if (ret != 0)
		snprintf(row->left_out, sizeof(row->left_out), "pinning: %s%s", strerror(-ret),
			 ret == -ENOMEM ? ": more than ulimit -l allows" : "");
	summarize(&m->reg, &row->reg);
	summarize(&m->dereg, &row->dereg);
	summarize(&m->pin, &row->pin);
	summarize(&m->unpin, &row->unpin);
	free(m);
}

static const size_t sizes[] = { 4 * KB, 64 * KB, MB, 16 * MB, 256 * MB, GB, 4 * GB };

static unsigned int
measure_all(const struct options *o, struct ibv_pd *pd, struct row *rows)
{
	const int fd = pin_open();
	unsigned int n = 0;

	for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++) {
		for (unsigned int i = 0; i < RTE_DIM(sizes) && sizes[i] <= o->most; i++) {
			struct row *row = &rows[n++];
			void *va;

			*row = (struct row){ .kind = kind, .bytes = sizes[i] };
			va = memory_get(kind, sizes[i], row->left_out, sizeof(row->left_out));
			if (va == NULL)
				continue;
			measure(row, pd, fd, va, o->seconds);
			memory_put(kind, va, sizes[i]);
		}
	}
	if (fd >= 0)
		close(fd);
	return n;
}

static int
wrong(const char *text)
{
	fprintf(stderr, "registration: %s is wrong\n%s", text, uroce_app_usage);
	return -1;
}

static int
bytes_parse(const char *text, size_t *bytes)
{
	char *end;

	*bytes = strtoull(text, &end, 10);
	if (end == text || *text == '-' || *bytes > GB)
		return wrong(text);
	if (*end == 'K' || *end == 'M' || *end == 'G')
		*bytes *= *end == 'K' ? KB : *end == 'M' ? MB : GB;
	else if (*end != '\0')
		return wrong(text);
	return *end == '\0' || end[1] == '\0' ? 0 : wrong(text);
}

static int
seconds_parse(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return end == text || *end != '\0' || !(*seconds > 0 && *seconds <= 60) ? wrong(text) : 0;
}

static const struct option long_options[] = {
	{ "most", required_argument, NULL, 'm' },
	{ "seconds", required_argument, NULL, 's' },
	{ "json", required_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 },
};

static int
options_parse(struct options *o, int argc, char **argv)
{
	int option, ret = 0;

	*o = (struct options){ .most = 4 * GB, .seconds = 0.3 };
	optind = 0; /* glibc: start again, EAL has used getopt */
	while (ret == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'm': ret = bytes_parse(optarg, &o->most); break;
		case 's': ret = seconds_parse(optarg, &o->seconds); break;
		case 'j': o->json = optarg; break;
		default: ret = wrong(argv[optind - 1]);
		}
	}
	return ret == 0 && optind < argc ? wrong(argv[optind]) : ret;
}

static int
results_write(const struct options *o, const struct row *rows, unsigned int n)
{
	const bool to_stdout = o->json != NULL && strcmp(o->json, "-") == 0;
	FILE *out = stdout;
	int ret;

	report_text(rows, n, to_stdout ? stderr : stdout);
	if (o->json == NULL)
		return 0;
	if (!to_stdout)
		out = fopen(o->json, "we");
	ret = out == NULL ? -1 : report_json(rows, n, out);
	if (out != NULL && out != stdout && fclose(out) != 0)
		ret = -1;
	if (ret != 0)
		fprintf(stderr, "registration: --json %s: it could not be written\n", o->json);
	return ret;
}

/* Open a device whose worker is not polled, so that deregistration never waits for it. */
static struct ibv_pd *
device_open(struct app_host *host)
{
	struct ibv_pd *pd = NULL;
	uint16_t ports[2];

	if (uroce_app_ring_ports(ports, 1) == 0 && uroce_app_host_workers(host, 1) == 0 &&
	    uroce_app_host_open(host, ports[0], 1, false) == 0)
		pd = uroce_alloc_pd(host->devs[0].ctx);
	if (pd == NULL)
		rte_exit(1, "no device\n");
	return pd;
}

int
main(int argc, char **argv)
{
	static struct row rows[MEMORY_KINDS * RTE_DIM(sizes)];
	static struct app_host host;
	struct options options;
	int used = rte_eal_init(argc, argv);
	struct ibv_pd *pd;

	if (used < 0 || options_parse(&options, argc - used, argv + used) != 0)
		return 2;
	pd = device_open(&host);
	used = results_write(&options, rows, measure_all(&options, pd, rows));
	uroce_dealloc_pd(pd);
	uroce_app_host_close(&host);
	rte_eal_cleanup();
	return used != 0;
}
