/* SPDX-License-Identifier: Apache-2.0 */
/* All operators by name and by number, over the table of ops.def. */
#include "graph/op.h"

#include <string.h>

#include "base/compiler.h"
#include "sluice/ops.h"

#define SL_COMPOSITE(name, ...)
#define SL_OP(name, ...) extern const struct sl_op sl_op_##name;
#include "sluice/ops.def"
#undef SL_OP

static const struct sl_op *const table[] = {
#define SL_OP(name, ...) &sl_op_##name,
#include "sluice/ops.def"
#undef SL_OP
};

const struct sl_op *sl_op_at(size_t i)
{
	return i < SL_COUNT(table) ? table[i] : NULL;
}

const struct sl_op *sl_op_find(const char *name)
{
	for (size_t i = 0; i < SL_COUNT(table); i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return NULL;
}

const char *sl_op_name_at(size_t i, const char **help)
{
	const struct sl_op *op = sl_op_at(i);

	if (op == NULL)
		return NULL;
	*help = op->mutates != 0   ? "changes its first input in place"
		: op->grad != NULL ? "differentiable"
				   : "no gradient";
	return op->name;
}
