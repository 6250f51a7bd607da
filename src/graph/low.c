/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision while a template is bound: values between operators become bf16,
 * parameters and states stay f32, by what each operator says of itself (enum sl_op_low).
 *
 * 1. Only f32 turns into bf16 and back; a value is cast at most once a part of a batch.
 * 2. A product's result that nobody wants in bf16 is made in f32 at once: no rounding
 * between the logits and the loss.
 * 3. Gradients need no rule of their own: each operator's follow the types of its inputs,
 * and a cast's gradient is the cast back.
 */
#include "base/alloc.h"
#include "graph/ir_int.h"
#include "sluice/ops.h"

static bool bit(uint32_t mask, int i)
{
	return mask == UINT32_MAX || (i < 32 && (mask >> i & 1));
}

static bool takes_low(const struct sl_op *op, int i)
{
	return (op->low == SL_LOW_FOLLOWS || op->low == SL_LOW_ALWAYS) &&
	       bit(op->low_in, i);
}

sl_status sl_ir_low_init(
	struct sl_ir_low *low, struct sl_graph *g, const struct sl_graph *tmpl)
{
	*low = (struct sl_ir_low){.g = g,
		.copy = sl_calloc(tmpl->n_values, sizeof(*low->copy)),
		.wanted = sl_calloc(tmpl->n_values, sizeof(*low->wanted))};
	if (!low->copy || !low->wanted)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory to bind %u values", tmpl->n_values);
	for (uint32_t v = 0; v < tmpl->n_values; v++)
		low->copy[v] = SL_VAL_NONE;
	for (uint32_t k = 0; k < tmpl->n_nodes; k++) {
		const struct sl_ir_node *n = &tmpl->nodes[k];
		for (int i = 0; i < n->n_in; i++)
			if (!sl_val_is_none(n->in[i]) && takes_low(n->op, i))
				low->wanted[n->in[i].index] = true;
	}
	return SL_OK;
}

void sl_ir_low_finish(struct sl_ir_low *low)
{
	sl_free(low->copy);
	sl_free(low->wanted);
	*low = (struct sl_ir_low){0};
}

static bool is(const struct sl_ir_low *low, sl_val v, enum sl_dtype t)
{
	return v.index < low->g->n_values && low->g->values[v.index].type.dtype == t;
}

static bool is_persistent(const struct sl_ir_low *low, sl_val v)
{
	const struct sl_ir_value *values = low->g->values;

	return values[values[v.index].root].producer == SL_IR_NO_NODE;
}

/* v, which stands for value `of` of the template, as the other of the two types. */
static sl_val turned(struct sl_ir_low *low, sl_val v, uint32_t of)
{
	if (sl_val_is_none(low->copy[of]))
		low->copy[of] = sl_cast(low->g, v, is(low, v, SL_F32) ? SL_BF16 : SL_F32);
	return low->copy[of];
}

/* Whether the operator's inputs of low_in are to be bf16. */
static bool runs_low(
	const struct sl_ir_low *low, const struct sl_ir_node *n, const sl_val *in)
{
	bool any = n->op->low == SL_LOW_ALWAYS;

	for (int i = 0; i < n->n_in; i++)
		any = any || (takes_low(n->op, i) && is(low, in[i], SL_BF16));
	return any;
}

void sl_ir_low_inputs(struct sl_ir_low *low, const struct sl_ir_node *n, sl_val *in)
{
	bool always = n->op->low == SL_LOW_ALWAYS;
	bool runs = runs_low(low, n, in);

	for (int i = 0; i < n->n_in; i++) {
		bool narrow = runs && takes_low(n->op, i);
		if (!is(low, in[i], narrow ? SL_F32 : SL_BF16) ||
			(narrow && always && is_persistent(low, in[i])))
			continue;
		in[i] = turned(low, in[i], n->in[i].index);
	}
}

void sl_ir_low_attr(const struct sl_ir_low *low, const struct sl_ir_node *n, void *attr)
{
	if (n->op->widen && !low->wanted[n->out[0].index])
		n->op->widen(attr);
}

sl_val sl_ir_low_output(struct sl_ir_low *low, const struct sl_ir_node *n, sl_val out)
{
	if (n->op->low == SL_LOW_RESULT && is(low, out, SL_F32))
		return sl_cast(low->g, out, SL_BF16);
	return out;
}
