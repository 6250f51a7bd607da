/* SPDX-License-Identifier: Apache-2.0 */
/* A session in memory that another hands out. */
#include "session/host.h"

#include <string.h>

#include "base/alloc.h"

static sl_status settle_in(
	struct sl_session *s, struct sl_menu *menu, const struct sl_host_grant *g)
{
	const struct sl_menu_row *row;

	if (g->row >= menu->n || g->base == NULL)
		return SL_FAIL(SL_E_LOST,
			"admitted with row %u of a menu of %u: the daemon is of another "
			"version",
			g->row, menu->n);
	row = &menu->rows[g->row];
	if (g->bytes != row->persistent_bytes + row->ephemeral_bytes)
		return SL_FAIL(SL_E_LOST,
			"admitted with %llu bytes where %llu were asked for: the daemon "
			"is of "
			"another version",
			(unsigned long long)g->bytes,
			(unsigned long long)(row->persistent_bytes +
					     row->ephemeral_bytes));
	SL_TRY(sl_menu_take(s, menu, g->row));
	s->machine.given = (struct sl_device_arena){.base = g->base, .bytes = g->bytes};
	s->machine.arena_bytes = g->bytes;
	s->machine.gate = &s->host->gate;
	return SL_OK;
}

sl_status sl_session_join(struct sl_session *s)
{
	struct sl_host_grant grant = {0};
	struct sl_menu *menu;
	sl_status st;

	if (s->host == NULL)
		return SL_OK;
	if (s->config.device != NULL && strcmp(s->config.device, "cpu") != 0)
		return SL_FAIL(SL_E_USAGE,
			"--device %s cannot be shared; leave --device or --shared out",
			s->config.device);
	menu = sl_calloc(1, sizeof(*menu));
	if (menu == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a menu of plans");
	SL_TRY_OUT(sl_menu_make(s, menu));
	SL_TRY_OUT(s->host->join(s->host->gate.ctx, menu, &grant));
	SL_TRY_OUT(settle_in(s, menu, &grant));
out:
	sl_menu_finish(menu);
	sl_free(menu);
	return st;
}
