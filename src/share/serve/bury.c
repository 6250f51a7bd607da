/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of connections. To close what a stranger sent may take as long as the stranger
 * likes, so that is left to a thread; the connection counts as its user's until then.
 */
#include "share/serve/serve_int.h"

#include <pthread.h>

#include "base/fs.h"
#include "base/futex.h"

#define STACK ((size_t)128 << 10)
#define MOST 256 /* at a time; others wait */
#define END_NS ((sl_ns)1000000000)

static void *close_all(void *burial)
{
	struct sl_srv_burial *b = burial;

	sl_link_destroy(b->link);
	for (uint32_t i = 0; i < b->n_fds; i++)
		sl_fs_close(b->fds[i]);
	sl_atom32_store(&b->done, 1);
	(void)sl_futex_wake(&b->done, 1);
	return NULL;
}

static bool start(struct sl_srv_burial *b)
{
	pthread_attr_t attr;
	bool started;

	if (pthread_attr_init(&attr))
		return false;
	started = pthread_attr_setstacksize(&attr, STACK) == 0 &&
		  pthread_create(&b->thread, &attr, close_all, b) == 0;
	(void)pthread_attr_destroy(&attr);
	return started;
}

bool sl_srv_bury(struct sl_serve *s, struct sl_srv_burial *b)
{
	if (!b->started && s->n_burials < MOST && start(b)) {
		b->started = true;
		s->n_burials++;
	}
	if (!b->started || !sl_atom32_load(&b->done))
		return false;
	(void)pthread_join(b->thread, NULL);
	s->n_burials--;
	return true;
}

bool sl_srv_bury_last(struct sl_srv_burial *b)
{
	if (!b->started) {
		(void)close_all(b);
		return true;
	}
	(void)!sl_futex_wait(&b->done, 0, END_NS);
	if (sl_atom32_load(&b->done)) {
		(void)pthread_join(b->thread, NULL);
		return true;
	}
	(void)pthread_detach(b->thread);
	return false;
}
