/* SPDX-License-Identifier: Apache-2.0 */
/* The training loop: where a step's samples are, when to evaluate, save and stop. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "session/host.h"

#define MAX_ITERS ((size_t)1 << 16)
#define STEPS_MAX ((int64_t)1 << 62)
#define BEHIND_MS 20 /* between words of the daemon while a reader is late */

static int64_t train_count(const struct sl_session *s)
{
	return sl_data_info(s->data)->count[SL_SPLIT_TRAIN];
}

static int64_t full_batch(const struct sl_session *s)
{
	return s->batch < train_count(s) ? s->batch : train_count(s);
}

int64_t sl_session_epoch_steps(const struct sl_session *s)
{
	return (train_count(s) + full_batch(s) - 1) / full_batch(s);
}

int64_t sl_session_total_steps(const struct sl_session *s)
{
	int64_t epochs = s->config.epochs > 0 ? s->config.epochs : 1;

	if (s->config.steps > 0)
		return s->config.steps;
	return epochs > STEPS_MAX / sl_session_epoch_steps(s)
		       ? STEPS_MAX
		       : epochs * sl_session_epoch_steps(s);
}

/* The samples of step (0, 1, ...): a function of the step alone, so resuming needs
 * nothing else. */
static struct sl_data_request request_of(const struct sl_session *s, int64_t step)
{
	int64_t per_epoch = sl_session_epoch_steps(s);
	int64_t first = step % per_epoch * full_batch(s);
	int64_t left = train_count(s) - first;

	return (struct sl_data_request){
		.split = SL_SPLIT_TRAIN,
		.seed = s->config.seed,
		.epoch = (uint64_t)(step / per_epoch),
		.first = first,
		.count = left < full_batch(s) ? left : full_batch(s),
		.augment = s->config.augment ? SL_AUGMENT_FLIP | SL_AUGMENT_CROP : 0,
	};
}

/* A batch that is asked for in parts is read ahead in parts. */
static struct sl_data_request first_part(
	const struct sl_session *s, struct sl_data_request r)
{
	bool full = r.count == full_batch(s);
	const struct sl_instance *x = &s->instances[full ? SL_TRAIN : SL_TRAIN_TAIL];

	r.count = sl_instance_part_begin(x, 1);
	return r;
}

static double predicted_ms(const struct sl_session *s)
{
	return (double)sl_machine_predicted_ns(&s->machine) / 1e6;
}

/* Times of every stride-th step: a run of any length needs little memory for its median.
 */
static sl_status note_time(struct sl_session *s, double ms)
{
	if (s->n_steps++ & (s->iter_stride > 0 ? s->iter_stride - 1 : 0))
		return SL_OK;
	if (s->n_iters == MAX_ITERS) {
		for (size_t i = 0; i < MAX_ITERS / 2; i++) {
			s->iter_ms[i] = s->iter_ms[2 * i];
			s->predicted_ms[i] = s->predicted_ms[2 * i];
		}
		s->n_iters = MAX_ITERS / 2;
		s->iter_stride = s->iter_stride > 0 ? 2 * s->iter_stride : 2;
	}
	if (sl_grow((void **)&s->iter_ms, &s->cap_iters, s->n_iters + 1,
		    sizeof(*s->iter_ms), MAX_ITERS) < 0 ||
		sl_grow((void **)&s->predicted_ms, &s->cap_predicted, s->n_iters + 1,
			sizeof(*s->predicted_ms), MAX_ITERS) < 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the times of %zu steps",
			s->n_iters);
	s->predicted_ms[s->n_iters] = (float)predicted_ms(s);
	s->iter_ms[s->n_iters++] = (float)ms;
	return SL_OK;
}

/* Whoever is late to read what is told holds up this job, not those beside it. Memory
 * that went away meanwhile is back at the end. */
static sl_status before_report(struct sl_session *s)
{
	const struct sl_gate *gate = s->machine.gate;
	bool rested = false;

	if (gate == NULL || s->events.behind == NULL)
		return SL_OK;
	while (s->events.behind(s->events.ctx, rested ? BEHIND_MS : 0) &&
		!sl_session_stopped(s)) {
		SL_TRY(sl_machine_idle(&s->machine));
		SL_TRY(gate->tend(gate->ctx));
		rested = true;
	}
	return rested ? gate->enter(gate->ctx) : SL_OK;
}

