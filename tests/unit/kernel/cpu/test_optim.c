/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>

#include "kernel/kernel.h"
#include "sluice/attrs.h"

#define N 40011

struct bed {
	float p[N], g[N], m[N], v[N], lr;
	int64_t step;
};

static void fill(struct bed *b)
{
	for (int i = 0; i < N; i++) {
		b->p[i] = sinf((float)i);
		b->g[i] = cosf(3 * (float)i);
		b->m[i] = 0.1f * sinf(5 * (float)i);
		b->v[i] = 0.01f + 0.001f * cosf((float)i);
	}
	b->lr = 0.01f;
	b->step = 3;
}

/* AdamW on elements [begin, begin + count), with states of their own. */
static void update(struct bed *b, int64_t begin, int64_t count)
{
	const struct sl_optim_attr attr = {.begin = begin,
		.count = count,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.eps = 1e-8,
		.weight_decay = 0.1};
	const struct sl_type all = {SL_F32, SL_SHAPE(N)};
	const struct sl_type part = {SL_F32, SL_SHAPE(count)};
	const struct sl_type in[] = {all, all, part, part, {SL_F32, SL_SCALAR},
		{SL_I64, SL_SCALAR}, {SL_DTYPE_COUNT, SL_SCALAR}};
	void *data[] = {b->p, b->g, b->m + begin, b->v + begin, &b->lr, &b->step, NULL};
	const struct sl_node_info n = {
		.op = sl_op_find("adamw"), .attr = &attr, .n_in = 7, .in = in};
	const struct sl_run run = {0};
	const struct sl_call c = {.node = &n, .in = data, .run = &run};
	const struct sl_kernel *k = sl_kernel_select(&n);

	assert_string_equal(k->name, "vec_adamw");
	sl_assert_ok(k->run(&c));
}

static void slices_of_a_parameter_give_the_bits_of_the_whole(void **state)
{
	static struct bed whole;
	static struct bed cut;
	/* Odd places: rests of vectors on both sides. */
	const int64_t ends[] = {0, 7, 1000, 20013, N};

	(void)state;
	fill(&whole);
	fill(&cut);
	update(&whole, 0, N);
	for (size_t i = 0; i + 1 < SL_COUNT(ends); i++)
		update(&cut, ends[i], ends[i + 1] - ends[i]);
	assert_memory_equal(&whole, &cut, sizeof(whole));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(slices_of_a_parameter_give_the_bits_of_the_whole),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
