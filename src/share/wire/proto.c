/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames from structs and back, field by field as the table says.
 *
 * 1. Nothing of a payload is looked at before the head was found possible, and nothing is
 *    allocated on behalf of a number that a peer gave.
 * 2. Every read is checked against what is left of the payload, which ends with the last
 *    field.
 */
#include "share/wire/proto.h"

#include <string.h>

/* Little endian whatever the machine is. */
static void put_le(uint8_t *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const uint8_t *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

static sl_status put_int(struct sl_buf *out, uint64_t value, size_t bytes)
{
	uint8_t raw[8];

	put_le(raw, value, bytes);
	return sl_buf_append(out, raw, bytes);
}

static sl_status put_text(
	const struct sl_wire_field *f, const char *text, struct sl_buf *out)
{
	size_t len = strnlen(text, f->most);

	if (len == f->most)
		return SL_FAIL(
			SL_E_INVALID, "%s has no end within %u bytes", f->name, f->most);
	if (!sl_wire_text_ok((const uint8_t *)text, len))
		return SL_FAIL(SL_E_INVALID,
			"%s holds control characters or is no UTF-8; only text can be "
			"sent",
			f->name);
	SL_TRY(put_int(out, len, 2));
	return sl_buf_append(out, text, len);
}

static sl_status put_bytes(const struct sl_wire_field *f,
	const struct sl_wire_bytes *bytes, struct sl_buf *out)
{
	if (bytes->size > f->most)
		return SL_FAIL(SL_E_LIMIT, "%s has %u bytes; %u can be sent", f->name,
			bytes->size, f->most);
	SL_TRY(put_int(out, bytes->size, 4));
	return sl_buf_append(out, bytes->data, bytes->size);
}

static sl_status put_menu(const struct sl_wire_menu *menu, struct sl_buf *out)
{
	if (menu->n == 0 || menu->n > SL_WIRE_MENU)
		return SL_FAIL(SL_E_INVALID, "a menu has 1 to %d rows, not %u",
			SL_WIRE_MENU, menu->n);
	SL_TRY(put_int(out, menu->n, 4));
	for (uint32_t i = 0; i < menu->n; i++) {
		SL_TRY(put_int(out, menu->rows[i].persistent_bytes, 8));
		SL_TRY(put_int(out, menu->rows[i].ephemeral_bytes, 8));
		SL_TRY(put_int(out, menu->rows[i].turn_ns, 8));
	}
	return SL_OK;
}

static sl_status put_field(
	const struct sl_wire_field *f, const void *at, struct sl_buf *out)
{
	switch (f->type) {
	case SL_WIRE_U32:
	case SL_WIRE_S32:
		return put_int(out, *(const uint32_t *)at, 4);
	case SL_WIRE_U64:
	case SL_WIRE_S64:
		return put_int(out, *(const uint64_t *)at, 8);
	case SL_WIRE_TEXT:
		return put_text(f, at, out);
	case SL_WIRE_BYTES:
		return put_bytes(f, at, out);
	case SL_WIRE_MENU_ROWS:
		return put_menu(at, out);
	}
	return SL_FAIL(SL_E_INVALID, "%s is of no known type", f->name);
}

static sl_status put_frame(
	const struct sl_wire_row *row, const struct sl_msg *m, struct sl_buf *out)
{
	size_t start = out->len, n;
	const struct sl_wire_field *f = row->fields(&n);
	uint8_t head[SL_WIRE_HEAD] = {0};

	put_le(head + 4, row->number, 2);
	put_le(head + 6, SL_WIRE_VERSION, 2);
	put_le(head + 8, m->seq, 4);
	put_le(head + 12, m->n_fds, 4);
	SL_TRY(sl_buf_append(out, head, sizeof(head)));
	for (size_t i = 0; i < n; i++)
		SL_TRY(put_field(&f[i], (const char *)&m->u + f[i].offset, out));
	put_le((uint8_t *)out->data + start, out->len - start - SL_WIRE_HEAD, 4);
	return SL_OK;
}

sl_status sl_wire_encode(const struct sl_msg *m, struct sl_buf *out)
{
	const struct sl_wire_row *row = sl_wire_row_find((uint32_t)m->number);
	size_t start = out->len;
	sl_status st;

	if (row == NULL)
		return SL_FAIL(SL_E_INVALID, "there is no message %d", (int)m->number);
	if (m->n_fds > row->fds)
		return SL_FAIL(SL_E_INVALID, "%s carries %u descriptors at most, not %u",
			row->name, row->fds, m->n_fds);
	st = put_frame(row, m, out);
	if (st != SL_OK) {
		out->len = start;
		if (out->data != NULL)
			out->data[start] = '\0';
		return sl_fail_prefix(st, "%s", row->name);
	}
	return SL_OK;
}

/* What is left of a payload. */
struct rest {
	const uint8_t *at;
	size_t len;
};

static sl_status take_int(struct rest *r, size_t bytes, uint64_t *out)
{
	if (r->len < bytes)
		return SL_FAIL(SL_E_FORMAT, "the payload ends early");
	*out = get_le(r->at, bytes);
	r->at += bytes;
	r->len -= bytes;
	return SL_OK;
}

static sl_status take_run(
	struct rest *r, size_t head, size_t most, struct sl_wire_bytes *out)
{
	uint64_t size = 0;

	SL_TRY(take_int(r, head, &size));
	if (size > most)
		return SL_FAIL(SL_E_FORMAT, "%llu bytes are above the most of %zu",
			(unsigned long long)size, most);
	if (size > r->len)
		return SL_FAIL(SL_E_FORMAT, "the payload ends early");
	*out = (struct sl_wire_bytes){r->at, (uint32_t)size};
	r->at += size;
	r->len -= (size_t)size;
	return SL_OK;
}

static sl_status take_text(struct rest *r, size_t most, char *text)
{
	struct sl_wire_bytes run;

	SL_TRY(take_run(r, 2, most - 1, &run));
	if (!sl_wire_text_ok(run.data, run.size))
		return SL_FAIL(SL_E_FORMAT, "it holds control characters or is no UTF-8");
	memcpy(text, run.data, run.size);
	text[run.size] = '\0';
	return SL_OK;
}

static sl_status take_menu(struct rest *r, struct sl_wire_menu *menu)
{
	uint64_t n = 0;

	SL_TRY(take_int(r, 4, &n));
	if (n == 0 || n > SL_WIRE_MENU)
		return SL_FAIL(SL_E_FORMAT, "a menu has 1 to %d rows, not %llu",
			SL_WIRE_MENU, (unsigned long long)n);
	menu->n = (uint32_t)n;
	for (uint32_t i = 0; i < menu->n; i++) {
		SL_TRY(take_int(r, 8, &menu->rows[i].persistent_bytes));
		SL_TRY(take_int(r, 8, &menu->rows[i].ephemeral_bytes));
		SL_TRY(take_int(r, 8, &menu->rows[i].turn_ns));
	}
	return SL_OK;
}

static sl_status take_field(const struct sl_wire_field *f, struct rest *r, void *at)
{
	uint64_t value = 0;

	switch (f->type) {
	case SL_WIRE_U32:
	case SL_WIRE_S32:
		SL_TRY(take_int(r, 4, &value));
		*(uint32_t *)at = (uint32_t)value;
		return SL_OK;
	case SL_WIRE_U64:
	case SL_WIRE_S64:
		return take_int(r, 8, at);
	case SL_WIRE_TEXT:
		return take_text(r, f->most, at);
	case SL_WIRE_BYTES:
		return take_run(r, 4, f->most, at);
	case SL_WIRE_MENU_ROWS:
		return take_menu(r, at);
	}
	return SL_FAIL(SL_E_FORMAT, "it is of no known type");
}

static sl_status take_payload(
	const struct sl_wire_row *row, struct rest *r, struct sl_msg *out)
{
	size_t n;
	const struct sl_wire_field *f = row->fields(&n);

	for (size_t i = 0; i < n; i++) {
		sl_status st = take_field(&f[i], r, (char *)&out->u + f[i].offset);

		if (st != SL_OK)
			return sl_fail_prefix(st, "%s.%s", row->name, f[i].name);
	}
	if (r->len > 0)
		return SL_FAIL(SL_E_FORMAT, "%s: %zu bytes are left of the payload",
			row->name, r->len);
	return SL_OK;
}

/* What the head alone says; SL_OK: the frame can be waited for. */
static sl_status check_head(
	const struct sl_wire_row *row, uint64_t size, const struct sl_msg *m)
{
	uint32_t most = row != NULL ? row->most_bytes : SL_WIRE_MOST;

	if (size > most)
		return SL_FAIL(SL_E_LIMIT,
			"a message (%s) of %llu bytes is above the most of %u",
			row != NULL ? row->name : "unknown", (unsigned long long)size,
			most);
	if (m->n_fds > SL_WIRE_FDS)
		return SL_FAIL(SL_E_FORMAT,
			"a message with %u descriptors; no message has more than %d",
			m->n_fds, SL_WIRE_FDS);
	return SL_OK;
}

sl_status sl_wire_decode(
	const uint8_t *data, size_t len, size_t *used, struct sl_msg *out)
{
	const struct sl_wire_row *row;
	uint64_t size, number, version;
	struct rest rest;

	*used = 0;
	*out = (struct sl_msg){.fds = {-1, -1, -1}};
	if (len < SL_WIRE_HEAD)
		return SL_OK;
	size = get_le(data, 4);
	number = get_le(data + 4, 2);
	version = get_le(data + 6, 2);
	out->seq = (uint32_t)get_le(data + 8, 4);
	out->n_fds = (uint32_t)get_le(data + 12, 4);
	/* Another version's messages may be longer than ours. */
	row = version == SL_WIRE_VERSION ? sl_wire_row_find((uint32_t)number) : NULL;
	SL_TRY(check_head(row, size, out));
	if (len - SL_WIRE_HEAD < size)
		return SL_OK;
	*used = SL_WIRE_HEAD + (size_t)size;
	if (version != SL_WIRE_VERSION)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"a message of protocol version %llu; this is version %d",
			(unsigned long long)version, SL_WIRE_VERSION);
	if (row == NULL)
		return SL_FAIL(SL_E_UNSUPPORTED, "there is no message %llu",
			(unsigned long long)number);
	out->number = row->number;
	if (out->n_fds > row->fds)
		return SL_FAIL(SL_E_FORMAT, "%s carries %u descriptors at most, not %u",
			row->name, row->fds, out->n_fds);
	rest = (struct rest){data + SL_WIRE_HEAD, (size_t)size};
	return take_payload(row, &rest, out);
}
