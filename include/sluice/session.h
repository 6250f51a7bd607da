/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_SESSION_H
#define SLUICE_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/attrs.h"

/*
 * A session is one job: a model, its data, an optimizer, a budget. Everything is decided
 * at open (graphs sealed, kernels chosen) and at prepare (plans made and checked, memory
 * taken); train then only carries out. One thread uses a session.
 *
 * open, prepare, then train, eval or infer, then close; examples/01_train.c is all of it.
 * After a failure a session is only good for closing.
 */
struct sl_session;

/* Zero is the default of each field, but in weight_decay and schedule.gamma zero is zero.
 * The struct is copied at open, its texts are borrowed until close. */
struct sl_session_config {
	const char *model; /* "resnet18:classes=10,input=3x64x64" */
	const char *data; /* "idx:DIR", "text:FILE", ...; NULL: synthetic of the model's
			     shape */
	int64_t batch; /* 0: the model's default */
	int64_t accumulate; /* parts a step's batch is cut into; 0 means 1 */
	int64_t steps, epochs; /* both 0: one epoch */

	const char *optim; /* sgd momentum adam adamw; NULL: adamw */
	double lr; /* 0: 1e-3 */
	double weight_decay; /* negative: the optimizer's default (adamw 0.01, else 0) */
	double clip; /* largest global gradient norm; 0: none */
	struct sl_schedule_attr schedule; /* base is lr */
	const char
		*freeze; /* parameters whose name begins so are not trained; NULL: none */

	const char *device; /* of sl_device_name_at(); NULL: cpu. With sim, iter_ms and
			     stall_ms are virtual: durations and rates of the trace */
	uint64_t budget_bytes; /* hard cap of device memory; 0: none */
	double budget_ratio; /* instead: that share of the unbudgeted peak of a full
				step, cut to whole 4096 bytes; 0: budget_bytes says */
	uint64_t host_bytes; /* host tier; 0: none */
	const char *disk_folder; /* NULL: SLUICE_DISK, else /var/tmp; "none" forbids */
	uint64_t disk_bytes; /* 0: four times the unbudgeted peak */
	const char *policy; /* NULL, auto: keep without a budget, joint with one */
	const char *costs; /* cost book by name or file; NULL: SLUICE_COSTS, else cpu */
	bool no_replan; /* a plan stays, however long its ops take */
	double replan_drift; /* of measured times that gives a new plan; 0: 0.3 */
	const char *plan_path; /* run this stored plan; NULL: plan anew */

	enum sl_dtype dtype; /* f32, or bf16: values between operators are that, while
				parameters, optimizer and sums stay f32 */
	uint64_t seed;
	int threads; /* 0: all cores; width of running only */
	bool no_dropout;
	bool augment; /* flip and crop images by seed */
	double valid_ratio; /* share of samples held out, below 1; 0: 0.1 of a text, else
			       none; negative: none */
	bool eval; /* evaluate on the held-out samples after each epoch and at the end */
	int64_t eval_steps; /* at most so many batches; 0: all */
	bool allow_nan; /* a loss that is not finite does not end the run */
	bool infer_only; /* no optimizer, no training program */
	bool logits_only; /* with infer_only: nothing else is asked for, no evaluation */
	bool as_built; /* with infer_only: the model's graph as it is, without passes */

	const char *save_path; /* written at the end, and every save_every steps; NULL:
				  not at all */
	int64_t save_every; /* 0: only at the end */
	const char *resume_path; /* NULL: fresh */
	const char *record_path; /* trace text of the training step; NULL: none */
	const volatile sig_atomic_t *stop; /* nonzero: end after the current step; NULL:
					      never */

	/* One job among others: memory and turns come from the daemon (sluiced). The
	 * fields below mean nothing without it. */
	bool shared;
	const char *socket; /* NULL: SLUICE_SOCKET, else the usual place */
	const char *job_name; /* NULL: the model */
	int32_t priority; /* lower is more important; 0: SL_JOB_USUAL_PRIORITY */
	double deadline_s; /* wanted end, from now on; 0: none */
	double allow_slowdown; /* of a step, for being admitted with less memory: 0.2
				  is a fifth */
	double daemon_timeout_s; /* waits so long for a daemon that is gone; 0: 60 */
	const char *serve; /* with infer_only: answers requests for a service of this
			      name; NULL: none */
	double within_s; /* objective of a request's latency; 0: 0.1 */
};

#define SL_JOB_USUAL_PRIORITY 20

/* What sharing cost a job so far. */
struct sl_shared_stats {
	double waited_ms; /* to be admitted and for turns */
	double admit_ms; /* to be admitted, of it */
	uint64_t turns; /* iterations on the shared device */
	uint64_t switches; /* turns given away */
	uint64_t parked; /* times that it was copied away and brought back */
	uint32_t lane;
	uint32_t row; /* of its menu of plans: 0 is the fastest */
	uint64_t joint_plans; /* taken, that the daemon made for it and others together */
};

struct sl_step_report {
	int64_t step; /* 1, 2, ... over the life of the model */
	int64_t steps; /* of the whole run */
	int64_t epoch; /* 1, 2, ... */
	double loss; /* mean cross entropy of the step's labels, in nats */
	double accuracy; /* share of the step's labels, 0 to 1; for text too */
	double iter_ms;
	double samples_per_s;
	uint64_t device_bytes; /* arena high-water mark so far */
	uint64_t budget_bytes; /* 0: none */
	double predicted_iter_ms; /* by the plan in force and the latest times */
	double stall_ms; /* of this step, waiting for copies */
	uint64_t swap_out_bytes, swap_in_bytes, recompute_ops; /* of this step */
	uint64_t replans; /* plans made after the first one, so far */
	bool text;
	bool is_shared;
	double waited_ms; /* for turns, before this step; not in iter_ms */
};

