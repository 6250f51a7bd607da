/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's text form: round trip, and hostile texts that must be refused with line and
 * reason. */
#include "harness/harness.h"

#include <string.h>

#include "unit/memory/gen.h"

#define HEAD "trace 1\njob 0 name=t iterations=0\n"

static sl_status parse(const char *text, struct sl_trace *t)
{
	return sl_trace_parse("t.trace", text, strlen(text), t);
}

static void printing_and_parsing_give_the_same_text(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct gen g = gen_random(seed, (uint32_t)seed);
		struct sl_trace back = SL_TRACE_INIT;
		struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_trace_print(&g.t, &first));
		sl_assert_ok(parse(sl_buf_text(&first), &back));
		sl_assert_ok(sl_trace_print(&back, &second));
		assert_string_equal(sl_buf_text(&first), sl_buf_text(&second));
		sl_buf_finish(&first);
		sl_buf_finish(&second);
		sl_trace_finish(&back);
		sl_trace_finish(&g.t);
	}
}

static void keys_left_out_mean_none(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;

	sl_assert_ok(
		parse(HEAD "value v0 bytes=10 class=param\nop 0 kind=f in=v0\n", &t));
	assert_int_equal(t.values[0].align, 1);
	assert_int_equal(t.values[0].alias, SL_NO_ID);
	assert_string_equal(t.values[0].name, "");
	assert_true(t.ops[0].pure);
	assert_int_equal(t.ops[0].n_out, 0);
	assert_string_equal(t.ops[0].scope, "");
	sl_trace_finish(&t);
}

static const struct {
	const char *text;
	const char *part;
} hostile[] = {
	{"", "no trace"},
	{"plan 1\n", "no trace"},
	{"trace\n", "version is missing"},
	{"trace 2\n", "trace version 2"},
	{"trace 1 x\n", "goes on"},
	{HEAD "nonsense\n", "begins no line"},
	{HEAD "job x name=a\n", "3:"},
	{HEAD "tier device bytes=1\n", "other than `device`"},
	{HEAD "tier a bytes=1\ntier a bytes=2\n", "two tiers"},
	{HEAD "tier a\n", "bytes= is missing"},
	{HEAD "tier a bytes=99999999999999999999999\n", "99999999999999999999999"},
	{HEAD "link device moon bytes_per_s=1\n", "no tier"},
	{HEAD "tier a bytes=1\nlink device a bytes_per_s=0\n", "0 bytes a second"},
	{HEAD "tier a bytes=1\nlink device a bytes_per_s=1 latency_ns=1099511627777\n",
		"18 minutes"},
	{HEAD "op 0 kind=f dur_ns=1152921504606846976\nop 1 kind=f dur_ns=1\n",
		"op 1 brings the times over 2^60"},
	{HEAD "op 0 kind=f dur_ns=18446744073709551615\nop 1 kind=f dur_ns=2\n",
		"op 0 brings the times over 2^60"},
	{HEAD "tier a bytes=1\nlink a a bytes_per_s=1\n", "joins"},
	{HEAD "tier a bytes=1\nlink device a bytes_per_s=1 duplex=some\n", "duplex=some"},
	{HEAD "value v1 bytes=1 class=act\n", "out of order"},
	{HEAD "value w0 bytes=1 class=act\n", "w0"},
	{HEAD "value v0 bytes=1\n", "class= is missing"},
	{HEAD "value v0 bytes=1 class=weight\n", "class=weight"},
	{HEAD "value v0 bytes=1 class=act colour=red\n", "`colour` is no key"},
	{HEAD "value v0 bytes=1 bytes=2 class=act\n", "given twice"},
	{HEAD "value v0 bytes=0 class=act\n", "no bytes"},
	{HEAD "value v0 bytes=1 align=3 class=act\n", "align=3"},
	{HEAD "value v0 bytes=1 align=8192 class=act\n", "align=8192"},
	{HEAD "value v0 bytes=18446744073709551615 class=act\n", "2^60"},
	{HEAD "value v0 bytes=1 class=act immovable=2\n", "0 or 1"},
	{HEAD "value v0 bytes=1 class=act alias=v7\n", "no other value"},
	{HEAD "value v0 bytes=1 class=act alias=v0\n", "no other value"},
	{HEAD "value v0 bytes=1 class=act\nvalue v1 bytes=2 class=act alias=v0\n",
		"larger"},
	{HEAD "value v0 bytes=1 class=act\nvalue v1 bytes=1 class=act alias=v0\n"
	      "value v2 bytes=1 class=act alias=v1\n",
		"itself an alias"},
	{HEAD "op 0 kind=f in=v0\n", "there are 0 values"},
	{HEAD "op 1 kind=f\n", "out of order"},
	{HEAD "op 0\n", "kind= is missing"},
	{HEAD "op 0 kind=f extra\n", "`extra` is no key"},
	{HEAD "value v0 bytes=1 class=act\nop 0 kind=f in=v0\n", "no earlier op"},
	{HEAD "value v0 bytes=1 class=act\nop 0 kind=f in=v0 out=v0\n", "no earlier op"},
	{HEAD "value v0 bytes=1 class=act\nop 0 kind=f out=v0\nop 1 kind=f out=v0\n",
		"born already"},
	{HEAD "value v0 bytes=1 class=act\nop 0 kind=f out=v0,\n", "4:"},
	{HEAD "value v0 bytes=1 class=act\nop 0 kind=f out=,v0\n", "4:"},
	{HEAD "op 0 kind=f workspace=-1\n", "-1"},
	{HEAD "op 0 kind=f workspace=1e3\n", "1e3"},
	{HEAD "op 0 kind=f device=4294967296\n", "32 bits"},
	{HEAD "op 0 kind=f\x01\n", "3:"},
};

static void hostile_texts_are_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(hostile); i++) {
		struct sl_trace t = SL_TRACE_INIT;

		sl_assert_fails(parse(hostile[i].text, &t), SL_E_FORMAT, hostile[i].part);
		assert_int_equal(t.n_values, 0);
	}
}

static void every_cut_of_a_good_text_ends_in_a_status(void **state)
{
	(void)state;
	struct gen g = gen_random(5, 12);
	struct sl_buf text = SL_BUF_INIT;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_print(&g.t, &text));
	for (size_t len = 0; len < text.len; len++) {
		struct sl_trace t = SL_TRACE_INIT;

		if (sl_trace_parse("cut", text.data, len, &t) == SL_OK)
			sl_assert_ok(sl_trace_check(&t));
		sl_trace_finish(&t);
	}
	sl_buf_finish(&text);
	sl_trace_finish(&g.t);
}

static sl_status round_trip(void *ctx)
{
	const char *text = ctx;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf out = SL_BUF_INIT;
	sl_status st = parse(text, &t);

	if (st == SL_OK)
		st = sl_trace_print(&t, &out);
	sl_buf_finish(&out);
	sl_trace_finish(&t);
	return st;
}

static void the_text_survives_every_failing_allocation(void **state)
{
	(void)state;
	char text[] =
		HEAD "tier a bytes=1000\nlink device a bytes_per_s=5\n"
		     "value v0 bytes=10 class=param name=x\nvalue v1 bytes=9 class=act\n"
		     "op 0 kind=f in=v0 out=v1 mutates=v0\n";

	assert_true(sl_torture(round_trip, text) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(printing_and_parsing_give_the_same_text),
		SL_TEST(keys_left_out_mean_none),
		SL_TEST(hostile_texts_are_refused_with_the_reason),
		SL_TEST(every_cut_of_a_good_text_ends_in_a_status),
		SL_TEST(the_text_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
