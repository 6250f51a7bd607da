/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for services: from who asks to the service and back. The daemon keeps who
 * asked, never the input; when the service ends, everybody who waits is told.
 */
#include "share/serve/serve_int.h"

#include <string.h>

#include "base/alloc.h"

#define MOST_OF_A_PEER 64
#define MOST_OF_A_SERVICE 1024
#define MOST_QUEUED ((size_t)2 << 20) /* bytes that a service has not read yet */
#define MAX_ASKS ((size_t)1 << 16)

static uint32_t asks_of(const struct sl_serve *s, const struct sl_srv_peer *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n_asks; i++)
		n += s->asks[i].peer == p;
	return n;
}

static uint32_t asks_for(const struct sl_serve *s, uint32_t job)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n_asks; i++)
		n += s->asks[i].job == job;
	return n;
}

/* The service of that name with the least to do. */
static struct sl_srv_job *find_service(const struct sl_serve *s, const char *name)
{
	struct sl_srv_job *best = NULL;
	uint32_t least = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];
		uint32_t n;

		if (j->asked.kind != SL_WIRE_SERVICE || !j->peer || j->stopped ||
			strcmp(j->asked.name, name) != 0)
			continue;
		n = asks_for(s, j->id);
		if (!best || n < least) {
			best = j;
			least = n;
		}
	}
	return best;
}

sl_status sl_srv_ask(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	const struct sl_msg_ask *a = &m->u.ask;
	struct sl_srv_job *j = find_service(s, a->service);
	struct sl_msg query = {.number = SL_MSG_QUERY};

	if (!j)
		return SL_FAIL(SL_E_NOT_FOUND,
			"there is no service '%s' now; `sluice ps` shows what runs",
			a->service);
	/* What others send never makes the daemon cut the service off. */
	if (asks_of(s, p) >= MOST_OF_A_PEER || asks_for(s, j->id) >= MOST_OF_A_SERVICE ||
		sl_link_queued(j->peer->link) + a->input.size > MOST_QUEUED)
		return SL_FAIL(SL_E_BUSY, "service '%s' has too many requests already",
			a->service);
	if (sl_grow((void **)&s->asks, &s->cap_asks, s->n_asks + 1, sizeof(s->asks[0]),
		    MAX_ASKS))
		return SL_FAIL(SL_E_NOMEM, "the daemon has no memory left for a request");
	query.u.query = (struct sl_msg_query){
		.id = ++s->next_ask, .within_ns = a->within_ns, .input = a->input};
	s->asks[s->n_asks++] = (struct sl_srv_ask){.id = query.u.query.id,
		.peer = p,
		.seq = m->seq,
		.job = j->id,
		.asked_ns = s->now_ns};
	sl_srv_send(s, j->peer, &query);
	return SL_OK;
}

sl_status sl_srv_answer(
	struct sl_serve *s, const struct sl_srv_job *j, const struct sl_msg *m)
{
	struct sl_msg answer = {.number = SL_MSG_ANSWER, .u.answer = m->u.answer};
	struct sl_srv_peer *to;

	for (size_t i = 0; i < s->n_asks; i++) {
		if (s->asks[i].id != m->u.answer.id || s->asks[i].job != j->id)
			continue;
		to = s->asks[i].peer;
		answer.seq = s->asks[i].seq;
		s->asks[i] = s->asks[--s->n_asks];
		sl_srv_send(s, to, &answer);
		return SL_OK;
	}
	/* Who asked is gone. */
	return SL_OK;
}

void sl_srv_asks_of_job(struct sl_serve *s, uint32_t job)
{
	for (size_t i = 0; i < s->n_asks; i++) {
		struct sl_srv_ask a = s->asks[i];

		if (a.job != job)
			continue;
		s->asks[i--] = s->asks[--s->n_asks];
		sl_srv_error(s, a.peer, a.seq,
			SL_FAIL(SL_E_LOST, "the service ended before it answered"));
	}
}

void sl_srv_asks_of_peer(struct sl_serve *s, const struct sl_srv_peer *p)
{
	for (size_t i = 0; i < s->n_asks; i++)
		if (s->asks[i].peer == p)
			s->asks[i--] = s->asks[--s->n_asks];
}
