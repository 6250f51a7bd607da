/* SPDX-License-Identifier: Apache-2.0 */
/* Published kernel traces: every number that is known of them, and files that are wrong.
 */
#include "harness/harness.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "memory/bound.h"
#include "memory/foreign/foreign.h"

#define DATA "../shared/data/traces/g10-"
#define GIB ((uint64_t)1 << 30)

static const struct known {
	const char *file;
	uint32_t kernels, tensors;
	uint64_t ns, cycles;
	uint32_t weights, inputs, activations, gradients;
	uint64_t weight_bytes;
	double all_gb;
	uint64_t peak_bytes;
	const char *peak_scope;
	uint64_t largest_set_bytes;
	double least_in_gb[4]; /* at 40, 32, 24, 16 GiB */
} known_rows[] = {
	{DATA "bert-256.kernels.csv", 1369, 1463, 7285466083, 8742558777, 156, 53, 477,
		777, 17823494144, 158.96, 51282243584, "k486", 2415919104,
		{8.333, 16.923, 25.512, 37.561}},
	{DATA "vit-1280.kernels.csv", 1489, 1561, 3715951615, 4459141336, 157, 51, 509,
		844, 18252263424, 195.73, 61626544128, "k542", 2052328991,
		{18.677, 27.267, 35.857, 47.462}},
	{DATA "bert-512.kernels.csv", 1369, 1463, 9832830985, 11799396628, 156, 53, 477,
		777, 35239424000, 317.04, 102128611328, "k486", 4831838208,
		{59.179, 74.382, 91.562, 108.741}},
};

static void read_known(const struct known *k, struct sl_trace *t)
{
	*t = SL_TRACE_INIT;
	if (access(k->file, R_OK) != 0)
		sl_test_skip("no ../shared/data/traces");
	sl_assert_ok(sl_foreign_read(k->file, NULL, t));
}

static void kernels_and_times_are_the_published_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(known_rows); i++) {
		const struct known *k = &known_rows[i];
		struct sl_trace t;
		uint32_t kernels = 0;
		uint64_t ns = 0, cycles = 0;

		read_known(k, &t);
		for (uint32_t o = 0; o < t.n_ops; o++) {
			double ms = (double)t.ops[o].dur_ns / 1e6;

			kernels += strcmp(t.ops[o].kind, SL_G10_FEED) != 0;
			ns += t.ops[o].dur_ns;
			cycles += (uint64_t)(ms * 1.2e9 / 1000);
		}
		assert_int_equal(kernels, k->kernels);
		assert_int_equal(t.n_values, k->tensors);
		assert_int_equal(ns, k->ns);
		assert_int_equal(cycles, k->cycles);
		sl_trace_finish(&t);
	}
}

static void classes_and_sizes_are_the_published_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(known_rows); i++) {
		const struct known *k = &known_rows[i];
		struct sl_trace t;
		uint64_t bytes = 0, weight_bytes = 0;
		uint32_t n[SL_CLASS_COUNT] = {0};

		read_known(k, &t);
		for (uint32_t v = 0; v < t.n_values; v++) {
			n[t.values[v].cls]++;
			bytes += t.values[v].bytes;
			if (t.values[v].cls == SL_CLASS_PARAM)
				weight_bytes += t.values[v].bytes;
		}
		assert_int_equal(n[SL_CLASS_PARAM], k->weights);
		assert_int_equal(n[SL_CLASS_INPUT], k->inputs);
		assert_int_equal(n[SL_CLASS_ACT], k->activations);
		assert_int_equal(n[SL_CLASS_GRAD], k->gradients);
		assert_int_equal(weight_bytes, k->weight_bytes);
		assert_true(fabs((double)bytes / 1e9 - k->all_gb) < 0.005);
		sl_trace_finish(&t);
	}
}

/* Most bytes at one op: weights always, others from their first to their last op. */
static uint64_t peak_of(const struct sl_trace *t, const struct sl_trace_index *x,
	const char **scope, uint64_t *largest_set)
{
	uint64_t peak = 0;

	for (uint32_t o = 0; o < t->n_ops; o++) {
		uint64_t live = t->ops[o].workspace_bytes, set = live;

		for (uint32_t v = 0; v < t->n_values; v++) {
			uint32_t from = x->first[v], to = x->first[v + 1];
			bool kept = sl_class_persistent(t->values[v].cls);

			if (from < to && (kept || (x->uses[from].op <= o &&
							  o <= x->uses[to - 1].op)))
				live += t->values[v].bytes;
			for (uint32_t u = from; u < to; u++)
				set += x->uses[u].op == o ? t->values[v].bytes : 0;
		}
		if (live > peak) {
			peak = live;
			*scope = t->ops[o].scope;
		}
		*largest_set = set > *largest_set ? set : *largest_set;
	}
	return peak;
}

