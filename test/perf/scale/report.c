/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The results: tables for people, an array of objects for programs. Main thread.
 */

#include <math.h>
#include <string.h>

#include <rte_debug.h>

#include "scale.h"

struct scale_row *
scale_row_add(struct scale_report *report, const char *what)
{
	struct scale_row *row = &report->rows[report->count++];

	RTE_VERIFY(report->count <= SCALE_ROWS);
	row->what = what;
	row->count = 0;
	return row;
}

void
scale_row_set(struct scale_row *row, const char *name, double value)
{
	RTE_VERIFY(row->count < SCALE_FIELDS);
	row->fields[row->count].name = name;
	row->fields[row->count++].value = value;
}

static bool
same_table(const struct scale_row *a, const struct scale_row *b)
{
	if (strcmp(a->what, b->what) != 0 || a->count != b->count)
		return false;
	for (unsigned int i = 0; i < a->count; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0)
			return false;
	return true;
}

static int
width_of(const char *name)
{
	size_t length = strlen(name);

	return length < 9 ? 10 : (int)length + 1;
}

/* Print counts completely, and measurements with four digits; nothing if the time was too short for a measurement. */
static void
value_print(FILE *out, int width, double value)
{
	if (!isfinite(value))
		fprintf(out, "%*s", width, "-");
	else if (value >= 1000 || value == (double)(int64_t)value)
		fprintf(out, "%*.0f", width, value);
	else
		fprintf(out, "%*.*f", width, value >= 100 ? 1 : value >= 10 ? 2 : 3, value);
}

void
scale_report_text(const struct scale_report *report, FILE *out)
{
	for (unsigned int i = 0; i < report->count; i++) {
		const struct scale_row *row = &report->rows[i];

		if (i == 0 || !same_table(row, row - 1)) {
			fprintf(out, "\n%-12s", row->what);
			for (unsigned int f = 0; f < row->count; f++)
				fprintf(out, "%*s", width_of(row->fields[f].name), row->fields[f].name);
			fputc('\n', out);
		}
		fprintf(out, "%-12s", "");
		for (unsigned int f = 0; f < row->count; f++)
			value_print(out, width_of(row->fields[f].name), row->fields[f].value);
		fputc('\n', out);
	}
}

int
scale_report_json(const struct scale_report *report, FILE *out)
{
	fputs("[\n", out);
	for (unsigned int i = 0; i < report->count; i++) {
		const struct scale_row *row = &report->rows[i];

		fprintf(out, "  {\"what\": \"%s\"", row->what);
		for (unsigned int f = 0; f < row->count; f++) {
			fprintf(out, ", \"%s\": ", row->fields[f].name);
			if (isfinite(row->fields[f].value))
				fprintf(out, "%.6g", row->fields[f].value);
			else
				fputs("null", out);
		}
		fprintf(out, "}%s\n", i + 1 < report->count ? "," : "");
	}
	fputs("]\n", out);
	return fflush(out) == 0 && ferror(out) == 0 ? 0 : -1;
}
