/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutions of ResNet-18, each way, and some others: GFLOP/s beside the
 * multiply-add peak. Usage: conv [batch], 8 if not given.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/units.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_conv2d, sl_op_conv2d_dx, sl_op_conv2d_dw;

struct layer {
	int64_t c, size, o, k, stride, groups;
};

static const struct layer layers[] = {
	{3, 224, 64, 7, 2, 1},
	{64, 56, 64, 3, 1, 1},
	{64, 56, 128, 3, 2, 1},
	{64, 56, 128, 1, 2, 1},
	{128, 28, 128, 3, 1, 1},
	{128, 28, 256, 3, 2, 1},
	{256, 14, 256, 3, 1, 1},
	{256, 14, 512, 3, 2, 1},
	{512, 7, 512, 3, 1, 1},
	{256, 56, 64, 1, 1, 1},
	{64, 56, 256, 1, 1, 1},
	{96, 56, 96, 3, 1, 96},
	{384, 14, 384, 3, 1, 384},
	{6, 28, 16, 5, 1, 1},
};

#define WAYS 3
#define NODES (SL_COUNT(layers) * WAYS)

/* The gradients' attributes: those of the convolution, then a shape. */
struct attr {
	struct sl_conv_attr conv;
	int64_t rank;
	int64_t dim[SL_MAX_RANK];
};

static void make(struct bench_node *b, struct attr *attr, const struct layer *l, int way,
	int64_t batch)
{
	static const struct sl_op *const ops[WAYS] = {
		&sl_op_conv2d, &sl_op_conv2d_dx, &sl_op_conv2d_dw};
	int64_t pad = l->k / 2;
	int64_t out = (l->size + 2 * pad - l->k) / l->stride + 1;
	const struct sl_shape x = SL_SHAPE(batch, l->c, l->size, l->size);
	const struct sl_shape w = SL_SHAPE(l->o, l->c / l->groups, l->k, l->k);
	const struct sl_shape y = SL_SHAPE(batch, l->o, out, out);
	const struct sl_shape *result = way == 1 ? &x : &w;
	const struct sl_shape in[WAYS][BENCH_IN] = {
		{x, w, {.rank = -1}}, {y, w, {0}}, {x, y, {0}}};
	static const char *const names[WAYS] = {"", " dx", " dw"};

	*attr = (struct attr){
		.conv = {.stride = {l->stride, l->stride},
			.pad = {pad, pad, pad, pad},
			.dilation = {1, 1},
			.groups = l->groups},
		.rank = 4,
	};
	memcpy(attr->dim, result->dim, sizeof(attr->dim));
	bench_node_init(b, ops[way], attr, in[way], way == 0 ? 3 : 2, sl_cpu_count());
	snprintf(b->label, sizeof(b->label), "%lldx%lld -> %lld, %lldx%lld/%lld g%lld%s",
		(long long)l->c, (long long)l->size, (long long)l->o, (long long)l->k,
		(long long)l->k, (long long)l->stride, (long long)l->groups, names[way]);
}

int main(int argc, char **argv)
{
	static struct bench_node nodes[NODES];
	static struct attr attrs[NODES];
	int64_t batch = 8;

	if (argc > 1 && (sl_i64_parse(argv[1], &batch) != SL_OK || batch < 1)) {
		fprintf(stderr, "usage: conv [batch]\n");
		return 2;
	}
	for (size_t i = 0; i < NODES; i++)
		make(&nodes[i], &attrs[i], &layers[i / WAYS], (int)(i % WAYS), batch);
	printf("batch %lld\n", (long long)batch);
	bench_table(nodes, (int)NODES, sl_cpu_count());
	for (size_t i = 0; i < NODES; i++)
		bench_node_finish(&nodes[i]);
	return 0;
}