static void peaks_and_working_sets_are_the_published_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(known_rows); i++) {
		const struct known *k = &known_rows[i];
		struct sl_trace t;
		struct sl_trace_index x;
		struct sl_least_budget least;
		uint64_t set = 0;
		const char *scope = "";

		read_known(k, &t);
		sl_assert_ok(sl_trace_index_init(&t, &x));
		assert_int_equal(peak_of(&t, &x, &scope, &set), k->peak_bytes);
		assert_string_equal(scope, k->peak_scope);
		assert_int_equal(set, k->largest_set_bytes);
		sl_assert_ok(sl_trace_least_budget(&t, &least));
		assert_int_equal(least.live_peak_bytes, k->peak_bytes);
		assert_int_equal(least.bytes, (set + 4095) / 4096 * 4096);
		sl_trace_index_finish(&x);
		sl_trace_finish(&t);
	}
}

static void least_traffic_is_the_published_one(void **state)
{
	static const uint64_t gib[] = {40, 32, 24, 16};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(known_rows); i++) {
		const struct known *k = &known_rows[i];
		struct sl_trace t;

		read_known(k, &t);
		for (size_t b = 0; b < SL_COUNT(gib); b++) {
			struct sl_traffic_bound bound;

			/* Known to three digits; the bound stays below by up to 1e-6. */
			sl_assert_ok(sl_traffic_bound(&t, gib[b] * GIB, &bound));
			assert_true(bound.possible);
			assert_true(fabs((double)bound.in_bytes / 1e9 -
					    k->least_in_gb[b]) < 0.0006);
		}
		sl_trace_finish(&t);
	}
}

#define TENSORS "id,size_bytes,class\n"
#define KERNELS "index,name,time_ns,workspace_bytes,inputs,outputs\n"

static sl_status parse(const char *tensors, const char *kernels, struct sl_trace *t)
{
	struct sl_foreign_text a = {"t", tensors, strlen(tensors)};
	struct sl_foreign_text b = {"k", kernels, strlen(kernels)};

	return sl_g10_parse(&a, &b, t);
}

static void what_is_read_first_is_fed_and_what_is_written_again_is_changed(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf b = SL_BUF_INIT;

	sl_assert_ok(parse(TENSORS "w,4096,weight\nx,64,input\ny,8192,activation\n"
				   "g,12,gradient\n",
		KERNELS "0,f,10,100,w x,y\n1,b,20,0,x y,g y\n2,u,30,0,g w,w\n"
			"3,z,0,0,,g w\n",
		&t));
	sl_assert_ok(sl_trace_print(&t, &b));
	assert_string_equal(strstr(sl_buf_text(&b), "value v0"),
		"value v0 bytes=4096 align=4096 class=param alias=- version=0 "
		"immovable=0 external=0 name=w\n"
		"value v1 bytes=64 align=64 class=input alias=- version=0 "
		"immovable=0 external=0 name=x\n"
		"value v2 bytes=8192 align=4096 class=act alias=- version=0 "
		"immovable=0 external=0 name=y\n"
		"value v3 bytes=12 align=4 class=grad alias=- version=0 "
		"immovable=0 external=0 name=g\n"
		"op 0 kind=feed scope=k0 device=0 stream=0 dur_ns=0 workspace=0 "
		"in=- out=v1 mutates=- pure=0\n"
		"op 1 kind=f scope=k0 device=0 stream=0 dur_ns=10 workspace=100 "
		"in=v0,v1 out=v2 mutates=- pure=1\n"
		"op 2 kind=b scope=k1 device=0 stream=0 dur_ns=20 workspace=0 "
		"in=v1 out=v3 mutates=v2 pure=1\n"
		"op 3 kind=u scope=k2 device=0 stream=0 dur_ns=30 workspace=0 "
		"in=v3 out=- mutates=v0 pure=1\n"
		"op 4 kind=z scope=k3 device=0 stream=0 dur_ns=0 workspace=0 "
		"in=- out=v0 mutates=v3 pure=1\n");
	assert_non_null(strstr(sl_buf_text(&b),
		"link disk device bytes_per_s=3200000000 latency_ns=12000"));
	sl_buf_finish(&b);
	sl_trace_finish(&t);
}

