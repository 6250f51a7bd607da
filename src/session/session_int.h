/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_SESSION_INT_H
#define SL_SESSION_SESSION_INT_H

#include "memory/engine.h"
#include "memory/policy/policy.h"
#include "session/instance.h"
#include "session/machine.h"
#include "sluice/data.h"
#include "sluice/model.h"

/*
 * The composition root: model + data + optimizer become instances; budget + tiers +
 * policy become plans and an engine; the loop joins them.
 *
 *   open -> prepare -> train* -> close          (session.c, machine.c, train.c)
 *                   -> eval, infer              (eval.c)
 *
 * The position in the data is a function of the step alone (schedule.h), so a checkpoint
 * needs only the step.
 */
enum sl_instance_id {
	SL_TRAIN,
	SL_TRAIN_TAIL, /* last partial batch of an epoch */
	SL_EVAL,
	SL_EVAL_TAIL,
	SL_PROLOGUE, /* before the first evaluation, where weights are fixed */
	SL_INSTANCE_COUNT
};

/* What feeding and fetching know during one step. */
struct sl_step_io {
	const struct sl_instance *instance;
	struct sl_data_request request, next; /* whole batch */
	bool has_next;
	int64_t *labels; /* of the part fed last */
	const void *given; /* samples that were handed in: fed instead of data */
	size_t given_bytes; /* of all; what is missing in a batch is zero */
	double loss, correct;
	sl_ns late_ns; /* how long samples were waited for, when they last were */
	bool want_logits;
	float *logits; /* [batch, last dim], when wanted */
	size_t logits_count;
};

struct sl_host; /* host.h */

struct sl_session {
	struct sl_session_config config;
	const struct sl_host *host; /* NULL: the device is its own */
	struct sl_shared *shared; /* the host, if it is the daemon (shared.h) */
	bool done; /* what it was to do */
	struct sl_model_config model;
	struct sl_graph *train_template, *eval_template;
	struct sl_data *data;
	struct sl_prefetch *prefetch;
	int64_t batch, seq;
	bool text;
	int seal_threads;
	struct sl_instance instances[SL_INSTANCE_COUNT];
	bool weights_ready; /* the prologue ran */
	struct sl_machine machine;
	struct sl_session_events events;
	struct sl_step_io io;
	struct sl_engine_stats before; /* the training step */
	sl_ns waited_before; /* it, for turns */
	int64_t step; /* done so far, over the life of the model */
	int64_t saved_step; /* of the last checkpoint of this run; 0: none */
	/* of this run, of every iter_stride-th step; predicted: by the plan it ran under
	 */
	float *iter_ms, *predicted_ms;
	size_t n_iters, cap_iters, cap_predicted;
	uint64_t n_steps, iter_stride; /* a power of two; 0 is 1 */
};

bool sl_instance_is_built(const struct sl_instance *x);
/* SL_E_INVALID unless the session was prepared to run this instance. */
SL_NODISCARD sl_status sl_session_ready(
	const struct sl_session *s, enum sl_instance_id id);
/* Seals an instance that is wanted now for the first time. */
SL_NODISCARD sl_status sl_session_build(struct sl_session *s, enum sl_instance_id id);
/* Whether the caller asked for the end. */
bool sl_session_stopped(const struct sl_session *s);
void sl_session_note(const struct sl_session *s, const char *fmt, ...) SL_PRINTF(2, 3);

/* One run of an instance over s->io.request, with feeding and fetching (step.c). */
SL_NODISCARD sl_status sl_session_run(struct sl_session *s, enum sl_instance_id id);

/* One optimizer step: samples, run, report (train.c). */
SL_NODISCARD sl_status sl_session_step(struct sl_session *s);

/* Room for a batch's logits, which runs then fetch. */
SL_NODISCARD sl_status sl_session_want_logits(struct sl_session *s);

/* Steps of an epoch, and of the whole run (schedule of config.steps or config.epochs). */
int64_t sl_session_epoch_steps(const struct sl_session *s);
int64_t sl_session_total_steps(const struct sl_session *s);

/* state.c, checkpoint.c: persistent values at a boundary. */
SL_NODISCARD sl_status sl_session_init_state(struct sl_session *s);
SL_NODISCARD sl_status sl_session_digest(struct sl_session *s, char out[65]);
SL_NODISCARD sl_status sl_session_save(struct sl_session *s, const char *path);
SL_NODISCARD sl_status sl_session_resume(struct sl_session *s, const char *path);

#endif
