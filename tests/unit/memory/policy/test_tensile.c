/* SPDX-License-Identifier: Apache-2.0 */
/* tensile as it is by default: its worked example, its options, and what it is never
 * worse than. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/policy.h"
#include "unit/memory/policy/plan_by.h"
#include "unit/memory/policy/tp_util.h"

/* The worked example with a tier behind a half-duplex link of 20 MB a millisecond. */
static struct gen example(void)
{
	struct gen g = tp_chain();

	if (g.st == SL_OK)
		g.st = sl_trace_add_tier(&g.t, "host", 1000 * MB);
	for (uint32_t dir = 0; dir < 2 && g.st == SL_OK; dir++)
		g.st = sl_trace_add_link(&g.t, &(struct sl_trace_link){.from = dir,
						       .to = 1 - dir,
						       .bytes_per_s = 20000 * MB,
						       .half_duplex = true});
	return g;
}

static void the_worked_example_reaches_its_peak_without_worthless_swaps(void **state)
{
	struct gen g = example();
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	sl_assert_ok(gen_end(&g));
	/* Budgets are whole pages. */
	assert_int_equal(
		plan_by(&g.t, "tensile:redo=0", sl_align_up(400 * MB, SL_PAGE_BYTES), &p),
		80 * MS);
	assert_true(p.peak <= 400 * MB);
	assert_in_range(count_actions(&p, SL_ACTION_OUT), 1, 2);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void less_than_the_published_peak_is_possible_too(void **state)
{
	struct gen g = example();
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	sl_assert_ok(gen_end(&g));
	(void)plan_by(&g.t, "tensile", 310 * MB, &p);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void options_forbid_what_they_name(void **state)
{
	struct gen g = gen_training(4, 64, 64, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	(void)state;
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
	(void)plan_by(&g.t, "tensile:redo=0", peak / 2, &p);
	assert_int_equal(count_actions(&p, SL_ACTION_RECOMPUTE), 0);
	assert_true(count_actions(&p, SL_ACTION_OUT) > 0);
	sl_plan_finish(&p);
	(void)plan_by(&g.t, "tensile:published=1", peak / 2, &p);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void it_is_never_slower_than_swapping_on_demand(void **state)
{
	static const char *const others[] = {"belady", "vdnn", "capuchin"};

	(void)state;
	for (uint32_t depth = 2; depth < 7; depth += 2) {
		struct gen g = gen_training(depth, 64, 64, 1 << 28);
		struct sl_plan p = SL_PLAN_INIT;
		uint64_t peak = 0, least = 0;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, &g.t, &least));
		for (uint64_t i = 0; i < 5; i++) {
			uint64_t budget = least + (peak - least) * i / 5, ours;

			ours = plan_by(&g.t, "tensile:simple=0", budget, &p);
			sl_plan_finish(&p);
			for (size_t k = 0; k < SL_COUNT(others); k++) {
				assert_true(ours <= plan_by(&g.t, others[k], budget, &p));
				sl_plan_finish(&p);
			}
		}
		sl_trace_finish(&g.t);
	}
}

static void options_out_of_bounds_are_refused_with_what_there_is(void **state)
{
	struct sl_policy_choice c;

	(void)state;
	sl_assert_ok(sl_policy_parse("tensile:published=1,cross=0", &c));
	sl_assert_fails(sl_policy_parse("tensile:published=2", &c), SL_E_USAGE, "0..1");
	sl_assert_fails(sl_policy_parse("tensile:depth=1", &c), SL_E_USAGE, "depth");
	sl_assert_fails(sl_policy_parse("tensile:cross", &c), SL_E_USAGE, "cross");
	sl_assert_fails(sl_policy_parse("tensile:cross=", &c), SL_E_USAGE, "cross");
	sl_assert_fails(sl_policy_parse("tensile:", &c), SL_E_USAGE, "options");
	sl_assert_fails(sl_policy_parse("belady:x=1", &c), SL_E_USAGE, "none");
	sl_assert_fails(sl_policy_parse("nobody", &c), SL_E_USAGE, "list policies");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_worked_example_reaches_its_peak_without_worthless_swaps),
		cmocka_unit_test(less_than_the_published_peak_is_possible_too),
		cmocka_unit_test(options_forbid_what_they_name),
		cmocka_unit_test(it_is_never_slower_than_swapping_on_demand),
		cmocka_unit_test(options_out_of_bounds_are_refused_with_what_there_is),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
