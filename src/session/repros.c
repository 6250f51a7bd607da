/* SPDX-License-Identifier: Apache-2.0 */
/* The table of papers whose tables are made again. */
#include "sluice/repro.h"

#define SL_REPRO(name) extern const struct sl_repro sl_repro_row_##name;
#include "session/repros.def"
#undef SL_REPRO

static const struct sl_repro *const repros[] = {
#define SL_REPRO(name) &sl_repro_row_##name,
#include "session/repros.def"
#undef SL_REPRO
};

const struct sl_repro *sl_repro_at(size_t i)
{
	return i < sizeof(repros) / sizeof(repros[0]) ? repros[i] : NULL;
}
