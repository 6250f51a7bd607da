/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice verify: the same training with and without the budget; every loss, the digest
 * and every byte of the checkpoint must agree.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/units.h"
#include "output.h"

#define MAX_STEPS 1000000

struct losses {
	double *loss;
	size_t n, cap;
	bool lost; /* host memory ran out */
	struct cli_progress *progress;
	struct sl_session_events outer;
};

static void on_step(void *ctx, const struct sl_step_report *r)
{
	struct losses *l = ctx;

	if (sl_grow((void **)&l->loss, &l->cap, l->n + 1, sizeof(*l->loss), MAX_STEPS) <
		0)
		l->lost = true;
	else
		l->loss[l->n++] = r->loss;
	if (!l->progress->json)
		l->outer.step(l->outer.ctx, r);
}

static void on_note(void *ctx, const char *text)
{
	struct losses *l = ctx;

	l->outer.note(l->outer.ctx, text);
}

/* Two runs, each with a pace of its own, and which is which. */
static sl_status begin(struct cli_progress *p, const struct sl_session_config *config)
{
	char size[SL_SIZE_TEXT];

	p->first_step = 0;
	if (p->json || p->quiet)
		return SL_OK;
	if (config->budget_ratio > 0)
		printf("inside %g %% of the peak:\n", 100 * config->budget_ratio);
	else if (config->budget_bytes > 0)
		printf("inside %s:\n", sl_size_print(config->budget_bytes, size));
	else
		printf("without a budget:\n");
	return fflush(stdout) == 0
		       ? SL_OK
		       : SL_FAIL(SL_E_WRITE, "cannot write to standard output");
}

static sl_status train(
	const struct sl_session_config *config, struct losses *l, struct sl_summary *out)
{
	struct sl_session_events events = {.ctx = l, .step = on_step, .note = on_note};
	sl_status st;

	l->outer = cli_progress_events(l->progress);
	SL_TRY(begin(l->progress, config));
	st = cli_train(config, &events, l->progress, out);
	if (st == SL_OK && l->lost)
		st = SL_FAIL(SL_E_NOMEM,
			"the losses of %zu steps are all that can be compared; give "
			"fewer --steps",
			l->n);
	/* The checkpoints are removed: there is nothing to continue with. */
	if (st == SL_E_INTERRUPTED)
		st = SL_FAIL(st, "interrupted; nothing is compared");
	return st;
}

static sl_status files_equal(const char *a, const char *b, bool *out)
{
	static char left[65536], right[65536];
	uint64_t size_a, size_b;
	int fd_a = -1, fd_b = -1;
	sl_status st;

	SL_TRY_OUT(sl_fs_open(a, &fd_a, &size_a));
	SL_TRY_OUT(sl_fs_open(b, &fd_b, &size_b));
	*out = size_a == size_b;
	for (uint64_t at = 0; *out && at < size_a; at += sizeof(left)) {
		size_t len =
			size_a - at < sizeof(left) ? (size_t)(size_a - at) : sizeof(left);

		SL_TRY_OUT(sl_fs_pread(fd_a, a, left, len, at));
		SL_TRY_OUT(sl_fs_pread(fd_b, b, right, len, at));
		*out = memcmp(left, right, len) == 0;
	}
out:
	sl_fs_close(fd_a);
	sl_fs_close(fd_b);
	return st;
}

struct verdict {
	struct sl_summary free_run, tight_run;
	bool losses_agree, digests_agree, files_agree;
	int64_t first_difference; /* step, 0 if none */
};

static void compare_losses(
	const struct losses *a, const struct losses *b, struct verdict *v)
{
	v->losses_agree = a->n == b->n;
	for (size_t i = 0; i < a->n && i < b->n && v->first_difference == 0; i++) {
		if (memcmp(&a->loss[i], &b->loss[i], sizeof(double)) != 0) {
			v->losses_agree = false;
			v->first_difference = (int64_t)i + 1;
		}
	}
}

static sl_status report_json(const struct verdict *v)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_bool(j, "losses_agree", v->losses_agree);
	sl_json_bool(j, "digests_agree", v->digests_agree);
	sl_json_bool(j, "files_agree", v->files_agree);
	sl_json_i64(j, "first_difference", v->first_difference);
	sl_json_i64(j, "steps", v->tight_run.steps);
	sl_json_u64(j, "budget_bytes", v->tight_run.budget_bytes);
	sl_json_u64(j, "unbudgeted_peak_bytes", v->free_run.peak_device_bytes);
	sl_json_u64(j, "peak_device_bytes", v->tight_run.peak_device_bytes);
	sl_json_u64(j, "predicted_peak_bytes", v->tight_run.predicted_peak_bytes);
	sl_json_u64(j, "swap_out_bytes", v->tight_run.swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", v->tight_run.swap_in_bytes);
	sl_json_u64(j, "recompute_ops", v->tight_run.recompute_ops);
	sl_json_f64(j, "stall_ms", v->tight_run.stall_ms);
	sl_json_f64(j, "iter_ms_unbudgeted", v->free_run.iter_ms_median);
	sl_json_f64(j, "iter_ms_budgeted", v->tight_run.iter_ms_median);
	sl_json_str(j, "policy", v->tight_run.policy);
	sl_json_str(j, "digest", v->tight_run.digest);
	return cli_line_end(&line);
}

