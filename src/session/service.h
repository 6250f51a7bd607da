/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_SERVICE_H
#define SL_SESSION_SERVICE_H

#include "base/clock.h"
#include "sluice/session.h"

/*
 * Requests for a model, answered in batches under a latency objective (share/batch.h).
 *
 *   thread    does
 *   any       sl_service_push: a request is copied in
 *   session   sl_service_run: waits, runs batches, answers
 *
 * Between batches, when nothing waits, the turn is given away.
 */
struct sl_service;

struct sl_service_answer {
	uint64_t id;
	sl_status status;
	sl_ns waited_ns, ran_ns; /* until the batch began, and its run */
	uint32_t batch; /* requests that ran together */
	const float *outputs; /* NULL after a failure */
	size_t count;
};

struct sl_service_opts {
	void *ctx;
	/* On the thread that pushed (a request that is refused) or the session's; what it
	 * is given lives for the call. */
	void (*answer)(void *ctx, const struct sl_service_answer *a);
	/* On the session's thread, ten times a second while nothing waits; NULL: not
	 * told. */
	sl_status (*idle)(void *ctx);
	size_t sample_bytes; /* others are refused */
	sl_ns within_ns; /* objective of requests that name none */
	const volatile sig_atomic_t *stop; /* NULL: never */
};

struct sl_service_stats {
	uint64_t requests, refused, batches;
	uint64_t late; /* answered after their objective */
	sl_ns longest_ns; /* from coming to the answer */
};

/* Requests that come from now on wait until it begins; from its end on they are refused.
 */
SL_NODISCARD sl_status sl_service_create(
	const struct sl_service_opts *opts, struct sl_service **out);
/* The session is prepared: measures what a batch takes. */
SL_NODISCARD sl_status sl_service_begin(struct sl_service *v, struct sl_session *s);
/* What still waits is answered with SL_E_LOST. */
void sl_service_end(struct sl_service *v);
void sl_service_destroy(struct sl_service *v); /* ended; NULL is fine */
/* One sample; age: how long ago it came; within 0: the usual objective. A refusal is
 * answered. */
void sl_service_push(struct sl_service *v, uint64_t id, sl_ns age_ns, sl_ns within_ns,
	const void *sample, size_t bytes);
/* Until stop (SL_OK) or a failure of the session or of idle. */
SL_NODISCARD sl_status sl_service_run(struct sl_service *v);
void sl_service_stats(struct sl_service *v, struct sl_service_stats *out);

#endif
