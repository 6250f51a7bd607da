/* SPDX-License-Identifier: Apache-2.0 */
/* The program's trace, from shapes and the cost book alone: it exists before the first
 * step. */
#include "exec/program.h"

#include "exec/cost.h"

#define LINE_BYTES 64u
#define BLOCK_BYTES 4096u

static uint64_t align_of(uint64_t bytes)
{
	return bytes < BLOCK_BYTES ? LINE_BYTES : BLOCK_BYTES;
}

/* Also there without tiers: a budget of the unbudgeted peak then holds the same plan. */
static sl_status add_bounce(struct sl_trace *t)
{
	return sl_trace_add_value(t, &(struct sl_trace_value){
					     .bytes = SL_BOUNCE_BYTES,
					     .align = BLOCK_BYTES,
					     .alias = SL_NO_ID,
					     .cls = SL_CLASS_CONST,
					     .immovable = true,
					     .name = "bounce",
				     });
}

static sl_status add_values(const struct sl_program *p, struct sl_trace *t)
{
	for (uint32_t i = 0; i < p->n_storages; i++) {
		if (i == p->n_persistent) {
			SL_TRY(add_bounce(t));
			continue;
		}
		SL_TRY(sl_trace_add_value(
			t, &(struct sl_trace_value){
				   .bytes = p->storages[i].bytes,
				   .align = align_of(p->storages[i].bytes),
				   .alias = SL_NO_ID,
				   .cls = p->storages[i].cls,
				   .name = p->storages[i].name,
			   }));
	}
	return SL_OK;
}

/* Random bits are keyed by seed, stream, step and element, so dropout too is pure. */
static bool is_pure(const struct sl_program *p, const struct sl_program_op *op)
{
	bool pure = !(op->info.op->flags & SL_OP_IMPURE);

	for (uint32_t i = 0; i < op->n_changed; i++)
		pure = pure && op->changed[i] >= p->n_persistent;
	return pure;
}

static sl_status add_op(const struct sl_program *p, const struct sl_program_op *op,
	const struct sl_cost_book *costs, struct sl_trace *t)
{
	return sl_trace_add_op(t, &(struct sl_trace_op){
					  .kind = op->info.op->name,
					  .scope = op->scope,
					  .dur_ns = sl_cost_ns(costs, &op->info),
					  .workspace_bytes = op->prepared.workspace_bytes,
					  .n_in = op->n_read,
					  .n_out = op->n_born,
					  .n_mutates = op->n_changed,
					  .in = op->read,
					  .out = op->born,
					  .mutates = op->changed,
					  .pure = is_pure(p, op),
				  });
}

static sl_status add_tier(struct sl_trace *t, const struct sl_program_tier *tier)
{
	struct sl_trace_link link = {
		.from = SL_TIER_DEVICE,
		.to = t->n_tiers + 1,
		.bytes_per_s = tier->bytes_per_s,
		.latency_ns = tier->latency_ns,
		.half_duplex = tier->half_duplex,
	};

	SL_TRY(sl_trace_add_tier(t, tier->name, tier->bytes));
	SL_TRY(sl_trace_add_link(t, &link));
	link.from = link.to;
	link.to = SL_TIER_DEVICE;
	if (tier->in_bytes_per_s > 0) {
		link.bytes_per_s = tier->in_bytes_per_s;
		link.latency_ns = tier->in_latency_ns;
	}
	return sl_trace_add_link(t, &link);
}

sl_status sl_program_add_tiers(
	struct sl_trace *t, const struct sl_program_tier *tiers, uint32_t n_tiers)
{
	for (uint32_t i = 0; i < n_tiers; i++)
		SL_TRY(add_tier(t, &tiers[i]));
	return SL_OK;
}

sl_status sl_program_trace(const struct sl_program *p,
	const struct sl_program_tier *tiers, uint32_t n_tiers,
	const struct sl_cost_book *costs, struct sl_trace *out)
{
	struct sl_trace t = SL_TRACE_INIT;
	sl_status st = SL_OK;

	/* A move reads and writes each byte. */
	t.move_bytes_per_s = (uint64_t)(sl_cost_row(costs, "*")->bytes_per_s / 2);
	SL_TRY_OUT(sl_program_add_tiers(&t, tiers, n_tiers));
	SL_TRY_OUT(add_values(p, &t));
	for (uint32_t i = 0; i < p->n_ops; i++)
		SL_TRY_OUT(add_op(p, &p->ops[i], costs, &t));
	SL_TRY_OUT(sl_trace_check(&t));
	*out = t;
	t = SL_TRACE_INIT;
out:
	sl_trace_finish(&t);
	return st;
}

sl_status sl_program_select_lines(const struct sl_program *p, struct sl_plan *plan)
{
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sl_prepared *prepared = &p->ops[i].prepared;

		SL_TRY(sl_plan_add_select(plan,
			&(struct sl_plan_select){
				.op = i,
				.kernel = p->ops[i].kernel->name,
				.layout = prepared->layout != NULL ? prepared->layout
					  : p->ops[i].info.nhwc	   ? "nhwc"
								   : "plain",
				.split = prepared->split > 0 ? (uint32_t)prepared->split
							     : 1,
				.threads = (uint32_t)p->seal_threads,
				.workspace_bytes = prepared->workspace_bytes,
			}));
	}
	return SL_OK;
}