static const struct {
	const char *tensors, *kernels, *part;
} hostile[] = {
	{"", KERNELS, "t:0: the file is empty"},
	{"id,size_bytes\n", KERNELS, "t:1: no column is called class"},
	{TENSORS "a,12,act\na,12,act\n", KERNELS, "t:3: the id a is given to two"},
	{TENSORS "a,0,act\n", KERNELS, "t:2: tensor a has no bytes"},
	{TENSORS "a,-1,act\n", KERNELS, "t:2: size_bytes '-1' is not a whole number"},
	{TENSORS "a,1152921504606846977,act\n", KERNELS, "2^60"},
	{TENSORS "a,1152921504606846976,act\nb,1,act\n", KERNELS, "k: v1 brings"},
	{TENSORS "a,1,robot\n", KERNELS, "t:2: class 'robot' is not known"},
	{TENSORS "a,1\n", KERNELS, "t:2: 2 fields"},
	{TENSORS ",1,act\n", KERNELS, "t:2: id '' is empty"},
	{TENSORS "a b,1,act\n", KERNELS, "t:2: id 'a b'"},
	{TENSORS "a,1,act\n", "index,name\n", "k:1: no column is called time_ns"},
	{TENSORS "a,1,act\n", KERNELS "1,f,1,0,,a\n", "k:2: kernel 1 is out of order"},
	{TENSORS "a,1,act\n", KERNELS "0,f g,1,0,,a\n", "k:2: name 'f g'"},
	{TENSORS "a,1,act\n", KERNELS "0,f,1.5,0,,a\n", "k:2: time_ns '1.5'"},
	{TENSORS "a,1,act\n", KERNELS "0,f,1,x,,a\n", "k:2: workspace_bytes 'x'"},
	{TENSORS "a,1,act\n", KERNELS "0,f,1,0,,b\n", "k:2: outputs names tensor 'b'"},
	{TENSORS "a,1,act\n", KERNELS "0,f,1,0,,a a\n", "k:2: outputs names tensor a tw"},
	{TENSORS "a,1,act\n", KERNELS "0,\"f\",1,0,,a\n", "k:2: quotes"},
};

static void hostile_tables_are_refused_with_line_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(hostile); i++) {
		struct sl_trace t = SL_TRACE_INIT;

		sl_assert_fails(parse(hostile[i].tensors, hostile[i].kernels, &t),
			SL_E_FORMAT, hostile[i].part);
	}
}

static sl_status parse_small(void *ctx)
{
	struct sl_trace t = SL_TRACE_INIT;

	(void)ctx;
	SL_TRY(parse(TENSORS "w,4096,weight\nx,64,input\ny,8192,activation\n",
		KERNELS "0,f,10,100,w x,y\n1,u,30,0,y w,w\n", &t));
	sl_trace_finish(&t);
	return SL_OK;
}

static void memory_may_run_out_anywhere(void **state)
{
	(void)state;
	assert_true(sl_torture(parse_small, NULL) > 5);
}

static void a_pair_needs_its_names(void **state)
{
	(void)state;
	enum sl_foreign_kind kind;

	assert_int_equal(sl_foreign_look(KERNELS, strlen(KERNELS)), SL_FOREIGN_G10);
	assert_int_equal(sl_foreign_look("trace 1\n", 8), SL_FOREIGN_TRACE);
	assert_int_equal(sl_foreign_look("# inputs, time_ns\n", 18), SL_FOREIGN_TRACE);
	assert_true(sl_foreign_find("g10", &kind) && kind == SL_FOREIGN_G10);
	assert_false(sl_foreign_find("g11", &kind));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(kernels_and_times_are_the_published_ones),
		SL_TEST(classes_and_sizes_are_the_published_ones),
		SL_TEST(peaks_and_working_sets_are_the_published_ones),
		SL_TEST(least_traffic_is_the_published_one),
		SL_TEST(what_is_read_first_is_fed_and_what_is_written_again_is_changed),
		SL_TEST(hostile_tables_are_refused_with_line_and_reason),
		SL_TEST(memory_may_run_out_anywhere),
		SL_TEST(a_pair_needs_its_names),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
