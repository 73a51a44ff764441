/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Gives captured requests to uroce's responder, which has the same memory contents and receives as the captured one;
 * compares its responses and the memory that it writes. For one thread.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "frame.h"
#include "replay.h"
#include "wire/psn.h"

#define MAX_REGIONS 8
#define PAGE_BYTES 4096
#define RECEIVE_BYTES 32768	/* more than any captured message has */
#define RECEIVES 64

/* The memory of one captured rkey. */
struct region {
	uint32_t rkey;
	uint64_t from, to;	/* as captured */
	uint8_t *memory;	/* same offset in its page as `from` */
	uint8_t *at;
	struct ibv_mr *mr;
};

struct responder {
	struct replay_end end;
	struct region regions[MAX_REGIONS];
	unsigned int nb_regions;
	uint64_t atomics[RECEIVES];	/* addresses whose initial contents are known */
	unsigned int nb_atomics;
	uint8_t *receives;
	struct ibv_mr *receives_mr;
	unsigned int posted, completed;
	uint8_t *message;		/* place of the message in progress */
	uint32_t offset;
};

/* RETH and AtomicETH have the same first fields. */
static const struct uroce_reth *
target_of(const struct captured *c)
{
	const uint8_t *ext = c->packet.info->ext;

	if (ext[UROCE_EXT_RETH] != 0)
		return uroce_packet_ext(&c->packet, UROCE_EXT_RETH);
	return ext[UROCE_EXT_ATOMICETH] != 0 ? uroce_packet_ext(&c->packet, UROCE_EXT_ATOMICETH) : NULL;
}

static uint32_t
target_bytes(const struct captured *c, const struct uroce_reth *target)
{
	return c->packet.info->ext[UROCE_EXT_RETH] != 0 ? rte_be_to_cpu_32(target->dma_len) : 8;
}

static bool
was_refused(const struct exchange *x, const struct captured *request)
{
	const struct captured *answer = capture_find(x, 0, false, request->packet.psn);

	return answer != NULL &&
	       captured_syndrome(answer) == (UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR);
}

static struct region *
region_of(struct responder *r, uint32_t rkey)
{
	for (unsigned int i = 0; i < r->nb_regions; i++)
		if (r->regions[i].rkey == rkey)
			return &r->regions[i];
	return NULL;
}

static void
note_region(struct responder *r, const struct captured *c)
{
	const struct uroce_reth *target = target_of(c);
	uint64_t from = rte_be_to_cpu_64(target->va);
	uint64_t to = from + target_bytes(c, target);
	struct region *region = region_of(r, rte_be_to_cpu_32(target->rkey));

	if (from == to)
		return;
	if (region == NULL) {
		RTE_VERIFY(r->nb_regions < MAX_REGIONS);
		region = &r->regions[r->nb_regions++];
		*region = (struct region){ .rkey = rte_be_to_cpu_32(target->rkey), .from = from, .to = to };
	}
	region->from = RTE_MIN(region->from, from);
	region->to = RTE_MAX(region->to, to);
}

