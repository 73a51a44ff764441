/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the answers to telemetry commands share: numbers in parameters, and lists in pages. EAL's telemetry threads.
 */

#ifndef UROCE_PORT_TELEMETRY_PAGE_H
#define UROCE_PORT_TELEMETRY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_telemetry.h>

/** The number that a parameter is, decimal or 0x…, with nothing behind it. @return 0; -EINVAL: NULL, none, or > max */
int uroce_telemetry_number(const char *text, uint64_t max, uint64_t *value);
/** The same of what a list starts with: 0 where nothing is given. */
int uroce_telemetry_from(const char *text, uint64_t max, uint64_t *from);

/* A page of a list: an answer holds UROCE_TELEMETRY_PAGE of them, and says where the next one starts. */
struct uroce_telemetry_page {
	struct rte_tel_data *items; /* an array of numbers */
	unsigned int n;
	uint64_t next; /* UINT64_MAX: this is the end */
};

/** @return 0 or -ENOMEM */
int uroce_telemetry_page_begin(struct uroce_telemetry_page *page);
/** @return false: it is full, and the next one starts with `at` */
bool uroce_telemetry_page_add(struct uroce_telemetry_page *page, uint64_t at, uint64_t value);
/** {"count": …, name: […], "next": …} */
void uroce_telemetry_page_end(struct uroce_telemetry_page *page, const char *name, uint64_t count,
			      struct rte_tel_data *d);

#endif /* UROCE_PORT_TELEMETRY_PAGE_H */
