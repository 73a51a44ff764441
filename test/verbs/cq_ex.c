/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Extended CQs: which fields can be requested, each field of a completion among distinct others, batches, timestamps of
 * both clocks, and completions lost in a CQ that ignores overruns.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fake.h"

#define ALL_WC_FLAGS (IBV_CREATE_CQ_SUP_WC_FLAGS & ~IBV_WC_EX_WITH_TM_INFO)

static struct ibv_cq_ex *
create(uint32_t cqe, uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.wc_flags = wc_flags,
		.comp_mask = flags != 0 ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = flags,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(fake.context, &attr);

	assert_non_null(cq);
	return cq;
}

static void
destroy(struct ibv_cq_ex *cq)
{
	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static bool
push(struct ibv_cq_ex *cq, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .opcode = IBV_WC_RECV };

	return uroce_cq_push(uroce_cq_of(ibv_cq_ex_to_cq(cq)), fake_engine(0), &wc, false);
}

static void
refused(const struct ibv_cq_init_attr_ex *attr, int error)
{
	struct ibv_cq_init_attr_ex copy = *attr;

	errno = 0;
	assert_null(uroce_create_cq_ex(fake.context, &copy));
	assert_int_equal(errno, error);
	assert_int_equal(fake.dev.cq_count, 0);
}

static void
test_create(void **state)
{
	struct ibv_cq_ex *cq;
	int cookie;

	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 0 }, EINVAL);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = UROCE_MAX_CQE + 1 }, EINVAL);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_vector = 1 }, EINVAL);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO },
		EOPNOTSUPP);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 1, .wc_flags = 1 << 12 }, EOPNOTSUPP);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD }, EINVAL);
	refused(&(struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = 1 << 2 }, EOPNOTSUPP);
	refused(&(struct ibv_cq_init_attr_ex){
		.cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1 << 2 }, EOPNOTSUPP);

	/* flags count only if the mask has their bit */
	cq = uroce_create_cq_ex(fake.context, &(struct ibv_cq_init_attr_ex){
		.cqe = 7, .cq_context = &cookie, .flags = 1 << 2 });
	assert_non_null(cq);
	assert_int_equal(cq->cqe, 7);
	assert_ptr_equal(cq->cq_context, &cookie);
	assert_ptr_equal(cq->context, fake.context);
	assert_ptr_equal(ibv_cq_ex_to_cq(cq), cq);
	destroy(cq);
}

/* Fields that were not requested have no read function; basic fields are always there. */
static void
test_only_what_was_asked_for(void **state)
{
	struct ibv_cq_ex *cq = create(1, 0, 0);

	assert_non_null(cq->read_opcode);
	assert_non_null(cq->read_vendor_err);
	assert_non_null(cq->read_wc_flags);
	assert_null(cq->read_byte_len);
	assert_null(cq->read_imm_data);
	assert_null(cq->read_qp_num);
	assert_null(cq->read_src_qp);
	assert_null(cq->read_slid);
	assert_null(cq->read_sl);
	assert_null(cq->read_dlid_path_bits);
	assert_null(cq->read_completion_ts);
	assert_null(cq->read_completion_wallclock_ns);
	assert_null(cq->read_cvlan);
	assert_null(cq->read_flow_tag);
	assert_null(cq->read_tm_info);
	destroy(cq);
}

static void
test_every_field(void **state)
{
	const struct ibv_wc wc = {
		.wr_id = 0x0102030405060708, .status = IBV_WC_LOC_PROT_ERR, .opcode = IBV_WC_RDMA_READ,
		.vendor_err = 0x11111111, .byte_len = 0x22222222, .imm_data = 0x33333333,
		.qp_num = 0x44444444, .src_qp = 0x55555555, .wc_flags = IBV_WC_WITH_IMM | IBV_WC_GRH,
		.slid = 0x6666, .sl = 0x77, .dlid_path_bits = 0x88,
	};
	struct ibv_cq_ex *cq = create(4, ALL_WC_FLAGS, 0);

	fake.dev.vlan = 0x0abc;
	fake.engines[0].now_ns = 1000;
	fake.now_ns = 5000;
	fake.wall_offset_ns = 1700000000000000000;
	assert_true(uroce_cq_push(uroce_cq_of(ibv_cq_ex_to_cq(cq)), fake_engine(0), &wc, false));
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, wc.wr_id);
	assert_int_equal(cq->status, wc.status);
	assert_int_equal(ibv_wc_read_opcode(cq), wc.opcode);
	assert_int_equal(ibv_wc_read_vendor_err(cq), wc.vendor_err);
	assert_int_equal(ibv_wc_read_byte_len(cq), wc.byte_len);
	assert_int_equal(ibv_wc_read_imm_data(cq), wc.imm_data);
	assert_int_equal(ibv_wc_read_invalidated_rkey(cq), wc.invalidated_rkey);
	assert_int_equal(ibv_wc_read_qp_num(cq), wc.qp_num);
	assert_int_equal(ibv_wc_read_src_qp(cq), wc.src_qp);
	assert_int_equal(ibv_wc_read_wc_flags(cq), wc.wc_flags);
	assert_int_equal(ibv_wc_read_slid(cq), wc.slid);
	assert_int_equal(ibv_wc_read_sl(cq), wc.sl);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), wc.dlid_path_bits);
	assert_int_equal(ibv_wc_read_completion_ts(cq), 1000);
	assert_int_equal(ibv_wc_read_completion_wallclock_ns(cq), 1700000000000001000);
	assert_int_equal(ibv_wc_read_cvlan(cq), 0x0abc);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	destroy(cq);
}

