/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policies, and the golden plans of small hand-made traces. */
#include "harness/harness.h"

#include <stdio.h>

#include "base/fs.h"
#include "memory/policy/policy.h"

static void the_table_finds_its_rows_and_nothing_else(void **state)
{
	(void)state;
	size_t n = 0;

	for (; sl_policy_at(n); n++) {
		assert_ptr_equal(sl_policy_find(sl_policy_at(n)->name), sl_policy_at(n));
		assert_non_null(sl_policy_at(n)->summary);
	}
	assert_true(n >= 2);
	assert_null(sl_policy_find("none such"));
	assert_null(sl_policy_at(1000));
}

static void load(const char *name, struct sl_trace *t)
{
	struct sl_buf text = SL_BUF_INIT;
	char path[128];

	(void)snprintf(path, sizeof(path), "tests/corpus/%s.trace", name);
	sl_assert_ok(sl_fs_read(path, 1 << 20, &text));
	sl_assert_ok(sl_trace_parse(path, text.data, text.len, t));
	sl_buf_finish(&text);
}

/* Budget 0: the least of the policy. */
static void compare(const char *name, const char *policy, uint64_t budget)
{
	const struct sl_mem_policy *p = sl_policy_find(policy);
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_buf text = SL_BUF_INIT;
	char file[128];

	load(name, &t);
	if (budget == 0)
		sl_assert_ok(sl_policy_least(p, &t, &budget));
	sl_assert_ok(sl_policy_plan(p, &t, budget, &plan));
	sl_assert_ok(sl_plan_print(&plan, &t, &text));
	(void)snprintf(file, sizeof(file), "plan/%s.%s.want", name, policy);
	sl_test_golden(file, sl_buf_text(&text));
	sl_buf_finish(&text);
	sl_plan_finish(&plan);
	sl_trace_finish(&t);
}

static void an_activation_waits_below_while_another_op_needs_the_room(void **state)
{
	(void)state;
	compare("gap", "belady", 0);
	compare("gap", "keep", 0);
	compare("gap", "autoswap", 0);
	compare("gap", "g10", 0);
}

static void weights_that_nobody_writes_are_dropped_and_not_copied_out(void **state)
{
	(void)state;
	compare("weights", "belady", 0);
	compare("weights", "keep", 0);
}

static void layers_run_again_and_nothing_is_copied(void **state)
{
	(void)state;
	compare("layers", "mimose", 80000);
	compare("layers", "optimal", 65536);
	compare("layers", "belady", 0);
	compare("layers", "keep", 0);
}

static void a_written_weight_stays_and_its_momentum_comes_and_goes(void **state)
{
	(void)state;
	compare("update", "belady", 0);
	compare("update", "keep", 0);
}

static void split_free_bytes_are_joined_by_a_move(void **state)
{
	(void)state;
	compare("split", "belady", 0);
	compare("split", "keep", 0);
}

static void views_count_as_their_root_and_the_immovable_lies_in_p(void **state)
{
	(void)state;
	compare("views", "belady", 0);
	compare("views", "keep", 0);
}

static void layers_of_an_inference_pass_a_ring(void **state)
{
	(void)state;
	compare("stream", "demand", 4096 * 7);
	compare("stream", "belady", 4096 * 7);
}

static sl_status plan_all(void *ctx)
{
	struct sl_trace *t = ctx;
	uint64_t least = 0;

	for (size_t i = 0; sl_policy_at(i); i++)
		SL_TRY(sl_policy_least(sl_policy_at(i), t, &least));
	return SL_OK;
}

static void planning_survives_every_failing_allocation(void **state)
{
	(void)state;
	static const char *const names[] = {"gap", "update", "split"};

	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct sl_trace t = SL_TRACE_INIT;

		load(names[i], &t);
		assert_true(sl_torture(plan_all, &t) > 20);
		sl_trace_finish(&t);
	}
}

static void a_quick_choice_has_the_least_effort_and_is_else_as_it_was(void **state)
{
	struct sl_policy_choice full, quick, asked;

	(void)state;
	sl_assert_ok(sl_policy_parse("tensile:cross=0", &full));
	sl_assert_ok(sl_policy_parse("tensile:cross=0,effort=0", &asked));
	quick = sl_policy_quick(&full);
	assert_memory_equal(quick.options, asked.options, sizeof(asked.options));
	assert_memory_not_equal(quick.options, full.options, sizeof(full.options));
	full = sl_policy_usual(&sl_mem_policy_keep);
	quick = sl_policy_quick(&full);
	assert_memory_equal(&quick, &full, sizeof(full));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_table_finds_its_rows_and_nothing_else),
		SL_TEST(an_activation_waits_below_while_another_op_needs_the_room),
		SL_TEST(weights_that_nobody_writes_are_dropped_and_not_copied_out),
		SL_TEST(layers_run_again_and_nothing_is_copied),
		SL_TEST(a_written_weight_stays_and_its_momentum_comes_and_goes),
		SL_TEST(split_free_bytes_are_joined_by_a_move),
		SL_TEST(views_count_as_their_root_and_the_immovable_lies_in_p),
		SL_TEST(a_quick_choice_has_the_least_effort_and_is_else_as_it_was),
		SL_TEST(planning_survives_every_failing_allocation),
		SL_TEST(layers_of_an_inference_pass_a_ring),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
