/* SPDX-License-Identifier: Apache-2.0 */
/* Running a session for a command and telling how it went. */
#include "report.h"

#include <math.h>

#include "base/units.h"
#include "output.h"

sl_status cli_train(const struct sl_session_config *config,
	const struct sl_session_events *events, struct cli_progress *p,
	struct sl_summary *out)
{
	struct sl_session *s = NULL;
	sl_status st;

	SL_TRY_OUT(sl_session_open(config, &s));
	SL_TRY_OUT(sl_session_prepare(s, events));
	SL_TRY_OUT(sl_session_train(s, out));
out:
	cli_progress_end(p);
	sl_session_close(s);
	return st;
}

static sl_status summary_json(const struct sl_summary *s)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_i64(j, "steps", s->steps);
	sl_json_f64(j, "loss_first", s->loss_first);
	sl_json_f64(j, "loss_last", s->loss_last);
	sl_json_u64(j, "budget_bytes", s->budget_bytes);
	sl_json_u64(j, "peak_device_bytes", s->peak_device_bytes);
	sl_json_u64(j, "predicted_peak_bytes", s->predicted_peak_bytes);
	sl_json_u64(j, "peak_host_bytes", s->peak_host_bytes);
	sl_json_u64(j, "peak_disk_bytes", s->peak_disk_bytes);
	sl_json_u64(j, "swap_out_bytes", s->swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", s->swap_in_bytes);
	sl_json_u64(j, "move_bytes", s->move_bytes);
	sl_json_u64(j, "recompute_ops", s->recompute_ops);
	sl_json_u64(j, "swap_ins", s->swap_ins);
	sl_json_u64(j, "late_swap_ins", s->late_swap_ins);
	sl_json_f64(j, "stall_ms", s->stall_ms);
	sl_json_f64(j, "iter_ms_median", s->iter_ms_median);
	sl_json_f64(j, "predicted_iter_ms", s->predicted_iter_ms);
	sl_json_u64(j, "replans", s->replans);
	sl_json_i64(j, "run_steps", s->run_steps);
	sl_json_f64(j, "plan_ms", s->plan_ms);
	sl_json_str(j, "policy", s->policy);
	if (s->is_shared) {
		sl_json_f64(j, "waited_ms", s->shared.waited_ms);
		sl_json_f64(j, "admit_ms", s->shared.admit_ms);
		sl_json_u64(j, "turns", s->shared.turns);
		sl_json_u64(j, "switches", s->shared.switches);
		sl_json_u64(j, "parked", s->shared.parked);
		sl_json_u64(j, "lane", s->shared.lane);
		sl_json_u64(j, "row", s->shared.row);
		sl_json_u64(j, "joint_plans", s->shared.joint_plans);
	}
	if (s->evaluated)
		sl_json_f64(j, s->eval.text ? "bits_per_byte" : "accuracy",
			s->eval.text ? s->eval.bits_per_byte : s->eval.accuracy);
	sl_json_str(j, "digest", s->digest);
	return cli_line_end(&line);
}

/* Reality against prediction, "12.3 % more" or "3.0 % less". */
static void off_text(char text[32], double real, double predicted)
{
	double off = predicted > 0 ? 100 * (real / predicted - 1) : 0;

	snprintf(text, 32, "%.1f %% %s", fabs(off), off < 0 ? "less" : "more");
}

static void budget_text(const struct sl_summary *s)
{
	char peak[SL_SIZE_TEXT], predicted[SL_SIZE_TEXT], budget[SL_SIZE_TEXT],
		out[SL_SIZE_TEXT], in[SL_SIZE_TEXT], off[32];
	uint64_t steps = s->run_steps > 0 ? (uint64_t)s->run_steps : 1;

	off_text(off, s->iter_ms_median, s->predicted_iter_ms);
	printf("memory: peak %s of %s, predicted %s; policy %s\n",
		sl_size_print(s->peak_device_bytes, peak),
		sl_size_print(s->budget_bytes, budget),
		sl_size_print(s->predicted_peak_bytes, predicted), s->policy);
	printf("time:   %.2f ms a step, predicted %.2f: %s; planned in %.1f ms, "
	       "again: %llu\n",
		s->iter_ms_median, s->predicted_iter_ms, off, s->plan_ms,
		(unsigned long long)s->replans);
	printf("a step: %s out, %s in, %.1f ops run again, %.2f ms of waiting; %.0f %% "
	       "of "
	       "copies in were late\n",
		sl_size_print(s->swap_out_bytes / steps, out),
		sl_size_print(s->swap_in_bytes / steps, in),
		(double)s->recompute_ops / (double)steps, s->stall_ms / (double)steps,
		s->swap_ins > 0 ? 100.0 * (double)s->late_swap_ins / (double)s->swap_ins
				: 0);
}

static void shared_text(const struct sl_shared_stats *s)
{
	printf("shared: %llu turns in lane %u, given away %llu times; waited %.1f s, "
	       "%.1f "
	       "of them to be admitted%s; parked %llu times\n",
		(unsigned long long)s->turns, s->lane, (unsigned long long)s->switches,
		s->waited_ms / 1e3, s->admit_ms / 1e3,
		s->row > 0 ? " with a plan for less memory" : "",
		(unsigned long long)s->parked);
}

sl_status cli_report_summary(const struct sl_summary *s, bool json)
{
	char peak[SL_SIZE_TEXT];

	if (json)
		return summary_json(s);
	if (s->digest[0] == '\0')
		return SL_OK; /* interrupted before there was anything to tell */
	if (isnan(s->loss_first) && isnan(s->loss_last))
		printf("%lld steps, none of them in this run\n", (long long)s->steps);
	else
		printf("%lld steps, loss %.4f to %.4f, %.1f ms a step (median)\n",
			(long long)s->steps, s->loss_first, s->loss_last,
			s->iter_ms_median);
	if (s->budget_bytes > 0)
		budget_text(s);
	else
		printf("memory: peak %s, policy %s\n",
			sl_size_print(s->peak_device_bytes, peak), s->policy);
	if (s->is_shared)
		shared_text(&s->shared);
	printf("digest: %s\n", s->digest);
	return fflush(stdout) == 0
		       ? SL_OK
		       : SL_FAIL(SL_E_WRITE, "cannot write to standard output");
}
