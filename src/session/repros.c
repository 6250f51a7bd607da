/* SPDX-License-Identifier: Apache-2.0 */
/* The table of papers whose tables are made again, and what they all say. */
#include "session/repro_tell.h"

#include <stdio.h>

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

sl_status sl_repro_tell(const struct sl_repro_opts *opts,
	const struct sl_repro_shape *shape, const char *subject, const char *figure,
	const double values[3])
{
	struct sl_repro_figure f = {.shape = shape,
		.paper = values[0],
		.ours = values[1],
		.beside = values[2]};

	(void)snprintf(f.subject, sizeof(f.subject), "%s", subject);
	(void)snprintf(f.figure, sizeof(f.figure), "%s", figure);
	return opts->figure(opts->ctx, &f);
}

sl_status sl_repro_advance(const struct sl_repro_opts *opts, const char *what,
	uint32_t *done, uint32_t total)
{
	if (opts->stop != NULL && *opts->stop != 0)
		return SL_FAIL(SL_E_INTERRUPTED, "stopped");
	if (opts->progress != NULL)
		opts->progress(opts->ctx, what, (double)*done / total);
	++*done;
	return SL_OK;
}
