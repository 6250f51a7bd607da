/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of MLPs, GPT-2 and convolutions: GFLOP/s beside the multiply-add peak,
 * our own packed product and the library's each where it accepts, and what selection
 * takes. An argument picks the rows whose label has it.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/thread.h"
#include "sluice/ops.h"

#define PAGE 4096

extern const struct sl_op sl_op_matmul;

struct product {
	int64_t batch, m, n, k;
	struct sl_matmul_attr attr;
};

static const struct product products[] = {
	/* gpt2-124M, 512 tokens: forward, dx, dw */
	{1, 512, 2304, 768, {0}},
	{1, 512, 768, 2304, {.trans_b = true}},
	{1, 768, 2304, 512, {.trans_a = true}},
	{1, 512, 768, 768, {0}},
	{1, 512, 768, 768, {.trans_b = true}},
	{1, 768, 768, 512, {.trans_a = true}},
	{1, 512, 3072, 768, {0}},
	{1, 512, 768, 3072, {.trans_b = true}},
	{1, 768, 3072, 512, {.trans_a = true}},
	{1, 512, 768, 3072, {0}},
	{1, 512, 3072, 768, {.trans_b = true}},
	{1, 3072, 768, 512, {.trans_a = true}},
	/* 256 tokens, and the head */
	{1, 256, 3072, 768, {0}},
	{1, 256, 768, 3072, {.trans_b = true}},
	{1, 768, 3072, 256, {.trans_a = true}},
	{1, 256, 50257, 768, {.trans_b = true}},
	{1, 256, 768, 50257, {0}},
	{1, 50257, 768, 256, {.trans_a = true}},
	/* 2048 tokens */
	{1, 2048, 3072, 768, {0}},
	{1, 768, 3072, 2048, {.trans_a = true}},
	/* bert-base, 128 tokens, one sample */
	{1, 128, 768, 768, {0}},
	{1, 128, 3072, 768, {0}},
	{1, 128, 768, 3072, {0}},
	/* squares */
	{1, 256, 256, 256, {0}},
	{1, 512, 512, 512, {0}},
	{1, 1024, 1024, 1024, {0}},
	{1, 1024, 1024, 1024, {.trans_a = true}},
	{1, 1024, 1024, 1024, {.trans_b = true}},
	{1, 1024, 1024, 1024, {.trans_a = true, .trans_b = true}},
	/* batches */
	{48, 64, 64, 64, {.trans_b = true}},
	{48, 128, 128, 64, {.trans_b = true}},
	{48, 128, 64, 128, {0}},
	/* small nets */
	{1, 500, 500, 784, {0}},
	{1, 784, 500, 500, {.trans_a = true}},
	{1, 500, 10, 500, {0}},
	{1, 500, 500, 10, {.trans_b = true}},
	{1, 500, 10, 500, {.trans_a = true}},
	{1, 100, 256, 784, {0}},
	{1, 784, 256, 100, {.trans_a = true}},
	{1, 128, 10, 256, {0}},
	{1, 8, 1000, 2048, {0}},
	{1, 8, 2048, 1000, {.trans_b = true}},
	{1, 2048, 1000, 8, {.trans_a = true}},
	{1, 16, 16, 40000, {.trans_a = true}},
	{1, 2, 768, 768, {0}},
	{1, 4, 768, 768, {0}},
	{1, 8, 768, 768, {0}},
	{1, 16, 768, 768, {0}},
	{1, 16, 768, 768, {.trans_b = true}},
	{1, 32, 768, 768, {0}},
	{1, 4, 3072, 768, {.trans_b = true}},
	{1, 64, 768, 768, {0}},
	{1, 32, 32, 32, {0}},
	{1, 64, 64, 24, {0}},
	{1, 64, 64, 64, {0}},
	{1, 128, 128, 128, {0}},
	/* vectors */
	{1, 1, 768, 768, {0}},
	{1, 1, 4096, 4096, {0}},
	{1, 1, 4096, 4096, {.trans_b = true}},
	{1, 4096, 1, 4096, {0}},
};

static const char *const rivals[] = {"packed_any", "dnnl_matmul"};

static void label(const struct product *p, char *to, size_t size)
{
	snprintf(to, size, "%lldx %lld,%lld,%lld%s%s", (long long)p->batch,
		(long long)p->m, (long long)p->n, (long long)p->k,
		p->attr.trans_a ? " a^T" : "", p->attr.trans_b ? " b^T" : "");
}

static void init(struct bench_node *b, const struct product *p, int threads)
{
	const struct sl_shape in[BENCH_IN] = {
		p->attr.trans_a ? SL_SHAPE(p->batch, p->k, p->m)
				: SL_SHAPE(p->batch, p->m, p->k),
		p->attr.trans_b ? SL_SHAPE(p->batch, p->n, p->k)
				: SL_SHAPE(p->batch, p->k, p->n),
		{.rank = -1},
	};

	bench_node_init(b, &sl_op_matmul, &p->attr, in, 3, threads);
	label(p, b->label, sizeof(b->label));
}

/* The rival prepared in place of the selected kernel; false where it does not accept. */
static bool use(struct bench_node *b, const char *name, int threads)
{
	const struct sl_kernel *k;

	for (size_t i = 0; (k = sl_kernel_at(i)) != NULL; i++)
		if (strcmp(k->name, name) == 0)
			break;
	if (!k || k == b->kernel || !k->accepts(&b->node))
		return false;
	if (b->kernel->release)
		b->kernel->release(b->prepared.state);
	sl_free_aligned(b->workspace);
	b->kernel = k;
	memset(&b->prepared, 0, sizeof(b->prepared));
	if (k->prepare(&b->node, &(struct sl_kernel_env){threads}, &b->prepared) != SL_OK)
		_Exit(1);
	b->workspace = sl_alloc_aligned(PAGE, b->prepared.workspace_bytes + PAGE);
	if (!b->workspace)
		_Exit(1);
	return true;
}

int main(int argc, char **argv)
{
	static struct bench_node nodes[3 * SL_COUNT(products)];
	int threads = sl_cpu_count();
	int n = 0;

	for (size_t i = 0; i < SL_COUNT(products); i++) {
		char text[48];
		label(&products[i], text, sizeof(text));
		if (argc > 1 && !strstr(text, argv[1]))
			continue;
		init(&nodes[n++], &products[i], threads);
		for (size_t r = 0; r < SL_COUNT(rivals); r++) {
			init(&nodes[n], &products[i], threads);
			if (use(&nodes[n], rivals[r], threads))
				n++;
			else
				bench_node_finish(&nodes[n]);
		}
	}
	bench_table(nodes, n, threads);
	for (int i = 0; i < n; i++)
		bench_node_finish(&nodes[i]);
	return 0;
}