static void
test_batches(void **state)
{
	struct ibv_poll_cq_attr bad = { .comp_mask = 1 };
	struct ibv_poll_cq_attr good = { .comp_mask = 0 };
	struct ibv_cq_ex *cq = create(3, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0);
	uint64_t pushed = 0, polled = 0;
	struct ibv_wc wc;

	assert_int_equal(ibv_start_poll(cq, &good), ENOENT);
	assert_int_equal(ibv_start_poll(cq, &bad), EINVAL);
	/* many rounds of the ring */
	for (unsigned int i = 0; i < 50; i++) {
		for (unsigned int n = 0; n <= i % 3; n++) {
			fake.engines[0].now_ns = pushed;
			assert_true(push(cq, pushed++));
		}
		assert_int_equal(ibv_start_poll(cq, &good), 0);
		do {
			assert_int_equal(cq->wr_id, polled);
			assert_int_equal(ibv_wc_read_completion_ts(cq), polled);
			polled++;
		} while (ibv_next_poll(cq) == 0);
		assert_int_equal(polled, pushed);
		/* a completion that arrives during a batch belongs to the batch */
		assert_int_equal(ibv_next_poll(cq), ENOENT);
		fake.engines[0].now_ns = pushed;
		if (i % 3 < 2) {
			assert_true(push(cq, pushed++));
			assert_int_equal(ibv_next_poll(cq), 0);
			assert_int_equal(cq->wr_id, polled++);
		}
		ibv_end_poll(cq);
		assert_int_equal(ibv_start_poll(cq, NULL), ENOENT);
	}
	/* a batch may end early; ibv_poll_cq() continues where it ended */
	assert_true(push(cq, 1) && push(cq, 2) && push(cq, 3));
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	ibv_end_poll(cq);
	assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 1);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, 3);
	ibv_end_poll(cq);
	destroy(cq);
}

/* R43: the completions can be polled, then polling returns the error. */
static void
test_overrun(void **state)
{
	struct ibv_cq_ex *cq = create(2, 0, 0);
	struct ibv_async_event event;

	assert_true(push(cq, 1) && push(cq, 2));
	assert_false(push(cq, 3));
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, 1);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 2);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(ibv_start_poll(cq, NULL), EIO);
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	uroce_ack_async_event(&event);
	destroy(cq);
}

static void
test_ignore_overrun(void **state)
{
	struct ibv_cq_ex *cq = create(2, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);

	assert_true(push(cq, 1) && push(cq, 2));
	assert_true(push(cq, 3));	/* this completion is lost */
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 2);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_true(push(cq, 4));
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, 4);
	ibv_end_poll(cq);
	assert_int_equal(fake.dev.events.lost, 0);
	destroy(cq);
}

/* A batch holds the lock; with a single-threaded CQ it takes none. */
static void
test_locking(void **state)
{
	struct ibv_cq_ex *locked = create(2, 0, 0);
	struct ibv_cq_ex *single = create(2, 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);

	assert_true(push(locked, 1) && push(single, 1));
	assert_int_equal(ibv_start_poll(locked, NULL), 0);
	assert_int_equal(ibv_start_poll(single, NULL), 0);
	assert_true(rte_spinlock_is_locked(&uroce_cq_of_ex(locked)->poll_lock));
	assert_false(rte_spinlock_is_locked(&uroce_cq_of_ex(single)->poll_lock));
	ibv_end_poll(locked);
	ibv_end_poll(single);
	assert_false(rte_spinlock_is_locked(&uroce_cq_of_ex(locked)->poll_lock));
	destroy(locked);
	destroy(single);
}

UROCE_TESTS(cq_ex)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_only_what_was_asked_for, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_every_field, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_batches, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_overrun, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_ignore_overrun, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_locking, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
