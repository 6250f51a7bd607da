/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon says in words. They are for terminals: made harmless here. */
#include "share/look/look_int.h"

#include "base/buf.h"

static bool is_stopped(const volatile sig_atomic_t *stop)
{
	return stop != NULL && *stop != 0;
}

/* The words with a '?' for whatever is neither text nor the end of a line. */
static sl_status append_words(const struct sl_wire_bytes *words, struct sl_buf *out)
{
	for (uint32_t i = 0; i < words->size;) {
		const uint8_t *at = words->data + i;
		uint32_t n = 1, left = words->size - i;

		/* The longest character that is one; lines are short, so no table. */
		while (n < 4 && n < left && !sl_wire_text_ok(at, n))
			n++;
		if (*at == '\n' || *at == '\t')
			n = 1;
		else if (!sl_wire_text_ok(at, n))
			n = 0;
		SL_TRY(n > 0 ? sl_buf_append(out, at, n) : sl_buf_puts(out, "?"));
		i += n > 0 ? n : 1;
	}
	return SL_OK;
}

static sl_status read_words(struct sl_daemon *d, struct sl_msg *m, struct sl_buf *out)
{
	SL_TRY(sl_look_ask(d, m));
	SL_TRY(sl_look_answer(d, m, SL_LOOK_NS));
	return m->number == SL_MSG_WORDS ? append_words(&m->u.words.text, out)
					 : sl_look_odd(m);
}

sl_status sl_daemon_explain(struct sl_daemon *d, uint32_t job, struct sl_buf *out)
{
	return read_words(d,
		&(struct sl_msg){.number = SL_MSG_EXPLAIN, .u.explain = {.job = job}},
		out);
}

sl_status sl_daemon_config(struct sl_daemon *d, struct sl_buf *out)
{
	return read_words(d, &(struct sl_msg){.number = SL_MSG_CONFIG}, out);
}

static sl_status tell(const struct sl_wire_bytes *words, struct sl_buf *text, void *ctx,
	sl_text_fn each)
{
	sl_buf_clear(text);
	SL_TRY(append_words(words, text));
	return each(ctx, sl_buf_text(text), text->len);
}

sl_status sl_daemon_events(struct sl_daemon *d, uint32_t last, bool follow,
	const volatile sig_atomic_t *stop, void *ctx, sl_text_fn each)
{
	struct sl_msg m = {
		.number = SL_MSG_EVENTS, .u.events = {.last = last, .follow = follow}};
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	SL_TRY(sl_look_ask(d, &m));
	for (;;) {
		if (is_stopped(stop)) {
			st = SL_FAIL(SL_E_INTERRUPTED, "interrupted");
			break;
		}
		st = sl_look_answer(d, &m, follow ? -1 : SL_LOOK_NS);
		if (st == SL_E_INTERRUPTED && !is_stopped(stop))
			continue;
		if (st != SL_OK || m.number == SL_MSG_DONE)
			break;
		st = m.number == SL_MSG_WORDS ? tell(&m.u.words.text, &text, ctx, each)
					      : sl_look_odd(&m);
		if (st != SL_OK)
			break;
	}
	sl_buf_finish(&text);
	return st;
}
