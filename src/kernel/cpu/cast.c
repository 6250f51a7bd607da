/* SPDX-License-Identifier: Apache-2.0 */
/* cast between f32 and bf16: 6 bytes an element, bound by memory. */
#include "kernel/cpu/low.h"

static bool accepts(const struct sl_node_info *n)
{
	enum sl_dtype from = n->in[0].dtype;
	enum sl_dtype to = n->out[0].dtype;

	return (from == SL_F32 && to == SL_BF16) || (from == SL_BF16 && to == SL_F32);
}

static void range(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	(void)arg;
	if (c->node->out[0].dtype == SL_BF16)
		sl_low_narrow((const float *)c->in[0] + begin,
			(uint16_t *)c->out[0] + begin, end - begin);
	else
		sl_low_widen((const uint16_t *)c->in[0] + begin,
			(float *)c->out[0] + begin, end - begin);
}

static sl_status run(const struct sl_call *c)
{
	sl_cpu_for(c, NULL, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_cast = {
	.name = "vec_cast",
	.op = "cast",
	.rank = 10,
	.accepts = accepts,
	.run = run,
};