static void
open_regions(struct responder *r)
{
	const struct exchange *x = r->end.x;

	for (unsigned int i = 0; i < x->n; i++)
		if (captured_is_request(x->frames[i]) && target_of(x->frames[i]) != NULL &&
		    !was_refused(x, x->frames[i]))
			note_region(r, x->frames[i]);
	for (unsigned int i = 0; i < r->nb_regions; i++) {
		struct region *region = &r->regions[i];
		uint64_t skew = region->from % PAGE_BYTES;

		region->memory = aligned_alloc(PAGE_BYTES, RTE_ALIGN_CEIL(region->to - region->from + skew,
									   PAGE_BYTES));
		RTE_VERIFY(region->memory != NULL);
		region->at = region->memory + skew;
		region->mr = uroce_reg_mr(r->end.pd, region->at, region->to - region->from,
					  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
		RTE_VERIFY(region->mr != NULL);
	}
}

static uint8_t *
place_of(struct responder *r, const struct captured *c)
{
	const struct uroce_reth *target = target_of(c);
	struct region *region = region_of(r, rte_be_to_cpu_32(target->rkey));

	return region == NULL ? NULL : region->at + (rte_be_to_cpu_64(target->va) - region->from);
}

/* Replace captured addresses and keys by uroce's; a key that was refused stays unchanged. */
static void
translate(void *arg, const struct captured *c, uint8_t *bth)
{
	const struct uroce_reth *target = target_of(c);
	struct responder *r = arg;
	struct uroce_reth *ours;

	if (target == NULL || place_of(r, c) == NULL)
		return;
	ours = (struct uroce_reth *)(bth + ((const uint8_t *)target - (const uint8_t *)c->packet.bth));
	ours->va = rte_cpu_to_be_64((uintptr_t)place_of(r, c));
	ours->rkey = rte_cpu_to_be_32(region_of(r, rte_be_to_cpu_32(target->rkey))->mr->rkey);
}

/* Prepare the memory of a READ from the captured responses. */
static void
fill_read(struct responder *r, const struct captured *c, unsigned int index)
{
	const struct exchange *x = r->end.x;
	uint32_t bytes = target_bytes(c, target_of(c));
	uint8_t *to = place_of(r, c);

	for (uint32_t done = 0, i = 0; to != NULL && done < bytes; done += x->mtu, i++) {
		const struct captured *response = capture_find(x, index, false, uroce_psn_add(c->packet.psn, i));

		RTE_VERIFY(response != NULL);
		memcpy(to + done, response->payload, response->packet.payload_bytes);
	}
}

/* Prepare the memory of the first atomic at an address. The results of later ones must match by themselves. */
static void
fill_atomic(struct responder *r, const struct captured *c, unsigned int index)
{
	const struct captured *response = capture_find(r->end.x, index, false, c->packet.psn);
	uint64_t va = rte_be_to_cpu_64(target_of(c)->va), original;

	for (unsigned int i = 0; i < r->nb_atomics; i++)
		if (r->atomics[i] == va)
			return;
	RTE_VERIFY(response != NULL && r->nb_atomics < RTE_DIM(r->atomics));
	r->atomics[r->nb_atomics++] = va;
	original = rte_be_to_cpu_64(((const struct uroce_atomicacketh *)
		uroce_packet_ext(&response->packet, UROCE_EXT_ATOMICACKETH))->original);
	memcpy(place_of(r, c), &original, sizeof(original));
}

/* A message that was refused for its length gets a receive that ends one byte before the refused packet does. */
static uint32_t
receive_bytes(const struct exchange *x, const struct captured *first)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t psn = uroce_psn_add(first->packet.psn, i);
		const struct captured *c = capture_find(x, 0, true, psn);
		const struct captured *answer = capture_find(x, 0, false, psn);
		uint8_t syndrome = answer == NULL ? 0 : captured_syndrome(answer);

		if (c == NULL)
			break;
		room += c->packet.payload_bytes;
		if (syndrome == (UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST) ||
		    syndrome == (UROCE_AETH_NAK | UROCE_NAK_REMOTE_OPERATIONAL_ERROR))
			return room - 1;
		if (c->packet.info->flags & UROCE_OPF_LAST)
			break;
	}
	return RECEIVE_BYTES;
}

static void
post_receive(struct responder *r, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(r->receives + r->posted * RECEIVE_BYTES), .length = bytes,
			       .lkey = r->receives_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = r->posted++, .sg_list = &sge, .num_sge = 1 }, *bad;

	RTE_VERIFY(r->posted <= RECEIVES);
	RTE_VERIFY(ibv_post_recv(r->end.qp, &wr, &bad) == 0);
}

