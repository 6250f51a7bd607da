/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger under thousands of random grants, resizes and boundaries. */
#include "harness/harness.h"

#include "base/rng.h"
#include "share/ledger.h"

#define CAPACITY 1000
#define IDS 24

struct model {
	bool there[2][IDS], busy[2][IDS];
};

static void one_move(struct sl_ledger *l, struct model *m, struct sl_rng *rng)
{
	int side = (int)sl_rng_below(rng, 2);
	uint32_t id = (uint32_t)sl_rng_below(rng, IDS);
	uint64_t bytes = sl_rng_below(rng, 120), what = sl_rng_below(rng, 4);
	const struct sl_region *r = sl_ledger_find(l, (enum sl_ledger_side)side, id);
	uint64_t before = r ? r->at : 0, size = r ? r->size_bytes : 0;
	bool busy = m->busy[side][id];
	sl_status st = SL_OK;

	assert_int_equal(r != NULL, m->there[side][id]);
	if (!r) {
		st = sl_ledger_add(l, (enum sl_ledger_side)side, id, bytes);
		m->there[side][id] = st == SL_OK;
	} else if (what == 0 && !busy) {
		sl_ledger_remove(l, (enum sl_ledger_side)side, id);
		m->there[side][id] = false;
	} else if (what == 1) {
		st = sl_ledger_resize(l, (enum sl_ledger_side)side, id, bytes);
	} else {
		m->busy[side][id] = !busy;
		sl_ledger_set_busy(l, (enum sl_ledger_side)side, id, !busy);
	}
	assert_true(st == SL_OK || st == SL_E_NOMEM_DEVICE);
	sl_ledger_settle(l);
	sl_assert_ok(sl_ledger_check(l));
	r = sl_ledger_find(l, (enum sl_ledger_side)side, id);
	if (r && busy && m->busy[side][id]) {
		assert_int_equal(r->at, before);
		assert_int_equal(r->size_bytes, size);
	}
}

static void all_boundaries(struct sl_ledger *l, struct model *m)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t id = 0; id < IDS; id++) {
			if (m->there[side][id])
				sl_ledger_set_busy(
					l, (enum sl_ledger_side)side, id, false);
			m->busy[side][id] = false;
		}
	}
	sl_ledger_settle(l);
}

static void after_boundaries_everything_has_its_grant_and_free_bytes_are_one_range(
	void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct sl_ledger l = {.capacity_bytes = CAPACITY};
		struct sl_rng rng = {.key = {.seed = seed}};
		struct model m = {0};

		for (int i = 0; i < 500; i++) {
			one_move(&l, &m, &rng);
			if (i % 25 != 24)
				continue;
			all_boundaries(&l, &m);
			assert_true(sl_ledger_settled(&l));
		}
		sl_ledger_finish(&l);
	}
}

static void one_boundary_after_another_in_any_order_suffices(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sl_ledger l = {.capacity_bytes = CAPACITY};
		struct sl_rng rng = {.key = {.seed = seed, .stream = 1}};

		for (uint32_t id = 0; id < 8; id++) {
			sl_assert_ok(sl_ledger_add(
				&l, SL_LEDGER_LANE, id, sl_rng_below(&rng, 60)));
			sl_ledger_settle(&l);
			sl_ledger_set_busy(&l, SL_LEDGER_LANE, id, true);
		}
		for (uint32_t id = 0; id < 8; id++)
			sl_assert_ok(sl_ledger_resize(
				&l, SL_LEDGER_LANE, id, sl_rng_below(&rng, 125)));
		/* Each lane is at a boundary for a moment, in turn; 8 rounds are enough.
		 */
		for (uint32_t i = 0; i < 64; i++) {
			sl_ledger_set_busy(&l, SL_LEDGER_LANE, i % 8, false);
			sl_ledger_settle(&l);
			sl_assert_ok(sl_ledger_check(&l));
			sl_ledger_set_busy(&l, SL_LEDGER_LANE, i % 8, true);
		}
		assert_true(sl_ledger_settled(&l));
		sl_ledger_finish(&l);
	}
}

static void a_grant_beyond_the_capacity_is_refused_and_changes_nothing(void **state)
{
	struct sl_ledger l = {.capacity_bytes = 10};

	(void)state;
	sl_assert_ok(sl_ledger_add(&l, SL_LEDGER_JOB, 0, 4));
	sl_assert_fails(
		sl_ledger_add(&l, SL_LEDGER_LANE, 0, 7), SL_E_NOMEM_DEVICE, "capacity");
	sl_assert_fails(sl_ledger_add(&l, SL_LEDGER_LANE, 0, UINT64_MAX),
		SL_E_NOMEM_DEVICE, "capacity");
	sl_assert_ok(sl_ledger_add(&l, SL_LEDGER_LANE, 0, 6));
	sl_assert_fails(
		sl_ledger_resize(&l, SL_LEDGER_JOB, 0, 5), SL_E_NOMEM_DEVICE, "capacity");
	sl_ledger_settle(&l);
	assert_true(sl_ledger_settled(&l));
	sl_ledger_finish(&l);
}

static void the_check_sees_an_overlap(void **state)
{
	struct sl_ledger l = {.capacity_bytes = 10};

	(void)state;
	sl_assert_ok(sl_ledger_add(&l, SL_LEDGER_JOB, 0, 4));
	sl_assert_ok(sl_ledger_add(&l, SL_LEDGER_LANE, 0, 6));
	sl_ledger_settle(&l);
	l.side[0].items[0].size_bytes = 5;
	sl_assert_fails(sl_ledger_check(&l), SL_E_NO, "neighbour");
	l.side[0].items[0].size_bytes = 4;
	l.side[0].items[0].grant_bytes = 5;
	sl_assert_fails(sl_ledger_check(&l), SL_E_NO, "capacity");
	sl_ledger_finish(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(after_boundaries_everything_has_its_grant_and_free_bytes_are_one_range),
		SL_TEST(one_boundary_after_another_in_any_order_suffices),
		SL_TEST(a_grant_beyond_the_capacity_is_refused_and_changes_nothing),
		SL_TEST(the_check_sees_an_overlap),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
