/* SPDX-License-Identifier: Apache-2.0 */
/* Whole messages out of what was received, with the descriptors that are theirs. */
#include "share/wire/link_int.h"

#include <string.h>

#include "base/alloc.h"

/* What the head in the buffer says; 0: it is not yet whole. */
static uint64_t frame_bytes(const struct sl_link *l)
{
	const uint8_t *at = l->in + l->read;

	if (l->len - l->read < SL_WIRE_HEAD)
		return 0;
	return SL_WIRE_HEAD + (at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
				      (uint64_t)at[3] << 24);
}

/* More descriptors wait than the frame that begins in the buffer can have. */
static bool surplus(const struct sl_link *l, const struct sl_msg *head)
{
	size_t have = l->len - l->read;

	if (have == 0)
		return l->n_waiting > 0;
	if (have < SL_WIRE_HEAD)
		return l->n_waiting > SL_WIRE_FDS;
	return l->n_waiting > head->n_fds;
}

/* Moves the frame's descriptors from those that wait to the message. */
static void claim(struct sl_link *l, struct sl_msg *m)
{
	uint32_t n = m->n_fds;

	memcpy(l->held, l->waiting, n * sizeof(int));
	memcpy(m->fds, l->waiting, n * sizeof(int));
	l->n_waiting -= n;
	memmove(l->waiting, l->waiting + n, l->n_waiting * sizeof(int));
}

static sl_status break_off(struct sl_link *l, sl_status st)
{
	l->broken = true;
	return st;
}

/* A large message is over: connections may be many. */
static void give_up_spare(struct sl_link *l)
{
	if (l->cap <= 2 * SL_LINK_SPARE)
		return;
	sl_free(l->in);
	l->in = NULL;
	l->cap = l->len = l->read = 0;
}

sl_status sl_link_next(struct sl_link *l, struct sl_msg *out, bool *out_any)
{
	sl_status st;
	size_t used;

	*out_any = false;
	sl_link_close_fds(l->held, SL_WIRE_FDS);
	*out = (struct sl_msg){.fds = {-1, -1, -1}};
	if (l->broken)
		return SL_FAIL(SL_E_LOST, "the connection broke before");
	if (l->len == l->read && l->n_waiting == 0) {
		give_up_spare(l);
		return SL_OK;
	}
	if (frame_bytes(l) > l->in_most)
		return break_off(l,
			SL_FAIL(SL_E_LIMIT,
				"a message of %llu bytes is above the most of %zu here",
				(unsigned long long)frame_bytes(l), l->in_most));
	st = sl_wire_decode(l->in + l->read, l->len - l->read, &used, out);
	if (used == 0 && st != SL_OK)
		return break_off(l, st);
	if (used == 0 && surplus(l, out))
		return break_off(
			l, SL_FAIL(SL_E_FORMAT, "descriptors came that no message has"));
	if (used == 0)
		return SL_OK;
	if (out->n_fds > l->n_waiting)
		return break_off(
			l, SL_FAIL(SL_E_FORMAT,
				   "a message says it has %u descriptors; %u came",
				   out->n_fds, l->n_waiting));
	claim(l, out);
	l->read += used;
	*out_any = true;
	return st;
}

int sl_link_take(struct sl_link *l, uint32_t i)
{
	int fd = i < SL_WIRE_FDS ? l->held[i] : -1;

	if (fd >= 0)
		l->held[i] = -1;
	return fd;
}