/* Post the receive at the first transmission without an RNR NAK. */
static void
provide_receive(struct responder *r, const struct captured *c, unsigned int index)
{
	const struct exchange *x = r->end.x;
	unsigned int before = 0, refused = 0;

	for (unsigned int i = 0; i < x->n; i++) {
		const struct captured *f = x->frames[i];

		if (f->packet.psn != c->packet.psn)
			continue;
		before += captured_is_request(f) && i < index;
		refused += (captured_syndrome(f) & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK;
	}
	if (before == refused)
		post_receive(r, receive_bytes(x, c));
}

static void
prepare(struct responder *r, const struct captured *c, unsigned int index)
{
	const struct uroce_opcode_info *info = c->packet.info;

	if (info->op == UROCE_OP_READ_REQUEST)
		fill_read(r, c, index);
	else if (info->ext[UROCE_EXT_ATOMICETH] != 0)
		fill_atomic(r, c, index);
	else if (info->flags & UROCE_OPF_RECV)
		provide_receive(r, c, index);
}

static void
check_receive(struct responder *r, const struct captured *c)
{
	uint32_t bytes = r->offset + (c->packet.info->transport == UROCE_TRANSPORT_UD ? UROCE_GRH_BYTES : 0);
	struct ibv_wc wc;

	if (ibv_poll_cq(r->end.recv_cq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS ||
	    wc.wr_id != r->completed++ || wc.byte_len != bytes)
		replay_fail(&r->end, c, "another completion", NULL);
	else if (c->packet.info->ext[UROCE_EXT_IMMDT] != 0 &&
		 wc.imm_data != ((const struct uroce_immdt *)uroce_packet_ext(&c->packet, UROCE_EXT_IMMDT))->imm)
		replay_fail(&r->end, c, "another immediate", NULL);
}

/* After a SEND or WRITE, its bytes are in their place. */
static void
check_executed(struct responder *r, const struct captured *c)
{
	const struct uroce_opcode_info *info = c->packet.info;

	if (info->flags & UROCE_OPF_FIRST) {
		r->offset = 0;
		r->message = info->op == UROCE_OP_WRITE ? place_of(r, c)
			: r->receives + r->completed * RECEIVE_BYTES +
			  (info->transport == UROCE_TRANSPORT_UD ? UROCE_GRH_BYTES : 0);
	}
	if (c->packet.payload_bytes > 0 &&
	    memcmp(r->message + r->offset, c->payload, c->packet.payload_bytes) != 0)
		replay_fail(&r->end, c, "the payload is not in memory", NULL);
	r->offset += c->packet.payload_bytes;
	if ((info->flags & UROCE_OPF_LAST) &&
	    (info->op == UROCE_OP_SEND || info->ext[UROCE_EXT_IMMDT] != 0))
		check_receive(r, c);
}

static void
request(struct responder *r, const struct captured *c, unsigned int index)
{
	uint64_t before, after;

	prepare(r, c, index);
	device_counter("ok", &before);
	replay_end_in(&r->end, c, translate, r);
	device_counter("ok", &after);
	device_send();
	if (after > before && (c->packet.info->op == UROCE_OP_SEND || c->packet.info->op == UROCE_OP_WRITE))
		check_executed(r, c);
}

/* The responder's next response must match the captured one. */
static void
response(struct responder *r, const struct captured *c)
{
	for (;;) {
		const struct device_frame *ours = device_out_peek();
		const char *what = ours == NULL ? "no response from uroce" : replay_compare(c, ours);
		enum difference_kind kind;

		if (what == NULL) {
			device_out_take();
			return;
		}
		kind = difference_find(c->file, REPLAY_RESPONDER, c->number);
		if (kind == DIFFERENCE_NONE) {
			char text[512];

			replay_fail(&r->end, c, what,
				    ours == NULL ? NULL : frame_describe(ours, text, sizeof(text)));
		}
		if (kind == CAPTURED_IS_NOT_OURS)
			return;
		if (ours != NULL)
			device_out_take();
		if (kind != OURS_IS_NOT_CAPTURED || ours == NULL)
			return;
	}
}

static void
close_regions(struct responder *r)
{
	for (unsigned int i = 0; i < r->nb_regions; i++) {
		RTE_VERIFY(uroce_dereg_mr(r->regions[i].mr) == 0);
		free(r->regions[i].memory);
	}
	RTE_VERIFY(uroce_dereg_mr(r->receives_mr) == 0);
	free(r->receives);
}

void
replay_responder(const struct exchange *x)
{
	struct responder r = { .nb_regions = 0 };
	char text[512];

	replay_end_open(&r.end, x, REPLAY_RESPONDER);
	open_regions(&r);
	r.receives = calloc(RECEIVES, RECEIVE_BYTES);
	RTE_VERIFY(r.receives != NULL);
	r.receives_mr = uroce_reg_mr(r.end.pd, r.receives, (size_t)RECEIVES * RECEIVE_BYTES,
				     IBV_ACCESS_LOCAL_WRITE);
	RTE_VERIFY(r.receives_mr != NULL);
	for (unsigned int i = 0; i < x->n; i++) {
		if (captured_is_request(x->frames[i]))
			request(&r, x->frames[i], i);
		else
			response(&r, x->frames[i]);
	}
	for (; device_out_peek() != NULL; device_out_take())
		if (difference_find(x->file, REPLAY_RESPONDER, 0) != OURS_IS_NOT_CAPTURED)
			replay_fail(&r.end, NULL, "not captured",
				    frame_describe(device_out_peek(), text, sizeof(text)));
	RTE_VERIFY(uroce_destroy_qp(r.end.qp) == 0);
	r.end.qp = NULL;
	close_regions(&r);
	replay_end_close(&r.end);
}
