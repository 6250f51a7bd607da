/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_ZOO_HEADS_H
#define SL_MODEL_ZOO_HEADS_H

#include "model/zoo/zoo.h"

/* What transformer encoders share: attention without a mask, heads of 64 unless told. */

/* For finish: heads = width / 64 where the spec set none; SL_E_USAGE where they do not
 * divide the width. */
SL_NODISCARD sl_status sl_heads_finish(struct sl_model_config *c);

/* q, k, v [B, T, C] to [B, T, C], C = heads times their width. dropout acts on the
 * probabilities, in training only. */
sl_val sl_heads_attend(
	struct sl_layers *l, const sl_val qkv[3], const struct sl_model_config *c);

/* The same of one value [B, T, 3 width] whose rows hold q, k and v behind one another. */
sl_val sl_heads_attend_packed(
	struct sl_layers *l, sl_val qkv, const struct sl_model_config *c);

#endif
