/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: a thread each, that runs what was put in, at a pace of the seed's. */
#include "cuda/driver/driver_int.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Some streams of a seed keep up, some come late, some very late. */
static void delay(const struct CUstream_st *s, uint64_t number)
{
	enum { EAGER, YIELDS, SHORT, LONG };
	if (fake.options.seed == 0 || s->pace == EAGER)
		return;
	uint64_t r = fake_random(s->slot, number);
	if (s->pace == YIELDS || r % 4 != 0) {
		for (uint64_t i = 0; i < r / 4 % 3; i++)
			sched_yield();
		return;
	}
	struct timespec t = {0, (long)(r / 16 % (s->pace == SHORT ? 20000 : 200000))};
	ppoll(NULL, 0, &t, NULL);
}

static void wait_change(void)
{
	pthread_cond_wait(&fake.change, &fake.lock);
}

void fake_pause(void)
{
	fake.paused++;
	while (fake.running > 0)
		wait_change();
}

void fake_go_on(void)
{
	fake.paused--;
	pthread_cond_broadcast(&fake.change);
}

static void drop_event(struct CUevent_st *e)
{
	if (--e->refs == 0)
		free(e);
}

static void run_item(struct CUstream_st *s, struct item *i)
{
	while (i->waits && i->event->done < i->record && fake.sticky == SL_CU_SUCCESS)
		wait_change();
	pthread_mutex_unlock(&fake.lock);
	delay(s, i->who.number);
	pthread_mutex_lock(&fake.lock);
	if (i->run != NULL) {
		while (fake.paused > 0 && !i->calls_host)
			wait_change();
		bool runs = fake.sticky == SL_CU_SUCCESS;
		fake.running += !i->calls_host;
		if (i->calls_host)
			fake_pinned_begin_host(i);
		pthread_mutex_unlock(&fake.lock);
		if (runs)
			i->run(i);
		pthread_mutex_lock(&fake.lock);
		fake.running -= !i->calls_host;
		if (i->calls_host)
			fake_pinned_end_host(i);
	}
	if (i->event != NULL && !i->waits && i->event->done < i->record)
		i->event->done = i->record;
	if (i->event != NULL)
		drop_event(i->event);
	free(i->owned);
	free(i);
}

static void *work(void *arg)
{
	struct CUstream_st *s = arg;
	pthread_mutex_lock(&fake.lock);
	for (;;) {
		while (s->first == NULL && !s->ends)
			wait_change();
		struct item *i = s->first;
		if (i == NULL)
			break;
		s->first = i->next;
		if (s->first == NULL)
			s->last = &s->first;
		s->busy = true;
		run_item(s, i);
		s->busy = false;
		pthread_cond_broadcast(&fake.change);
	}
	fake.stream[s->slot] = NULL;
	pthread_cond_broadcast(&fake.change);
	pthread_mutex_unlock(&fake.lock);
	emu_thread_ends();
	free(s);
	return NULL;
}

static bool is_stream(const struct CUstream_st *s)
{
	for (unsigned i = 1; i < FAKE_STREAMS && s != NULL; i++)
		if (fake.stream[i] == s)
			return !s->ends;
	fake_complain("a call with a stream that is none");
	return false;
}

sl_cu_result fake_submit(struct CUstream_st *s, const struct item *like)
{
	struct item *i = malloc(sizeof *i);
	if (i == NULL || !is_stream(s)) {
		free(i);
		free(like->owned);
		return i == NULL ? SL_CU_ERROR_OUT_OF_MEMORY : SL_CU_ERROR_INVALID_HANDLE;
	}
	*i = *like;
	clock_join(&s->clock, &fake.host);
	/* Records and waits do nothing that another could meet. */
	fake.count[s->slot] += like->run != NULL;
	s->clock.at[s->slot] = fake.count[s->slot];
	i->who = (struct access){s->slot, fake.count[s->slot], like->name};
	i->clock = s->clock;
	if (i->event != NULL)
		i->event->refs++;
	i->next = NULL;
	*s->last = i;
	s->last = &i->next;
	pthread_cond_broadcast(&fake.change);
	return SL_CU_SUCCESS;
}

void fake_wait_idle(struct CUstream_st *s)
{
	struct clock reached = s->clock;
	unsigned slot = s->slot;
	while (fake.stream[slot] == s && (s->first != NULL || s->busy))
		wait_change();
	fake_host_reaches(&reached);
}

