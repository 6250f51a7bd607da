/* SPDX-License-Identifier: Apache-2.0 */
/* joint: never worse than any other row, and clean drops where the link is busiest. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/policy.h"
#include "memory/policy/tensile_int.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/plan_by.h"

static uint64_t time_of(const struct sl_trace *t, const char *text, uint64_t budget)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns = plan_by(t, text, budget, &p);

	sl_plan_finish(&p);
	return ns;
}

/* Every row with a plan there; parts of our own, too. */
static void assert_least(const struct sl_trace *t, uint64_t budget)
{
	static const char *const parts[] = {
		"joint:redo=0", "joint:clean=0", "joint:effort=1", "joint:effort=0"};
	uint64_t ours = time_of(t, "joint", budget);
	const struct sl_mem_policy *row;

	for (size_t i = 0; (row = sl_policy_at(i)) != NULL; i++) {
		struct sl_plan p = SL_PLAN_INIT;

		if (sl_policy_plan(row, t, budget, &p) == SL_OK)
			assert_true(ours <= p.price_ns);
		sl_plan_finish(&p);
	}
	for (size_t i = 0; i < SL_COUNT(parts); i++)
		assert_true(ours <= time_of(t, parts[i], budget));
}

static void it_is_never_slower_than_any_other_policy(void **state)
{
	(void)state;
	for (uint32_t depth = 2; depth < 5; depth += 2) {
		struct gen g = gen_training(depth, 64, 32, 1 << 28);
		uint64_t peak = 0, least = 0;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_joint, &g.t, &least));
		for (uint64_t i = 0; i < 2; i++)
			assert_least(&g.t, least + (peak - least) * i / 2);
		sl_trace_finish(&g.t);
	}
}

/* A weight of ten pages is read by ops 0 and 3 and changed by 4; between them an
 * activation of ten pages comes and goes. A page takes 1 us each way. Forward there is no
 * time for a copy out, beside op 4 and after it there is. */
#define CLEAN_TRACE \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=1048576\n" \
	"link device disk bytes_per_s=4096000000 latency_ns=0 duplex=full\n" \
	"link disk device bytes_per_s=4096000000 latency_ns=0 duplex=full\n" \
	"value v0 bytes=40960 align=4096 class=param\n" \
	"value v1 bytes=40960 align=4096 class=act\n" \
	"op 0 kind=idle dur_ns=20000 pure=0\n" \
	"op 1 kind=read dur_ns=1000 in=v0 pure=0\n" \
	"op 2 kind=work dur_ns=1000 out=v1 pure=0\n" \
	"op 3 kind=end dur_ns=1000 in=v1 pure=0\n" \
	"op 4 kind=idle dur_ns=20000 pure=0\n" \
	"op 5 kind=update dur_ns=1000 mutates=v0 pure=0\n" \
	"op 6 kind=idle dur_ns=20000 pure=0\n"