static sl_status report(struct sl_session *s, double ms)
{
	struct sl_engine_stats stats, before = s->before;
	struct sl_step_report r = {
		.step = s->step,
		.steps = sl_session_total_steps(s),
		.epoch = (s->step - 1) / sl_session_epoch_steps(s) + 1,
		.loss = s->io.loss,
		.accuracy = s->io.correct /
			    (double)(s->io.request.count * (s->seq > 0 ? s->seq : 1)),
		.iter_ms = ms,
		.samples_per_s = ms > 0 ? (double)s->io.request.count * 1e3 / ms : 0,
		.text = s->text,
	};

	sl_machine_stats(&s->machine, &stats);
	r.device_bytes = stats.peak_device_bytes;
	r.budget_bytes = s->config.budget_bytes;
	r.predicted_iter_ms = predicted_ms(s);
	r.stall_ms = (double)(stats.stall_ns - before.stall_ns) / 1e6;
	r.swap_out_bytes = stats.swap_out_bytes - before.swap_out_bytes;
	r.swap_in_bytes = stats.swap_in_bytes - before.swap_in_bytes;
	r.recompute_ops = stats.recompute_ops - before.recompute_ops;
	r.replans = sl_machine_replans(&s->machine);
	r.is_shared = s->host != NULL;
	r.waited_ms = (double)(s->machine.waited_ns - s->waited_before) / 1e6;
	if (s->events.step == NULL)
		return SL_OK;
	SL_TRY(before_report(s));
	s->events.step(s->events.ctx, &r);
	return SL_OK;
}

static sl_status check_loss(const struct sl_session *s)
{
	bool kept;

	if (isfinite(s->io.loss) || s->config.allow_nan)
		return SL_OK;
	kept = s->config.save_path != NULL && access(s->config.save_path, F_OK) == 0;
	return SL_FAIL(SL_E_NUMERIC,
		"the loss of step %lld is %g; lower --lr, add --clip 1, or go on with "
		"--allow-nan%s%s",
		(long long)s->step + 1, s->io.loss,
		kept ? "; not saved, the last checkpoint is as it was: " : "",
		kept ? s->config.save_path : "");
}

/* A device that is lost takes the step along and no checkpoint. */
static sl_status after_loss(const struct sl_session *s, sl_status st)
{
	const char *path = s->config.save_path;

	if (st != SL_E_LOST || s->machine.wire == NULL || path == NULL ||
		access(path, F_OK) != 0)
		return st;
	return sl_fail_prefix(st, "in step %lld (continue with --resume %s)",
		(long long)s->step + 1, path);
}

static double step_ms(const struct sl_session *s, sl_ns begin)
{
	if (s->machine.virtual != NULL)
		return (double)s->machine.virtual->account.step_ns / 1e6;
	/* Waiting for a turn is no pace of the step. */
	return (double)(sl_clock_now() - begin -
			(s->machine.waited_ns - s->waited_before)) /
	       1e6;
}

static bool saves_after(const struct sl_session *s, int64_t step)
{
	return step == sl_session_total_steps(s) ||
	       (s->config.save_every > 0 && step % s->config.save_every == 0);
}

sl_status sl_session_step(struct sl_session *s)
{
	sl_ns begin = sl_clock_now();
	enum sl_instance_id id;
	double ms;

	s->io.request = request_of(s, s->step);
	s->io.has_next = s->step + 1 < sl_session_total_steps(s);
	if (s->io.has_next)
		s->io.next = first_part(s, request_of(s, s->step + 1));
	id = s->io.request.count == full_batch(s) ? SL_TRAIN : SL_TRAIN_TAIL;
	SL_TRY(sl_session_ready(s, id));
	sl_machine_stats(&s->machine, &s->before);
	s->waited_before = s->machine.waited_ns;
	s->machine.rests = saves_after(s, s->step + 1);
	SL_TRY(sl_session_run(s, id));
	s->machine.rests = false;
	SL_TRY(check_loss(s));
	ms = step_ms(s, begin);
	s->step++;
	SL_TRY(note_time(s, ms));
	return report(s, ms);
}

static sl_status save(struct sl_session *s)
{
	if (s->config.save_path == NULL || s->saved_step == s->step)
		return SL_OK;
	SL_TRY(sl_machine_idle(&s->machine));
	SL_TRY(sl_session_save(s, s->config.save_path));
	s->saved_step = s->step;
	return SL_OK;
}

