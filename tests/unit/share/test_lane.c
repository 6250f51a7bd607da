/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: the paper's example, the deadlock pair, quotas, and addresses. */
#include "events.h"

/* Capacity 32 units of half a byte: A(1,6) B(1,5) C(0.5,6) D(1,7) at 16, doubled. */
static void golden(struct desk *d)
{
	desk_open(d, "pack", 32, 0, 0);
	desk_event(d, arrives(0, 0, 2, 12, 10));
	desk_event(d, arrives(0, 1, 2, 10, 10));
	desk_event(d, arrives(0, 2, 1, 12, 10));
	desk_event(d, arrives(0, 3, 2, 14, 10));
}

static void the_papers_example_is_exact(void **state)
{
	struct desk d;

	(void)state;
	golden(&d);
	assert_int_equal(d.s.lanes.open, 2);
	assert_int_equal(d.s.lanes.items[0].size_bytes, 14);
	assert_int_equal(d.s.lanes.items[0].members, 3);
	assert_int_equal(d.s.lanes.items[1].size_bytes, 10);
	assert_int_equal(d.s.lanes.granted_bytes, 31);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(sl_share_find(&d.s, i)->lane, i == 1 ? 1 : 0);
	desk_close(&d);
}

static void a_lane_shrinks_at_the_boundary_after_its_largest_job_ends(void **state)
{
	struct desk d;
	const struct sl_region *lane;

	(void)state;
	golden(&d);
	lane = sl_ledger_find(&d.s.ledger, SL_LEDGER_LANE, 0);
	/* A holds the lane, so the bytes that D needs are granted, not yet there. */
	assert_int_equal(lane->size_bytes, 12);
	desk_event(&d, reports(SL_STEP_END, 1, 3, 0));
	assert_int_equal(d.s.lanes.items[0].size_bytes, 14);
	desk_event(&d, reports(SL_STEP_TURN, 2, 0, 1));
	assert_int_equal(d.s.lanes.items[0].size_bytes, 12);
	assert_int_equal(d.s.lanes.granted_bytes, 27);
	desk_close(&d);
}

static void lanes_move_only_at_a_boundary(void **state)
{
	struct desk d;
	const struct sl_region *top, *low;

	(void)state;
	golden(&d);
	low = sl_ledger_find(&d.s.ledger, SL_LEDGER_LANE, 1);
	assert_int_equal(low->at, 12);
	assert_false(sl_ledger_settled(&d.s.ledger));
	assert_true(sl_share_wants_boundary(&d.s, 1));
	desk_event(&d, reports(SL_STEP_TURN, 1, 1, 1)); /* B's lane slides down */
	low = sl_ledger_find(&d.s.ledger, SL_LEDGER_LANE, 1);
	assert_int_equal(low->at, 14);
	desk_event(&d, reports(SL_STEP_TURN, 2, 0, 1)); /* A's lane grows */
	top = sl_ledger_find(&d.s.ledger, SL_LEDGER_LANE, 0);
	assert_int_equal(top->size_bytes, 14);
	assert_int_equal(sl_ledger_address(&d.s.ledger, SL_LEDGER_LANE, top), 18);
	assert_true(sl_ledger_settled(&d.s.ledger));
	desk_close(&d);
}

static void two_jobs_that_would_deadlock_by_op_both_finish_in_one_lane(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "fair", 10, 0, 0);
	desk_event(&d, arrives(0, 0, 1, 6, 2));
	desk_event(&d, arrives(0, 1, 1, 6, 2));
	assert_int_equal(d.s.lanes.open, 1);
	assert_int_equal(d.s.lanes.items[0].holder, 0);
	desk_event(&d, reports(SL_STEP_TURN, 1, 0, 1));
	assert_int_equal(d.s.lanes.items[0].holder, 1);
	desk_event(&d, reports(SL_STEP_TURN, 2, 1, 1));
	desk_event(&d, reports(SL_STEP_END, 3, 0, 1));
	desk_event(&d, reports(SL_STEP_END, 4, 1, 1));
	assert_int_equal(d.s.n, 0);
	assert_int_equal(d.s.ledger.granted_bytes, 0);
	desk_close(&d);
}

static void a_users_limit_keeps_his_jobs_out_and_nobody_elses(void **state)
{
	struct desk d;
	struct sl_step other = arrives(3, 2, 1, 1, 5);

	(void)state;
	desk_open(&d, "pack", 100, 0, 4);
	desk_event(&d, (struct sl_step){.kind = SL_STEP_LIMIT, .user = 0, .bytes = 10});
	desk_event(&d, arrives(1, 0, 2, 6, 5));
	desk_event(&d, arrives(2, 1, 2, 6, 5));
	other.user = 1;
	desk_event(&d, other);
	assert_false(sl_share_find(&d.s, 1)->resident);
	/* Not even when it has come of age does it hold up others. */
	other = arrives(20, 3, 1, 1, 5);
	other.user = 1;
	desk_event(&d, other);
	assert_true(sl_share_find(&d.s, 3)->resident);
	desk_event(
		&d, (struct sl_step){
			    .kind = SL_STEP_LIMIT, .at_ns = 21, .user = 0, .bytes = 0});
	assert_true(sl_share_find(&d.s, 1)->resident);
	desk_close(&d);
}

static void a_job_changes_its_size_at_a_boundary_where_there_is_room(void **state)
{
	struct desk d;
	struct sl_step e = {.kind = SL_STEP_RESIZE,
		.at_ns = 1,
		.job = 1,
		.persistent_bytes = 3,
		.ephemeral_bytes = 20};

	(void)state;
	golden(&d);
	sl_assert_fails(sl_share_apply(&d.s, &e), SL_E_INVALID, "within a turn");
	e.job = 2;
	sl_assert_fails(sl_share_apply(&d.s, &e), SL_E_NOMEM_DEVICE, "full");
	e.persistent_bytes = 2;
	e.ephemeral_bytes = 4;
	desk_event(&d, e);
	assert_int_equal(d.s.lanes.granted_bytes, 32);
	desk_close(&d);
}

static void what_can_never_fit_is_refused_at_once(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "srtf", 10, 0, 0);
	desk_event(&d, arrives(0, 0, 5, 6, 5));
	assert_int_equal(d.s.n, 0);
	assert_int_equal(d.log.steps[1].kind, SL_STEP_REJECT);
	desk_close(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_papers_example_is_exact),
		SL_TEST(a_lane_shrinks_at_the_boundary_after_its_largest_job_ends),
		SL_TEST(lanes_move_only_at_a_boundary),
		SL_TEST(two_jobs_that_would_deadlock_by_op_both_finish_in_one_lane),
		SL_TEST(a_users_limit_keeps_his_jobs_out_and_nobody_elses),
		SL_TEST(a_job_changes_its_size_at_a_boundary_where_there_is_room),
		SL_TEST(what_can_never_fit_is_refused_at_once),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
