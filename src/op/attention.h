/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_OP_ATTENTION_H
#define SL_OP_ATTENTION_H

#include "graph/op_attention.h"
#include "op/op_util.h"

/* The references of attention and attention_dx, apart from their shape rules for length.
 */
sl_status sl_attention_ref(const struct sl_call *c);
sl_status sl_attention_dx_ref(const struct sl_call *c);
size_t sl_attention_ref_workspace(const struct sl_node_info *n);
size_t sl_attention_dx_ref_workspace(const struct sl_node_info *n);

/* What both forms of the operator share. */
#define SL_ATTENTION_FIELDS 6
extern const struct sl_attr_field sl_attention_fields[SL_ATTENTION_FIELDS];
SL_NODISCARD sl_status sl_attention_check_attr(const struct sl_attention_attr *attr);
/* `width` elements of a row hold heads heads of at least one element each. */
SL_NODISCARD sl_status sl_attention_check_heads(int64_t width, int64_t heads);
SL_NODISCARD sl_status sl_attention_check_mask(
	const struct sl_node_info *n, const struct sl_attention_layout *l);
struct sl_type sl_attention_lse_type(
	const struct sl_node_info *n, const struct sl_attention_layout *l);
/* SL_E_UNSUPPORTED for gradients that there are not. */
SL_NODISCARD sl_status sl_attention_check_grad(const struct sl_grad *c, int mask);
void sl_attention_cost(const struct sl_node_info *n, struct sl_cost *out);
void sl_attention_dx_cost(const struct sl_node_info *n, struct sl_cost *out);

#endif
