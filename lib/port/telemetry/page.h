/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses numbers in the parameters of telemetry commands, and splits lists into pages. EAL's telemetry threads.
 */

#ifndef UROCE_PORT_TELEMETRY_PAGE_H
#define UROCE_PORT_TELEMETRY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_telemetry.h>

/** Parse a decimal, octal (0…) or hexadecimal (0x…) number. @return 0; -EINVAL: NULL, no number, or above max */
int uroce_telemetry_number(const char *text, uint64_t max, uint64_t *value);
/** Parse the number at which a list starts. @param text	NULL: the list starts at 0 */
int uroce_telemetry_from(const char *text, uint64_t max, uint64_t *from);

/* A page of a list: up to UROCE_TELEMETRY_PAGE numbers, and the start of the next page. */
struct uroce_telemetry_page {
	struct rte_tel_data *items; /* an array of numbers */
	unsigned int n;
	uint64_t next; /* start of the next page; UINT64_MAX: this is the last */
};

/** @return 0 or -ENOMEM */
int uroce_telemetry_page_begin(struct uroce_telemetry_page *page);
/** Add `value`, the list's entry `at`. @return false: the page is full; the next one starts at `at` */
bool uroce_telemetry_page_add(struct uroce_telemetry_page *page, uint64_t at, uint64_t value);
/** Write the page to d: {"count": …, name: […], "next": …}. */
void uroce_telemetry_page_end(struct uroce_telemetry_page *page, const char *name, uint64_t count,
			      struct rte_tel_data *d);

#endif /* UROCE_PORT_TELEMETRY_PAGE_H */
