/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of MLPs, GPT-2 and convolutions: GFLOP/s beside the multiply-add peak.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_matmul;

struct product {
	int64_t batch, m, n, k;
	struct sl_matmul_attr attr;
};

static const struct product products[] = {
	{1, 512, 512, 512, {.trans_a = false}},
	{1, 1024, 1024, 1024, {.trans_a = false}},
	{1, 1024, 1024, 1024, {.trans_a = true}},
	{1, 1024, 1024, 1024, {.trans_b = true}},
	{1, 512, 2304, 768, {.trans_a = false}},
	{1, 512, 768, 3072, {.trans_a = false}},
	{1, 768, 3072, 512, {.trans_a = true}},
	{1, 256, 50257, 768, {.trans_b = true}},
	{48, 128, 128, 64, {.trans_b = true}},
	{1, 100, 256, 784, {.trans_a = false}},
	{1, 784, 256, 100, {.trans_a = true}},
	{1, 128, 10, 256, {.trans_a = false}},
	{1, 16, 16, 40000, {.trans_a = true}},
	{1, 8, 768, 768, {.trans_a = false}},
	{1, 32, 32, 32, {.trans_a = false}},
	{1, 64, 64, 24, {.trans_a = false}},
	{1, 1, 768, 768, {.trans_a = false}},
	{1, 1, 4096, 4096, {.trans_a = false}},
	{1, 1, 4096, 4096, {.trans_b = true}},
	{1, 4096, 1, 4096, {.trans_a = false}},
};

int main(void)
{
	static struct bench_node nodes[SL_COUNT(products)];
	int threads = sl_cpu_count();

	for (size_t i = 0; i < SL_COUNT(products); i++) {
		const struct product *p = &products[i];
		const struct sl_shape in[BENCH_IN] = {
			p->attr.trans_a ? SL_SHAPE(p->batch, p->k, p->m)
					: SL_SHAPE(p->batch, p->m, p->k),
			p->attr.trans_b ? SL_SHAPE(p->batch, p->n, p->k)
					: SL_SHAPE(p->batch, p->k, p->n),
			{.rank = -1},
		};
		bench_node_init(&nodes[i], &sl_op_matmul, &p->attr, in, 3, threads);
		snprintf(nodes[i].label, sizeof(nodes[i].label),
			"%lldx %lld,%lld,%lld%s%s", (long long)p->batch, (long long)p->m,
			(long long)p->n, (long long)p->k, p->attr.trans_a ? " a^T" : "",
			p->attr.trans_b ? " b^T" : "");
	}
	bench_table(nodes, (int)SL_COUNT(products), threads);
	for (size_t i = 0; i < SL_COUNT(products); i++)
		bench_node_finish(&nodes[i]);
	return 0;
}