static void report_text(const struct verdict *v)
{
	const struct sl_summary *a = &v->free_run, *b = &v->tight_run;
	char x[SL_SIZE_TEXT], y[SL_SIZE_TEXT];
	uint64_t steps = b->run_steps > 0 ? (uint64_t)b->run_steps : 1;

	printf("%-22s %20s %20s\n", "", "no budget", "budget");
	printf("%-22s %20s %20s\n", "budget", "-", sl_size_print(b->budget_bytes, y));
	printf("%-22s %20s %20s\n", "peak device memory",
		sl_size_print(a->peak_device_bytes, x),
		sl_size_print(b->peak_device_bytes, y));
	printf("%-22s %20.9g %20.9g\n", "first loss", a->loss_first, b->loss_first);
	printf("%-22s %20.9g %20.9g\n", "last loss", a->loss_last, b->loss_last);
	printf("%-22s %20.1f %20.1f\n", "ms a step (median)", a->iter_ms_median,
		b->iter_ms_median);
	printf("%-22s %20s %20s\n", "copied out a step", "-",
		sl_size_print(b->swap_out_bytes / steps, y));
	printf("%-22s %20s %20s\n", "copied in a step", "-",
		sl_size_print(b->swap_in_bytes / steps, y));
	printf("%-22s %20s %20.1f\n", "ops run again a step", "-",
		(double)b->recompute_ops / (double)steps);
	printf("%-22s %20s %20.1f\n", "ms of waiting a step", "-",
		b->stall_ms / (double)steps);
	printf("%-22s %20.16s %20.16s\n", "digest", a->digest, b->digest);
	printf("losses %s, digests %s, checkpoint bytes %s\n",
		v->losses_agree ? "identical" : "DIFFER",
		v->digests_agree ? "identical" : "DIFFER",
		v->files_agree ? "identical" : "DIFFER");
	fflush(stdout);
}

/* Checkpoints of both runs go to a folder of their own and are removed. */
struct scratch {
	char folder[64], free_path[96], tight_path[96];
};

static sl_status scratch_begin(struct scratch *s)
{
	snprintf(s->folder, sizeof(s->folder), "/var/tmp/sluice-verify-XXXXXX");
	if (mkdtemp(s->folder) == NULL)
		return SL_FAIL(SL_E_WRITE,
			"cannot make a folder in /var/tmp for the two checkpoints");
	snprintf(s->free_path, sizeof(s->free_path), "%s/free.safetensors", s->folder);
	snprintf(s->tight_path, sizeof(s->tight_path), "%s/tight.safetensors", s->folder);
	return SL_OK;
}

static void scratch_end(const struct scratch *s)
{
	unlink(s->free_path);
	unlink(s->tight_path);
	rmdir(s->folder);
}

static sl_status train_both(struct cli_args *args, struct verdict *v,
	struct losses *free_losses, struct losses *tight_losses)
{
	struct sl_session_config unbudgeted = args->config;
	struct scratch scratch;
	sl_status st;

	unbudgeted.budget_bytes = unbudgeted.host_bytes = 0;
	unbudgeted.budget_ratio = 0;
	unbudgeted.policy = unbudgeted.plan_path = NULL;
	SL_TRY(scratch_begin(&scratch));
	unbudgeted.save_path = scratch.free_path;
	args->config.save_path = scratch.tight_path;
	SL_TRY_OUT(train(&args->config, tight_losses, &v->tight_run));
	SL_TRY_OUT(train(&unbudgeted, free_losses, &v->free_run));
	SL_TRY_OUT(files_equal(scratch.free_path, scratch.tight_path, &v->files_agree));
out:
	scratch_end(&scratch);
	return st;
}

static sl_status run(struct cli_args *args)
{
	struct cli_progress progress;
	struct losses free_losses = {.progress = &progress},
		      tight_losses = {.progress = &progress};
	struct verdict v = {0};
	sl_status st;

	args->config.model = args->operands[0];
	if (args->config.budget_bytes == 0 && !(args->config.budget_ratio > 0))
		return SL_FAIL(SL_E_USAGE, "verify needs --budget SIZE or N%%");
	if (args->config.steps > MAX_STEPS)
		return SL_FAIL(SL_E_USAGE, "verify compares at most %d steps", MAX_STEPS);
	cli_progress_init(&progress, args);
	SL_TRY_OUT(train_both(args, &v, &free_losses, &tight_losses));
	compare_losses(&free_losses, &tight_losses, &v);
	v.digests_agree = strcmp(v.free_run.digest, v.tight_run.digest) == 0;
	if (args->json)
		SL_TRY_OUT(report_json(&v));
	else
		report_text(&v);
	if (!v.losses_agree || !v.digests_agree || !v.files_agree)
		st = SL_FAIL(SL_E_NO,
			"the run inside the budget differs from the run without");
out:
	sl_free(free_losses.loss);
	sl_free(tight_losses.loss);
	return st;
}

static const struct cli_options *const groups[] = {
	&cli_model_options, &cli_memory_options, &cli_output_options, NULL};

const struct cli_command cli_command_verify = {
	.name = "verify",
	.operands = "MODEL",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "trains with and without the budget and compares every bit",
	.examples = "  sluice verify lenet5 --batch 64 --steps 20 --budget 2MiB\n"
		    "  sluice verify gpt2:layers=4,width=256 --batch 8 --steps 20 --clip "
		    "1 --budget 64MiB\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