static sl_status after_step(struct sl_session *s, struct sl_summary *out)
{
	bool last = s->step == sl_session_total_steps(s);

	if (s->config.eval && (last || s->step % sl_session_epoch_steps(s) == 0) &&
		!sl_session_stopped(s)) {
		SL_TRY(sl_session_eval(s, &out->eval));
		out->evaluated = true;
		if (s->events.eval != NULL)
			s->events.eval(s->events.ctx, &out->eval);
	}
	return saves_after(s, s->step) ? save(s) : SL_OK;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static double median_ms(float *ms, size_t n)
{
	if (n == 0)
		return 0;
	qsort(ms, n, sizeof(*ms), by_value);
	return (double)ms[n / 2];
}

static uint64_t tier_peak(
	const struct sl_session *s, const struct sl_engine_stats *stats, const char *name)
{
	for (uint32_t i = 0; i < s->machine.n_tiers; i++)
		if (strcmp(s->machine.tier_info[i].name, name) == 0)
			return stats->peak_tier_bytes[i];
	return 0;
}

static sl_status summarize(struct sl_session *s, struct sl_summary *out)
{
	struct sl_engine_stats stats;

	sl_machine_stats(&s->machine, &stats);
	out->steps = s->step;
	out->run_steps = (int64_t)s->n_steps;
	out->budget_bytes = s->config.budget_bytes;
	out->peak_device_bytes = stats.peak_device_bytes;
	out->predicted_peak_bytes = s->machine.planned_peak;
	out->peak_host_bytes = tier_peak(s, &stats, "host");
	out->peak_disk_bytes = tier_peak(s, &stats, "disk");
	out->swap_out_bytes = stats.swap_out_bytes;
	out->swap_in_bytes = stats.swap_in_bytes;
	out->move_bytes = stats.move_bytes;
	out->recompute_ops = stats.recompute_ops;
	out->swap_ins = stats.swap_ins;
	out->late_swap_ins = stats.late_swap_ins;
	out->stall_ms = (double)stats.stall_ns / 1e6;
	out->iter_ms_median = median_ms(s->iter_ms, s->n_iters);
	out->replans = sl_machine_replans(&s->machine);
	out->predicted_iter_ms = median_ms(s->predicted_ms, s->n_iters);
	out->plan_ms = s->machine.plan_ms;
	memcpy(out->policy, s->machine.policy, sizeof(out->policy));
	out->is_shared = s->host != NULL;
	if (s->host != NULL)
		s->host->stats(s->host->gate.ctx, &out->shared);
	SL_TRY(sl_machine_idle(&s->machine));
	return sl_session_digest(s, out->digest);
}

/* Saves what this run has done; a run that did nothing leaves the last checkpoint alone.
 */
static sl_status interrupted(struct sl_session *s, int64_t first, struct sl_summary *out)
{
	bool saved = s->config.save_path != NULL && s->step > first;

	if (saved)
		SL_TRY(save(s));
	SL_TRY(summarize(s, out));
	return SL_FAIL(SL_E_INTERRUPTED, "interrupted after step %lld of %lld%s%s",
		(long long)s->step, (long long)sl_session_total_steps(s),
		saved ? "; continue with --resume " : "",
		saved ? s->config.save_path : "");
}

sl_status sl_session_train(struct sl_session *s, struct sl_summary *out)
{
	int64_t total = sl_session_total_steps(s), first = s->step;
	sl_status st;

	*out = (struct sl_summary){.loss_first = (double)NAN, .loss_last = (double)NAN};
	if (s->step >= total)
		sl_session_note(s,
			"the checkpoint has %lld steps already; the %lld of this run ask "
			"for no more, give more --steps or --epochs",
			(long long)s->step, (long long)total);
	while (s->step < total) {
		if (sl_session_stopped(s))
			return interrupted(s, first, out);
		st = sl_session_step(s);
		if (st == SL_E_INTERRUPTED) /* while it waited for its turn */
			return interrupted(s, first, out);
		SL_TRY(after_loss(s, st));
		out->loss_last = s->io.loss;
		if (s->step == first + 1)
			out->loss_first = s->io.loss;
		SL_TRY(after_step(s, out));
	}
	s->done = true;
	return summarize(s, out);
}
