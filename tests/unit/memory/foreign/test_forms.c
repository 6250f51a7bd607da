/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in other forms and back: what a form has stays as it was. */
#include "harness/harness.h"

#include <string.h>

#include "memory/foreign/foreign.h"
#include "memory/place_csv.h"
#include "unit/memory/gen.h"

struct sums {
	uint64_t ns, live_peak, least;
	uint32_t ops, values;
};

static struct sums sums_of(const struct sl_trace *t)
{
	struct sl_least_budget least;
	struct sums s = {.ops = t->n_ops, .values = t->n_values};

	sl_assert_ok(sl_trace_least_budget(t, &least));
	s.live_peak = least.live_peak_bytes;
	s.least = least.bytes;
	for (uint32_t o = 0; o < t->n_ops; o++)
		s.ns += t->ops[o].dur_ns;
	return s;
}

static sl_status back(enum sl_foreign_kind kind, const struct sl_trace *t,
	struct sl_trace *out, struct sl_buf *first, struct sl_buf *second)
{
	struct sl_foreign_text a, b;

	SL_TRY(sl_foreign_print(kind, t, first, second));
	a = (struct sl_foreign_text){"a", sl_buf_text(first), first->len};
	b = (struct sl_foreign_text){"b", sl_buf_text(second), second->len};
	if (kind == SL_FOREIGN_G10)
		return sl_g10_parse(&b, &a, out);
	return kind == SL_FOREIGN_DTR ? sl_dtr_parse(&a, out) : sl_buffers_parse(&a, out);
}

/* The text of a form that was read back is the same again. */
static void assert_settled(
	enum sl_foreign_kind kind, const struct sl_trace *t, struct sl_trace *again)
{
	struct sl_buf one[2] = {SL_BUF_INIT, SL_BUF_INIT};
	struct sl_buf two[2] = {SL_BUF_INIT, SL_BUF_INIT};
	struct sl_trace third = SL_TRACE_INIT;

	sl_assert_ok(back(kind, t, again, &one[0], &one[1]));
	sl_assert_ok(back(kind, again, &third, &two[0], &two[1]));
	if (kind == SL_FOREIGN_G10) {
		assert_string_equal(sl_buf_text(&one[0]), sl_buf_text(&two[0]));
		assert_string_equal(sl_buf_text(&one[1]), sl_buf_text(&two[1]));
	}
	assert_memory_equal(&(struct sums[]){sums_of(again)},
		&(struct sums[]){sums_of(&third)}, sizeof(struct sums));
	for (int i = 0; i < 2; i++) {
		sl_buf_finish(&one[i]);
		sl_buf_finish(&two[i]);
	}
	sl_trace_finish(&third);
}

static void times_and_peaks_survive_kernels_and_logs(void **state)
{
	static const enum sl_foreign_kind kinds[] = {SL_FOREIGN_G10, SL_FOREIGN_DTR};

	(void)state;
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct gen g = seed < 30 ? gen_random(seed, (uint32_t)seed)
					 : gen_training((uint32_t)seed - 28, 64, 8, 0);

		sl_assert_ok(gen_end(&g));
		for (uint32_t o = 0; o < g.t.n_ops; o++)
			g.t.ops[o].workspace_bytes &= ~(uint64_t)4095;
		for (uint32_t v = 0; v < g.t.n_values; v++) {
			struct sl_trace_value *x = &g.t.values[v];

			x->immovable = x->external = false;
			x->bytes = sl_room_value(x);
		}
		for (size_t k = 0; k < SL_COUNT(kinds); k++) {
			struct sl_trace t = SL_TRACE_INIT;
			struct sums is, was = sums_of(&g.t);

			assert_settled(kinds[k], &g.t, &t);
			is = sums_of(&t);
			assert_int_equal(is.ns, was.ns);
			assert_int_equal(is.live_peak, was.live_peak);
			assert_int_equal(is.least, was.least);
			sl_trace_finish(&t);
		}
		sl_trace_finish(&g.t);
	}
}

