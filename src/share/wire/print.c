/* SPDX-License-Identifier: Apache-2.0 */
/* A message as a line of a log. */
#include "share/wire/proto.h"

#include <inttypes.h>

static sl_status print_text(const char *text, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, "\""));
	for (; *text != '\0'; text++)
		SL_TRY(*text == '"' || *text == '\\' ? sl_buf_printf(out, "\\%c", *text)
						     : sl_buf_append(out, text, 1));
	return sl_buf_puts(out, "\"");
}

static sl_status print_menu(const struct sl_wire_menu *menu, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, "["));
	for (uint32_t i = 0; i < menu->n && i < SL_WIRE_MENU; i++)
		SL_TRY(sl_buf_printf(out, "%s%" PRIu64 "+%" PRIu64 "@%" PRIu64,
			i > 0 ? " " : "", menu->rows[i].persistent_bytes,
			menu->rows[i].ephemeral_bytes, menu->rows[i].turn_ns));
	return sl_buf_puts(out, "]");
}

static sl_status print_field(
	const struct sl_wire_field *f, const void *at, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, " %s=", f->name));
	switch (f->type) {
	case SL_WIRE_U32:
		return sl_buf_printf(out, "%" PRIu32, *(const uint32_t *)at);
	case SL_WIRE_S32:
		return sl_buf_printf(out, "%" PRId32, *(const int32_t *)at);
	case SL_WIRE_U64:
		return sl_buf_printf(out, "%" PRIu64, *(const uint64_t *)at);
	case SL_WIRE_S64:
		return sl_buf_printf(out, "%" PRId64, *(const int64_t *)at);
	case SL_WIRE_TEXT:
		return print_text(at, out);
	case SL_WIRE_BYTES:
		return sl_buf_printf(out, "[%" PRIu32 " bytes]",
			((const struct sl_wire_bytes *)at)->size);
	case SL_WIRE_MENU_ROWS:
		return print_menu(at, out);
	}
	return SL_OK;
}

sl_status sl_wire_print(const struct sl_msg *m, struct sl_buf *out)
{
	const struct sl_wire_row *row = sl_wire_row_find((uint32_t)m->number);
	const struct sl_wire_field *f;
	size_t n;

	if (row == NULL)
		return sl_buf_printf(
			out, "message %d seq=%" PRIu32, (int)m->number, m->seq);
	SL_TRY(sl_buf_printf(out, "%s seq=%" PRIu32, row->name, m->seq));
	if (m->n_fds > 0)
		SL_TRY(sl_buf_printf(out, " fds=%" PRIu32, m->n_fds));
	f = row->fields(&n);
	for (size_t i = 0; i < n; i++)
		SL_TRY(print_field(&f[i], (const char *)&m->u + f[i].offset, out));
	return SL_OK;
}