static void what_was_saved_over_the_boundary_leaves_at_once(void **state)
{
	struct sl_tensile_how how = {.effort = 2, .cross = true};
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;

	(void)state;
	sl_assert_ok(sl_trace_parse("hand.trace", CLEAN_TRACE, strlen(CLEAN_TRACE), &t));
	sl_assert_ok(sl_tensile_find(&t, 40960, &how, &p));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	assert_true(price.iter_ns > 64000);
	sl_plan_finish(&p);
	how.clean = true;
	sl_assert_ok(sl_tensile_find(&t, 40960, &how, &p));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	assert_int_equal(price.iter_ns, 64000);
	assert_int_equal(count_actions(&p, SL_ACTION_OUT), 0);
	assert_int_equal(count_actions(&p, SL_ACTION_SAVE), 1);
	assert_int_equal(count_actions(&p, SL_ACTION_DROP_CLEAN), 1);
	assert_int_equal(count_actions(&p, SL_ACTION_IN), 1);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

static void options_forbid_what_they_name(void **state)
{
	struct gen g = gen_training(4, 64, 64, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	(void)state;
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
	(void)plan_by(&g.t, "joint:redo=0", peak / 2, &p);
	assert_int_equal(count_actions(&p, SL_ACTION_RECOMPUTE), 0);
	assert_true(count_actions(&p, SL_ACTION_IN) > 0);
	sl_plan_finish(&p);
	(void)plan_by(&g.t, "joint:swap=0", peak / 10 * 9, &p);
	assert_int_equal(count_actions(&p, SL_ACTION_IN), 0);
	assert_int_equal(count_actions(&p, SL_ACTION_OUT), 0);
	assert_true(count_actions(&p, SL_ACTION_RECOMPUTE) > 0);
	assert_string_equal(p.policy, "joint");
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void a_plan_for_less_serves_for_more(void **state)
{
	struct gen g = gen_training(2, 64, 32, 1 << 28);
	uint64_t peak = 0, before = UINT64_MAX;

	(void)state;
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
	for (uint64_t k = 10; k <= 20; k++) {
		uint64_t ns = time_of(&g.t, "joint", peak * k / 20 / 4096 * 4096);

		assert_true(ns <= before);
		before = ns;
	}
	sl_trace_finish(&g.t);
}

static void auto_is_joint_with_a_budget_and_keep_without(void **state)
{
	static const struct {
		const char *text;
		bool with_budget;
		const char *name;
	} rows[] = {{"auto", true, "joint"}, {NULL, true, "joint"},
		{"auto", false, "keep"}, {NULL, false, "keep"}, {"vdnn", true, "vdnn"},
		{"vdnn", false, "vdnn"}, {"auto:effort=0", false, "keep"}};
	struct sl_policy_choice c;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(rows); i++) {
		sl_assert_ok(sl_policy_parse_auto(rows[i].text, rows[i].with_budget, &c));
		assert_string_equal(c.policy->name, rows[i].name);
	}
}

static void auto_takes_the_options_of_joint(void **state)
{
	struct sl_policy_choice mine, joint;

	(void)state;
	sl_assert_ok(sl_policy_parse_auto("auto:effort=0,redo=0", true, &mine));
	sl_assert_ok(sl_policy_parse("joint:effort=0,redo=0", &joint));
	assert_ptr_equal(mine.policy, joint.policy);
	assert_memory_equal(mine.options, joint.options, sizeof(mine.options));
	sl_assert_fails(
		sl_policy_parse_auto("auto:depth=1", true, &mine), SL_E_USAGE, "depth=1");
	sl_assert_fails(sl_policy_parse_auto("auto:depth=1", false, &mine), SL_E_USAGE,
		"depth=1");
	sl_assert_fails(
		sl_policy_parse_auto("automatic", true, &mine), SL_E_USAGE, "unknown");
}

static void too_little_is_refused_with_what_works(void **state)
{
	struct gen g = gen_training(3, 64, 32, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	sl_assert_ok(gen_end(&g));
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_joint, &g.t, 4097, &p),
		SL_E_INFEASIBLE, "budget 4097 is below");
	assert_null(p.value_offset);
	sl_trace_finish(&g.t);
}

/* Whatever allocation fails, there is a plan or a reason. */
static sl_status run_once(void *ctx)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_policy_choice choice;
	sl_status st = sl_policy_parse("joint:effort=1", &choice);

	if (st == SL_OK)
		st = sl_policy_apply(&choice, ctx, 40960, &p);
	sl_plan_finish(&p);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	struct sl_trace t = SL_TRACE_INIT;

	(void)state;
	sl_assert_ok(sl_trace_parse("hand.trace", CLEAN_TRACE, strlen(CLEAN_TRACE), &t));
	assert_true(sl_torture(run_once, &t) > 100);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(it_is_never_slower_than_any_other_policy),
		SL_TEST(what_was_saved_over_the_boundary_leaves_at_once),
		SL_TEST(options_forbid_what_they_name),
		SL_TEST(a_plan_for_less_serves_for_more),
		SL_TEST(auto_is_joint_with_a_budget_and_keep_without),
		SL_TEST(auto_takes_the_options_of_joint),
		SL_TEST(too_little_is_refused_with_what_works),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
