/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The results: a table for people, an array of objects for programs.
 */

#include <stdio.h>

#include "registration.h"

static const char *
size_text(size_t bytes, char *text, size_t room)
{
	static const char units[] = { ' ', 'K', 'M', 'G' };
	unsigned int unit = 0;

	while (unit + 1 < sizeof(units) && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, room, "%zu%c", bytes, units[unit]);
	return text;
}

void
report_text(const struct row *rows, unsigned int n, FILE *out)
{
	char size[24];

	fprintf(out, "%-10s %6s %12s %12s %12s %12s %12s\n", "memory", "size", "reg us", "dereg us", "pin us",
		"unpin us", "pin / reg");
	for (unsigned int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		fprintf(out, "%-10s %6s", memory_name(r->kind), size_text(r->bytes, size, sizeof(size)));
		if (r->reg.median_us > 0)
			fprintf(out, " %12.3f %12.3f", r->reg.median_us, r->dereg.median_us);
		if (r->pin.median_us > 0)
			fprintf(out, " %12.3f %12.3f %12.1f", r->pin.median_us, r->unpin.median_us,
				r->pin.median_us / r->reg.median_us);
		fprintf(out, "%s%s\n", r->left_out[0] != '\0' ? "  left out: " : "", r->left_out);
	}
}

static void
json_cost(FILE *out, const char *name, const struct cost *c)
{
	if (c->median_us > 0)
		fprintf(out, ", \"%s_us\": %.3f, \"%s_best_us\": %.3f", name, c->median_us, name, c->best_us);
	else
		fprintf(out, ", \"%s_us\": null, \"%s_best_us\": null", name, name);
}

int
report_json(const struct row *rows, unsigned int n, FILE *out)
{
	fputs("[\n", out);
	for (unsigned int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		fprintf(out, "  {\"memory\": \"%s\", \"bytes\": %zu", memory_name(r->kind), r->bytes);
		json_cost(out, "reg", &r->reg);
		json_cost(out, "dereg", &r->dereg);
		json_cost(out, "pin", &r->pin);
		json_cost(out, "unpin", &r->unpin);
		fprintf(out, ", \"left_out\": \"%s\"}%s\n", r->left_out, i + 1 < n ? "," : "");
	}
	fputs("]\n", out);
	return fflush(out) == 0 && ferror(out) == 0 ? 0 : -1;
}
