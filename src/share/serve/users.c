/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users of the socket, so that none keeps the others waiting.
 *
 * 1. The loop's time goes to users by turns, as in start-time fair queueing (Goyal et
 * al., 1996): next is heard whose messages took least of it; one who comes, or was
 * silent, begins level with who is heard. Alone, a user may have all of it.
 * 2. What connections of a user keep in buffers is bounded in all.
 */
#include "share/serve/serve_int.h"

#include "base/alloc.h"

#define SMALL ((size_t)128 << 10) /* a connection may always keep so much */
#define USER_MOST ((uint64_t)64 << 20)

sl_status sl_srv_user_join(struct sl_serve *s, uid_t uid, struct sl_srv_user **out)
{
	struct sl_srv_user *u = s->users;

	while (u && u->uid != uid)
		u = u->next;
	if (u && u->n >= s->config->connections_per_user)
		return SL_FAIL(SL_E_LIMIT,
			"user %u has %llu connections, the most (connections_per_user)",
			uid, (unsigned long long)u->n);
	if (!u) {
		u = sl_calloc(1, sizeof(*u));
		if (!u)
			return SL_FAIL(SL_E_NOMEM, "no host memory left for a user");
		u->uid = uid;
		u->next = s->users;
		s->users = u;
	}
	u->n++;
	*out = u;
	return SL_OK;
}

void sl_srv_user_leave(struct sl_serve *s, struct sl_srv_user *u)
{
	struct sl_srv_user **at = &s->users;

	if (!u || --u->n > 0)
		return;
	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	sl_free(u);
}

static bool has_something_to_say(const struct sl_srv_peer *p)
{
	return p->more && !p->dead && !p->closing && p->resume_ns == 0;
}

static sl_ns level_of(const struct sl_serve *s, const struct sl_srv_peer *p)
{
	return p->user->used_ns > s->heard_ns ? p->user->used_ns : s->heard_ns;
}

struct sl_srv_peer *sl_srv_next_heard(struct sl_serve *s)
{
	struct sl_srv_peer *best = NULL;

	for (struct sl_srv_peer *p = s->peers; p; p = p->next) {
		if (!has_something_to_say(p))
			continue;
		if (!best || level_of(s, p) < level_of(s, best) ||
			(level_of(s, p) == level_of(s, best) && p->heard < best->heard))
			best = p;
	}
	return best;
}

void sl_srv_heard(struct sl_serve *s, struct sl_srv_peer *p, sl_ns took)
{
	s->heard_ns = level_of(s, p);
	p->user->used_ns = s->heard_ns + (took > 0 ? took : 0);
	p->heard = ++s->n_heard;
}

void sl_srv_users_round(struct sl_serve *s)
{
	for (struct sl_srv_user *u = s->users; u; u = u->next)
		u->queued = 0;
	for (struct sl_srv_peer *p = s->peers; p; p = p->next) {
		size_t kept;

		if (p->dead)
			continue;
		kept = sl_link_kept(p->link);
		p->user->queued += kept;
		if (kept > SMALL && p->user->queued > USER_MOST)
			sl_srv_peer_close(s, p, "its user's connections keep too much");
	}
}