static void tables_of_buffers_keep_their_load(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct gen g = gen_random(seed, (uint32_t)seed);
		struct sl_buf text = SL_BUF_INIT, none = SL_BUF_INIT;
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_place_table table = {.source = "b", .text = SL_BUF_INIT};
		uint64_t load = 0;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(back(SL_FOREIGN_BUFFERS, &g.t, &t, &text, &none));
		sl_assert_ok(sl_buf_append(&table.text, text.data, text.len));
		sl_assert_ok(sl_place_table_parse(&table));
		sl_assert_ok(sl_place_load(table.items, table.n, &load));
		assert_int_equal(sums_of(&t).live_peak, load);
		sl_place_table_finish(&table);
		sl_buf_finish(&text);
		sl_buf_finish(&none);
		sl_trace_finish(&t);
		sl_trace_finish(&g.t);
	}
}

static void a_table_of_buffers_becomes_spans(void **state)
{
	static const char csv[] = "id,lower,upper,size,alignment\n"
				  "a b,10,20,100,64\nc,15,40,7,\nz,1,2,0,\nd,40,41,9,\n";
	struct sl_foreign_text x = {"b", csv, sizeof(csv) - 1};
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_buffers_parse(&x, &t));
	sl_assert_ok(sl_trace_print(&t, &text));
	assert_string_equal(strstr(sl_buf_text(&text), "op 0"),
		"op 0 kind=span scope=t10 device=0 stream=0 dur_ns=5 workspace=0 in=- "
		"out=v0 mutates=- pure=0\n"
		"op 1 kind=span scope=t15 device=0 stream=0 dur_ns=5 workspace=0 in=v0 "
		"out=v1 mutates=- pure=0\n"
		"op 2 kind=span scope=t20 device=0 stream=0 dur_ns=20 workspace=0 in=v1 "
		"out=- mutates=- pure=0\n"
		"op 3 kind=span scope=t40 device=0 stream=0 dur_ns=1 workspace=0 in=- "
		"out=v2 mutates=- pure=0\n");
	assert_string_equal(t.values[0].name, "a_b");
	sl_buf_finish(&text);
	sl_trace_finish(&t);
}

static void alignments_above_a_page_and_wrong_rows_are_refused(void **state)
{
	static const char *const hostile[][2] = {
		{"id,lower,upper,size,alignment\na,0,1,1,8192\n", "b:2: alignment 8192"},
		{"id,lower,upper,size\na,1,1,1\n", "b:2: lower 1 is not below upper 1"},
		{"id,lower,upper,size\na,0,4611686018427387904,1\n", "b: op 0 brings"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(hostile); i++) {
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_foreign_text x = {"b", hostile[i][0], strlen(hostile[i][0])};

		sl_assert_fails(sl_buffers_parse(&x, &t), SL_E_FORMAT, hostile[i][1]);
	}
}

static sl_status all_forms(void *ctx)
{
	const struct sl_trace *t = ctx;
	sl_status st = SL_OK;

	for (int k = 1; k < SL_FOREIGN_COUNT && st == SL_OK; k++) {
		struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
		struct sl_trace again = SL_TRACE_INIT;

		st = back((enum sl_foreign_kind)k, t, &again, &one, &two);
		sl_buf_finish(&one);
		sl_buf_finish(&two);
		sl_trace_finish(&again);
	}
	return st;
}

static void memory_may_run_out_anywhere(void **state)
{
	struct gen g = gen_random(3, 6);

	(void)state;
	sl_assert_ok(gen_end(&g));
	assert_true(sl_torture(all_forms, &g.t) > 20);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(times_and_peaks_survive_kernels_and_logs),
		SL_TEST(tables_of_buffers_keep_their_load),
		SL_TEST(a_table_of_buffers_becomes_spans),
		SL_TEST(alignments_above_a_page_and_wrong_rows_are_refused),
		SL_TEST(memory_may_run_out_anywhere),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