static unsigned free_slot(void)
{
	static unsigned last;
	for (unsigned i = 0; i < FAKE_STREAMS; i++) {
		unsigned slot = 1 + (last + i) % (FAKE_STREAMS - 1);
		if (fake.stream[slot] == NULL) {
			last = slot;
			return slot;
		}
	}
	return 0;
}

sl_cu_result cuStreamCreate(sl_cu_stream *out, unsigned flags)
{
	ENTER("cuStreamCreate");
	unsigned slot = free_slot();
	/* One that waits for the default stream is not what a back end wants. */
	if (flags != SL_CU_STREAM_NON_BLOCKING)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	struct CUstream_st *s = calloc(1, sizeof *s);
	if (s == NULL || slot == 0) {
		free(s);
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	}
	s->last = &s->first;
	s->slot = slot;
	s->pace = fake_random(slot, UINT64_C(1) << 40) % 4;
	if (pthread_create(&s->thread, NULL, work, s) != 0) {
		free(s);
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	}
	pthread_detach(s->thread);
	fake.stream[slot] = s;
	fake.streams++;
	*out = s;
	return fake_leave(SL_CU_SUCCESS);
}

/* What is in it still runs. */
sl_cu_result cuStreamDestroy_v2(sl_cu_stream s)
{
	sl_cu_result r = fake_enter("cuStreamDestroy_v2", CALL_ENDS);
	if (!is_stream(s))
		return fake_leave(SL_CU_ERROR_INVALID_HANDLE);
	s->ends = true;
	fake.streams--;
	pthread_cond_broadcast(&fake.change);
	return fake_leave(r);
}

sl_cu_result cuStreamSynchronize(sl_cu_stream s)
{
	sl_cu_result r = fake_enter("cuStreamSynchronize", CALL_ENDS);
	if (!is_stream(s))
		return fake_leave(SL_CU_ERROR_INVALID_HANDLE);
	fake_wait_idle(s);
	return fake_leave(r != SL_CU_SUCCESS ? r : fake.sticky);
}

sl_cu_result cuStreamWaitEvent(sl_cu_stream s, sl_cu_event e, unsigned flags)
{
	ENTER("cuStreamWaitEvent");
	if (!is_stream(s) || e == NULL || flags != 0)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	if (e->recorded == 0)
		return fake_leave(SL_CU_SUCCESS);
	if (!fake_left_out(&e->clock, &s->clock))
		clock_join(&s->clock, &e->clock);
	struct item i = {
		.name = "a wait", .event = e, .record = e->recorded, .waits = true};
	return fake_leave(fake_submit(s, &i));
}

sl_cu_result cuEventCreate(sl_cu_event *out, unsigned flags)
{
	ENTER("cuEventCreate");
	(void)flags;
	struct CUevent_st *e = calloc(1, sizeof *e);
	if (e == NULL)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	e->refs = 1;
	fake.events++;
	*out = e;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventDestroy_v2(sl_cu_event e)
{
	sl_cu_result r = fake_enter("cuEventDestroy_v2", CALL_ENDS);
	fake.events--;
	drop_event(e);
	return fake_leave(r);
}

sl_cu_result cuEventRecord(sl_cu_event e, sl_cu_stream s)
{
	ENTER("cuEventRecord");
	struct item i = {.name = "a record", .event = e, .record = fake.records + 1};
	sl_cu_result r = fake_submit(s, &i);
	if (r != SL_CU_SUCCESS)
		return fake_leave(r);
	e->recorded = ++fake.records;
	e->clock = s->clock;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventQuery(sl_cu_event e)
{
	ENTER("cuEventQuery");
	if (e->done < e->recorded)
		return fake_leave(SL_CU_ERROR_NOT_READY);
	fake_host_reaches(&e->clock);
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventSynchronize(sl_cu_event e)
{
	sl_cu_result r = fake_enter("cuEventSynchronize", CALL_ENDS);
	uint64_t record = e->recorded;
	struct clock reached = e->clock;
	e->refs++;
	while (e->done < record)
		wait_change();
	drop_event(e);
	fake_host_reaches(&reached);
	return fake_leave(r != SL_CU_SUCCESS ? r : fake.sticky);
}
