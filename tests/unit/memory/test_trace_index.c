/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from a trace: uses by root, least budget, live peak. */
#include "harness/harness.h"

#include <string.h>

#include "unit/memory/gen.h"

#define HEAD "trace 1\njob 0 name=t iterations=0\n"

static void parse(const char *text, struct sl_trace *t)
{
	sl_assert_ok(sl_trace_parse("t.trace", text, strlen(text), t));
}

static void accesses_through_a_view_count_for_its_root(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_trace_index x = {0};

	parse(HEAD "value v0 bytes=8 class=act\nvalue v1 bytes=8 class=act alias=v0\n"
		   "value v2 bytes=8 class=param\n"
		   "op 0 kind=f out=v0\nop 1 kind=f in=v1,v0,v2 mutates=v1\nop 2 kind=f "
		   "in=v1 "
		   "out=v2\n",
		&t);
	assert_int_equal(sl_trace_root(&t, 1), 0);
	sl_assert_ok(sl_trace_index_init(&t, &x));
	assert_int_equal(x.first[1] - x.first[0], 3);
	assert_int_equal(x.first[2] - x.first[1], 0);
	assert_int_equal(x.first[3] - x.first[2], 2);
	assert_true(x.uses[0].births && x.uses[0].writes);
	assert_true(x.uses[1].op == 1 && x.uses[1].writes && !x.uses[1].births);
	assert_true(x.uses[2].op == 2 && !x.uses[2].writes);
	assert_true(x.uses[3].op == 1 && !x.uses[3].writes);
	assert_true(x.uses[4].op == 2 && x.uses[4].writes && !x.uses[4].births);
	sl_trace_index_finish(&x);
	sl_trace_finish(&t);
}

static void the_least_budget_is_the_largest_working_set_and_the_immovable(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_least_budget b = {0};

	parse(HEAD "value v0 bytes=8192 align=4096 class=param\n"
		   "value v1 bytes=100 align=64 class=state immovable=1\n"
		   "value v2 bytes=5000 align=4096 class=act\n"
		   "value v3 bytes=4096 align=4096 class=act\n"
		   "op 0 kind=f in=v0,v1 out=v2\n"
		   "op 1 kind=f workspace=10000 in=v2 out=v3\n",
		&t);
	sl_assert_ok(sl_trace_least_budget(&t, &b));
	assert_int_equal(b.binding_op, 1);
	assert_int_equal(b.op_in_bytes, 8192);
	assert_int_equal(b.op_out_bytes, 4096);
	assert_int_equal(b.op_workspace_bytes, 12288);
	assert_int_equal(b.immovable_bytes, 128);
	assert_int_equal(b.bytes, 28672); /* 24576 + 128, in pages */
	assert_int_equal(b.live_peak_bytes, 8192 + 100 + 5000 + 4096 + 10000);
	sl_trace_finish(&t);
}

static void a_trace_without_ops_needs_what_cannot_move(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_least_budget b = {0};

	parse(HEAD "value v0 bytes=8192 class=param immovable=1\nvalue v1 bytes=10 "
		   "class=param\n",
		&t);
	sl_assert_ok(sl_trace_least_budget(&t, &b));
	assert_int_equal(b.bytes, 8192);
	assert_int_equal(b.live_peak_bytes, 8202);
	sl_trace_finish(&t);
}

static void class_names_are_those_of_the_format(void **state)
{
	(void)state;
	assert_string_equal(sl_class_name(SL_CLASS_PARAM), "param");
	assert_string_equal(sl_class_name(SL_CLASS_SCRATCH), "scratch");
	assert_true(sl_class_persistent(SL_CLASS_STATE));
	assert_true(sl_class_persistent(SL_CLASS_CONST));
	assert_false(sl_class_persistent(SL_CLASS_GRAD));
	assert_false(sl_class_persistent(SL_CLASS_INPUT));
}

static sl_status derive(void *ctx)
{
	struct gen g = gen_training(2, 16, 8, 1 << 20);
	struct sl_least_budget b = {0};
	sl_status st = gen_end(&g);
	(void)ctx;

	if (st == SL_OK)
		st = sl_trace_least_budget(&g.t, &b);
	sl_trace_finish(&g.t);
	return st;
}

static void building_and_deriving_survive_every_failing_allocation(void **state)
{
	(void)state;
	assert_true(sl_torture(derive, NULL) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(accesses_through_a_view_count_for_its_root),
		SL_TEST(the_least_budget_is_the_largest_working_set_and_the_immovable),
		SL_TEST(a_trace_without_ops_needs_what_cannot_move),
		SL_TEST(class_names_are_those_of_the_format),
		SL_TEST(building_and_deriving_survive_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
