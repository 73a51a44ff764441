/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses the numbers among a telemetry command's parameters, and writes lists in pages. EAL's telemetry threads.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/dpdk_compat.h"
#include "port/telemetry/page.h"
#include "uroce_config.h"

int
uroce_telemetry_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	/* strtoull() accepts blanks and signs */
	if (text == NULL || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno == 0 && *end == '\0' && *value <= max ? 0 : -EINVAL;
}

int
uroce_telemetry_from(const char *text, uint64_t max, uint64_t *from)
{
	*from = 0;
	return text == NULL ? 0 : uroce_telemetry_number(text, max, from);
}

int
uroce_telemetry_page_begin(struct uroce_telemetry_page *page)
{
	*page = (struct uroce_telemetry_page){ .items = rte_tel_data_alloc(), .next = UINT64_MAX };
	if (page->items == NULL)
		return -ENOMEM;
	return rte_tel_data_start_array(page->items, RTE_TEL_U64_VAL);
}

bool
uroce_telemetry_page_add(struct uroce_telemetry_page *page, uint64_t at, uint64_t value)
{
	if (page->n == UROCE_TELEMETRY_PAGE) {
		page->next = at;
		return false;
	}
	rte_tel_data_add_array_uint(page->items, value);
	page->n++;
	return true;
}

void
uroce_telemetry_page_end(struct uroce_telemetry_page *page, const char *name, uint64_t count,
			 struct rte_tel_data *d)
{
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "count", count);
	rte_tel_data_add_dict_container(d, name, page->items, 0);
	if (page->next != UINT64_MAX)
		rte_tel_data_add_dict_uint(d, "next", page->next);
}
