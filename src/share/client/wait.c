/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a turn, and telling a person why. */
#include "share/client/client_int.h"

#include <string.h>

#define EXPLAIN_NS ((sl_ns)1000000000)

/* Asks once a second; tells what came. */
void sl_client_explain(struct sl_client *c, sl_ns waited_ns)
{
	struct sl_msg m = {.number = SL_MSG_EXPLAIN};
	char words[sizeof(c->words)] = "";
	sl_ns now = sl_clock_now();

	if (c->opts.waits == NULL || waited_ns < EXPLAIN_NS)
		return;
	pthread_mutex_lock(&c->lock);
	if (c->words[0] != '\0') {
		memcpy(words, c->words, sizeof(words));
		c->words[0] = '\0';
	} else if (c->link == NULL && now >= c->explain_at) {
		memcpy(words, "the daemon is gone", sizeof("the daemon is gone"));
		c->explain_at = now + EXPLAIN_NS;
	} else if (now >= c->explain_at) {
		m.seq = c->words_seq = ++c->seq;
		m.u.explain.job = c->job;
		sl_client_say_locked(c, &m);
		c->explain_at = now + EXPLAIN_NS;
	}
	pthread_mutex_unlock(&c->lock);
	if (words[0] != '\0')
		c->opts.waits(c->opts.ctx, words, waited_ns);
}

static bool asked_to_stop(const struct sl_client *c)
{
	return (c->opts.stop != NULL && *c->opts.stop != 0) || sl_client_stopped(c);
}

/* Where there is no memory there is no turn: the mail brings it. */
static sl_status look(struct sl_client *c, bool *out_got)
{
	*out_got = false;
	if (c->mapped)
		return sl_turn_wait(c->page, SL_CLIENT_LOOK_NS, out_got);
	pthread_mutex_lock(&c->lock);
	if (!sl_client_flag(c, SL_CLIENT_NEWS | SL_CLIENT_LOST))
		sl_client_wait_locked(c, SL_CLIENT_LOOK_NS);
	pthread_mutex_unlock(&c->lock);
	return SL_OK;
}

sl_status sl_client_wait_turn(struct sl_client *c, bool stoppable)
{
	sl_ns begin = sl_clock_now();
	bool got = false;

	for (;;) {
		SL_TRY(sl_client_see_to(c));
		if (stoppable && asked_to_stop(c))
			return SL_FAIL(SL_E_INTERRUPTED,
				"interrupted while it waited for its turn");
		if (look(c, &got) != SL_OK)
			return sl_client_reason(c);
		if (got && !sl_client_flag(c, SL_CLIENT_NEWS | SL_CLIENT_LOST))
			return SL_OK;
		sl_client_explain(c, sl_clock_now() - begin);
	}
}
