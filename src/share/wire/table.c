/* SPDX-License-Identifier: Apache-2.0 */
/* The table of messages as data: proto.def read three times. */
#include "share/wire/proto.h"

#include "base/compiler.h"
#include "sluice/client.h"

/* Fields of a message, with their places in the struct. */
#define FIELD(field, kind, bytes) {#field, kind, offsetof(self, field), bytes},
#define SL_U32(name) FIELD(name, SL_WIRE_U32, 0)
#define SL_S32(name) FIELD(name, SL_WIRE_S32, 0)
#define SL_U64(name) FIELD(name, SL_WIRE_U64, 0)
#define SL_S64(name) FIELD(name, SL_WIRE_S64, 0)
#define SL_TEXT(name, most) FIELD(name, SL_WIRE_TEXT, most)
#define SL_BYTES(name, most) FIELD(name, SL_WIRE_BYTES, most)
#define SL_MENU(name) FIELD(name, SL_WIRE_MENU_ROWS, 0)
#define SL_MSG(NAME, name, number, from, fds, meaning, list) \
	static const struct sl_wire_field *fields_of_##name(size_t *n) \
	{ \
		typedef struct sl_msg_##name self; \
		static const struct sl_wire_field rows[] = {list}; \
\
		*n = SL_COUNT(rows); \
		return rows; \
	}
#include "share/wire/proto.def"
#undef SL_MSG
#undef SL_U32
#undef SL_S32
#undef SL_U64
#undef SL_S64
#undef SL_TEXT
#undef SL_BYTES
#undef SL_MENU

/* The most bytes of a payload. */
#define SL_U32(name) +4u
#define SL_S32(name) +4u
#define SL_U64(name) +8u
#define SL_S64(name) +8u
#define SL_TEXT(name, most) +2u + (most)-1u
#define SL_BYTES(name, most) +4u + (most)
#define SL_MENU(name) +4u + SL_WIRE_MENU * 24u
#define SL_MSG(NAME, name, number, from, fds, meaning, list) \
	_Static_assert((0u list) <= SL_WIRE_MOST && (fds) <= SL_WIRE_FDS, #NAME); \
	enum { MOST_OF_##NAME = (0u list) };
#include "share/wire/proto.def"
#undef SL_MSG
#undef SL_U32
#undef SL_S32
#undef SL_U64
#undef SL_S64
#undef SL_TEXT
#undef SL_BYTES
#undef SL_MENU

/* The listing: number, sender, fields, meaning. */
#define FROM_CLIENT "client"
#define FROM_DAEMON "daemon"
#define FROM_BOTH "both  "
#define SL_U32(name) " " #name ":u32"
#define SL_S32(name) " " #name ":s32"
#define SL_U64(name) " " #name ":u64"
#define SL_S64(name) " " #name ":s64"
#define SL_TEXT(name, most) " " #name ":text<" #most
#define SL_BYTES(name, most) " " #name ":bytes<=" #most
#define SL_MENU(name) " " #name ":menu"
#define SL_MSG(NAME, name, number, from, fds, meaning, list) \
	{#NAME, SL_MSG_##NAME, SL_WIRE_##from, fds, fields_of_##name, MOST_OF_##NAME, \
		#number " " FROM_##from " fds=" #fds list "; " meaning},
static const struct sl_wire_row rows[] = {
#include "share/wire/proto.def"
};
#undef SL_MSG

const struct sl_wire_row *sl_wire_row_at(size_t i)
{
	return i < SL_COUNT(rows) ? &rows[i] : NULL;
}

const struct sl_wire_row *sl_wire_row_find(uint32_t number)
{
	for (size_t i = 0; i < SL_COUNT(rows); i++)
		if ((uint32_t)rows[i].number == number)
			return &rows[i];
	return NULL;
}

const char *sl_message_name_at(size_t i, const char **summary)
{
	const struct sl_wire_row *row = sl_wire_row_at(i);

	if (row != NULL && summary != NULL)
		*summary = row->summary;
	return row != NULL ? row->name : NULL;
}

const char *sl_wire_kind_name(uint32_t kind)
{
	static const char *const names[] = {"train", "infer", "service", "run"};

	_Static_assert(SL_COUNT(names) == SL_WIRE_KINDS, "a name for each");
	return kind < SL_COUNT(names) ? names[kind] : "unknown";
}

const char *sl_wire_state_name(uint32_t state)
{
	static const char *const names[] = {"waiting", "admitted", "running", "resident",
		"paused", "parked", "ended"};

	_Static_assert(SL_COUNT(names) == SL_WIRE_STATES, "a name for each");
	return state < SL_COUNT(names) ? names[state] : "unknown";
}
