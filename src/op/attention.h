/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_OP_ATTENTION_H
#define SL_OP_ATTENTION_H

#include "op/op_util.h"

/* The references of attention and attention_dx, apart from their shape rules for length.
 */
sl_status sl_attention_ref(const struct sl_call *c);
sl_status sl_attention_dx_ref(const struct sl_call *c);
size_t sl_attention_ref_workspace(const struct sl_node_info *n);
size_t sl_attention_dx_ref_workspace(const struct sl_node_info *n);

#endif
