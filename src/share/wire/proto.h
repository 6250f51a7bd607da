/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_WIRE_PROTO_H
#define SL_SHARE_WIRE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sluice/status.h"

/*
 * What is spoken on the daemon's socket: structs, encoder, decoder, printer,
 * documentation out of one table, proto.def. Pure; link.h moves the bytes.
 *
 * A frame is a head of 16 bytes, little endian: u32 bytes of the payload, u16 number, u16
 * version, u32 seq, u32 count of descriptors; then the payload: the row's fields in
 * order, integers little endian, TEXT a u16 length and so many bytes of UTF-8 without
 * control characters, BYTES a u32 length and so many bytes, MENU a u32 count (1 to
 * SL_WIRE_MENU) and rows of three u64. A payload is used up exactly. Descriptors travel
 * by SCM_RIGHTS with the frame's first byte.
 */
#define SL_WIRE_MAGIC 0x31454349554c53ull /* "SLUICE1" */
#define SL_WIRE_VERSION 1
#define SL_WIRE_HEAD 16
#define SL_WIRE_MENU 8
#define SL_WIRE_FDS 3 /* most descriptors of a frame */
#define SL_WIRE_MOST (1024u * 1024 + 4096) /* no payload is above */

struct sl_wire_option {
	uint64_t persistent_bytes, ephemeral_bytes, turn_ns;
};

struct sl_wire_menu {
	uint32_t n; /* 1 to SL_WIRE_MENU */
	struct sl_wire_option rows[SL_WIRE_MENU];
};

struct sl_wire_bytes {
	const uint8_t *data; /* borrowed: of the receive buffer, or of the sender */
	uint32_t size;
};

/* enum sl_msg_number: SL_MSG_HELLO = 1, ... */
enum sl_msg_number {
	SL_MSG_NONE = 0,
#define SL_MSG(NAME, name, number, from, fds, meaning, fields) SL_MSG_##NAME = (number),
#include "share/wire/proto.def"
#undef SL_MSG
};

/* struct sl_msg_hello and so on. */
#define SL_U32(name) uint32_t name;
#define SL_S32(name) int32_t name;
#define SL_U64(name) uint64_t name;
#define SL_S64(name) int64_t name;
#define SL_TEXT(name, most) char name[most];
#define SL_BYTES(name, most) struct sl_wire_bytes name;
#define SL_MENU(name) struct sl_wire_menu name;
#define SL_MSG(NAME, name, number, from, fds, meaning, fields) \
	struct sl_msg_##name { \
		fields \
	};
#include "share/wire/proto.def"
#undef SL_MSG
#undef SL_U32
#undef SL_S32
#undef SL_U64
#undef SL_S64
#undef SL_TEXT
#undef SL_BYTES
#undef SL_MENU

struct sl_msg {
	enum sl_msg_number number;
	uint32_t seq; /* of the request; 0: said unasked */
	int fds[SL_WIRE_FDS]; /* borrowed; sl_link_take() to own one that came */
	uint32_t n_fds;
	union {
#define SL_MSG(NAME, name, number, from, fds, meaning, fields) struct sl_msg_##name name;
#include "share/wire/proto.def"
#undef SL_MSG
	} u;
};

/* REGISTER.kind and JOB.kind */
enum sl_wire_kind {
	SL_WIRE_TRAIN,
	SL_WIRE_INFER,
	SL_WIRE_SERVICE,
	SL_WIRE_RUN,
	SL_WIRE_KINDS
};

/* JOB.state */
enum sl_wire_state {
	SL_WIRE_WAITING,
	SL_WIRE_ADMITTED, /* resident, not yet ready */
	SL_WIRE_RUNNING, /* has the turn */
	SL_WIRE_RESIDENT, /* waits for its turn */
	SL_WIRE_PAUSED,
	SL_WIRE_PARKED,
	SL_WIRE_ENDED,
	SL_WIRE_STATES
};

/* ATTACH.has */
#define SL_WIRE_HAS_PAGE 1u
#define SL_WIRE_HAS_P 2u
#define SL_WIRE_HAS_LANE 4u
#define SL_WIRE_HAS_IDLE 8u /* it wants no turns until AWAKE */

/* "train", "waiting"; "unknown" for numbers that are none. */
const char *sl_wire_kind_name(uint32_t kind);
const char *sl_wire_state_name(uint32_t state);

/* The table as data, for the decoder, the documents and tests. */
enum sl_wire_type {
	SL_WIRE_U32,
	SL_WIRE_S32,
	SL_WIRE_U64,
	SL_WIRE_S64,
	SL_WIRE_TEXT,
	SL_WIRE_BYTES,
	SL_WIRE_MENU_ROWS
};

enum sl_wire_from { SL_WIRE_CLIENT = 1, SL_WIRE_DAEMON = 2, SL_WIRE_BOTH = 3 };

struct sl_wire_field {
	const char *name;
	enum sl_wire_type type;
	size_t offset; /* in the message's own struct */
	uint32_t most; /* of TEXT with its end, of BYTES; else 0 */
};

struct sl_wire_row {
	const char *name; /* "HELLO" */
	enum sl_msg_number number;
	enum sl_wire_from from;
	uint32_t fds;
	const struct sl_wire_field *(*fields)(size_t *n);
	uint32_t most_bytes; /* of the payload */
	const char *summary; /* fields and meaning, for listings */
};

const struct sl_wire_row *sl_wire_row_at(size_t i); /* NULL past the end */
const struct sl_wire_row *sl_wire_row_find(uint32_t number); /* NULL: no such message */

/* Appends a whole frame; after a failure out is as before. SL_E_INVALID for what no peer
 * would take (an unknown number, a text with control characters, too many descriptors),
 * SL_E_LIMIT for bytes above the most, the codes of sl_buf_append(). */
SL_NODISCARD sl_status sl_wire_encode(const struct sl_msg *m, struct sl_buf *out);

/*
 * The first frame of data. *used: bytes of the frame; 0: it is not yet whole, and nothing
 * is wrong so far. out->fds are all -1 and out->n_fds is what the head says; BYTES are
 * borrowed from data.
 *
 * Failures with *used above 0 leave a stream that goes on behind the frame, and number,
 * seq and n_fds in out: SL_E_UNSUPPORTED for an unknown number (out->number is
 * SL_MSG_NONE) or another version (number as it came), SL_E_FORMAT for a payload that is
 * none. Failures with *used 0 are the end of the stream: SL_E_LIMIT for a payload above
 * the message's most (said from the head alone, so nothing is ever kept for it),
 * SL_E_FORMAT for more descriptors than any message has.
 */
SL_NODISCARD sl_status sl_wire_decode(
	const uint8_t *data, size_t len, size_t *used, struct sl_msg *out);

/* "JOB seq=3 job=1 ... name=\"a\" text=[12 bytes]", one line without its end, for logs.
 */
SL_NODISCARD sl_status sl_wire_print(const struct sl_msg *m, struct sl_buf *out);

/* Copies a text so that the encoder takes it: cut to most - 1 bytes between characters,
 * control characters and what is no UTF-8 as '?'. from NULL: empty. */
void sl_wire_text(char *to, size_t most, const char *from);
/* Whether the bytes are UTF-8 without control characters. */
bool sl_wire_text_ok(const uint8_t *text, size_t len);

#endif