struct sl_eval_report {
	int64_t epoch;
	double loss, accuracy, bits_per_byte; /* means; bits_per_byte: text models */
	int64_t samples;
	bool text;
};

/* Called in the session's thread; what they are given lives for the call. */
struct sl_session_events {
	void *ctx;
	void (*step)(void *ctx, const struct sl_step_report *r); /* NULL: not told */
	void (*eval)(void *ctx, const struct sl_eval_report *r);
	void (*note)(void *ctx, const char *text); /* something a person should know */
	/* of a shared job: about once a second while it waits to be admitted or for its
	 * turn */
	void (*wait)(void *ctx, const char *reason, double waited_ms);
	/* of a shared job, before step: true where the report would still have to wait
	 * for its reader after wait_ms; the turn is given back meanwhile. NULL: never */
	bool (*behind)(void *ctx, int wait_ms);
};

struct sl_summary {
	int64_t steps; /* of the model's life, as in the last report */
	int64_t run_steps; /* of this run */
	double loss_first, loss_last; /* of this run */
	uint64_t budget_bytes, peak_device_bytes, peak_host_bytes, peak_disk_bytes;
	uint64_t predicted_peak_bytes;
	uint64_t swap_out_bytes, swap_in_bytes, move_bytes, recompute_ops;
	uint64_t swap_ins, late_swap_ins; /* copies in; those that an op waited for */
	uint64_t replans; /* plans made after the first one */
	double stall_ms, iter_ms_median, plan_ms;
	double predicted_iter_ms; /* median, each by the plan that the step ran under */
	char policy[32];
	char digest[65]; /* SHA-256 over parameters and optimizer state in order of
			    declaration */
	struct sl_eval_report eval;
	bool evaluated;
	bool is_shared;
	struct sl_shared_stats shared; /* if it is */
};

/* Opens the data and seals the graphs. SL_E_USAGE for what the config says
 * wrong, the codes of sl_data_open() and sl_model_parse(), SL_E_NOMEM. */
SL_NODISCARD sl_status sl_session_open(
	const struct sl_session_config *config, struct sl_session **out);
/* Plans, takes memory, initialises or resumes. events are copied; NULL: none.
 * SL_E_INFEASIBLE names B* and the binding op, SL_E_NOMEM_DEVICE a budget that the
 * machine has not, SL_E_FORMAT a checkpoint or plan that is damaged. A shared session is
 * admitted here: it waits for as long as it takes; SL_E_LOST without a daemon. */
SL_NODISCARD sl_status sl_session_prepare(
	struct sl_session *s, const struct sl_session_events *events);
/* SL_E_INTERRUPTED after a stop (checkpoint written if asked for and a step was done; the
 * summary is filled), SL_E_NUMERIC on NaN or infinity. Losses are NaN if no step was
 * done.
 */
SL_NODISCARD sl_status sl_session_train(struct sl_session *s, struct sl_summary *out);
/* Runs the evaluation program over the held-out samples, or over all where none are held
 * out; of a session with eval or infer_only set. */
SL_NODISCARD sl_status sl_session_eval(struct sl_session *s, struct sl_eval_report *out);
/* One prediction: for images the class and its probability, for text the bits per byte of
 * a window. */
struct sl_prediction {
	int64_t index;
	bool text;
	int64_t label; /* predicted class; text: the likeliest next byte */
	double probability;
	double bits_per_byte;
};
/* Predicts the held-out samples, or all where none are held out, in order. A failure of
 * `each` ends it and is returned. */
SL_NODISCARD sl_status sl_session_infer(struct sl_session *s, void *ctx,
	sl_status (*each)(void *ctx, const struct sl_prediction *p));
/* What a session that was opened with infer_only is asked and answers. */
struct sl_predict_info {
	size_t sample_bytes; /* of one x: f32, or i32 tokens */
	size_t outputs; /* logits of a sample; of a text those of its last position */
	int64_t batch; /* samples that run at once */
	bool tokens;
};
SL_NODISCARD sl_status sl_session_predict_info(
	const struct sl_session *s, struct sl_predict_info *out);
/* Runs n <= batch samples that the caller hands in: x is n samples one behind the other,
 * out is [n, outputs]. SL_E_INVALID for another n or for tokens outside the vocabulary.
 */
SL_NODISCARD sl_status sl_session_predict(
	struct sl_session *s, const void *x, int64_t n, float *out);
struct sl_serve_report {
	uint64_t requests, refused, batches;
	uint64_t late; /* answered after their objective */
	double longest_ms; /* from coming to the answer */
};
/* Answers requests until stop (SL_OK): each is one sample, and so gets the logits of
 * sl_session_predict. Of a shared session opened with `serve`; SL_E_USAGE of another. */
SL_NODISCARD sl_status sl_session_serve(
	struct sl_session *s, struct sl_serve_report *out);
void sl_session_close(struct sl_session *s); /* NULL is fine */

/* Elements over all parameters of the model. */
uint64_t sl_session_param_count(const struct sl_session *s);

#endif
