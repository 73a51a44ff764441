/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A ring of text lines. It decodes frames without lib/wire, which is under test.
 */

#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/headers.h"
#include "wire/opcode.h"

#define TRACE_LINES 400
#define TRACE_CHARS 160

static char lines[TRACE_LINES][TRACE_CHARS];
static uint64_t count;
static bool live;

void
trace_init(bool print_live)
{
	count = 0;
	live = print_live;
}

static char *
next_line(void)
{
	return lines[count++ % TRACE_LINES];
}

static void
show_if_live(const char *line)
{
	if (live)
		printf("%s\n", line);
}

/* @return the offset of the BTH; 0: none */
static uint32_t
find_bth(const uint8_t *data, uint32_t bytes)
{
	uint32_t l3 = bytes > 18 && data[12] == 0x81 && data[13] == 0 ? 18 : 14;
	uint32_t bth = l3 + (bytes > l3 && data[l3] >> 4 == 6 ? 40 : 20) + 8;

	return bytes >= bth + sizeof(struct uroce_bth) ? bth : 0;
}

static int
print_aeth(char *out, size_t room, const struct uroce_opcode_info *info, const uint8_t *bth,
	   uint32_t bytes)
{
	const struct uroce_aeth *aeth = (const void *)(bth + info->ext[UROCE_EXT_AETH]);

	if (info->ext[UROCE_EXT_AETH] == 0 || bytes < info->header_bytes)
		return 0;
	return snprintf(out, room, " syndrome 0x%02x msn %u", aeth->syndrome,
			uroce_get24(aeth->msn));
}

static int
print_reth(char *out, size_t room, const struct uroce_opcode_info *info, const uint8_t *bth,
	   uint32_t bytes)
{
	const struct uroce_reth *reth = (const void *)(bth + info->ext[UROCE_EXT_RETH]);

	if (info->ext[UROCE_EXT_RETH] == 0 || bytes < info->header_bytes)
		return 0;
	return snprintf(out, room, " rkey 0x%08x len %u", rte_be_to_cpu_32(reth->rkey),
			rte_be_to_cpu_32(reth->dma_len));
}

void
trace_frame(uint64_t now_ns, unsigned int from, unsigned int to, const char *fate,
	    const uint8_t *data, uint32_t bytes)
{
	uint32_t offset = find_bth(data, bytes);
	const struct uroce_bth *bth = (const void *)(data + offset);
	const struct uroce_opcode_info *info;
	char *line = next_line();
	int n;

	n = snprintf(line, TRACE_CHARS, "%12" PRIu64 ".%03u %u>%u %-9s %5u B", now_ns / 1000,
		     (unsigned int)(now_ns % 1000), from, to, fate, bytes);
	if (offset != 0) {
		info = &uroce_opcodes[bth->opcode];
		n += snprintf(line + n, TRACE_CHARS - n, " qp 0x%06x psn 0x%06x %s%s%s",
			      uroce_get24(bth->dest_qp), uroce_get24(bth->psn),
			      info->name != NULL ? info->name : "?",
			      (bth->ack & UROCE_BTH_ACKREQ) != 0 ? " ackreq" : "",
			      (bth->flags & UROCE_BTH_SE) != 0 ? " se" : "");
		n += print_aeth(line + n, TRACE_CHARS - n, info, data + offset, bytes - offset);
		print_reth(line + n, TRACE_CHARS - n, info, data + offset, bytes - offset);
	}
	show_if_live(line);
}

void
trace_note(uint64_t now_ns, const char *format, ...)
{
	char *line = next_line();
	va_list args;
	int n;

	n = snprintf(line, TRACE_CHARS, "%12" PRIu64 ".%03u --- ", now_ns / 1000,
		     (unsigned int)(now_ns % 1000));
	va_start(args, format);
	vsnprintf(line + n, TRACE_CHARS - n, format, args);
	va_end(args);
	show_if_live(line);
}

void
trace_dump(void)
{
	if (live)
		return;
	for (uint64_t i = count > TRACE_LINES ? count - TRACE_LINES : 0; i < count; i++)
		printf("%s\n", lines[i % TRACE_LINES]);
}
