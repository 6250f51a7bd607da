/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops for bench/rows.py, which stops and continues them in turns; each repetition
 * prints a line {"ms": X}.
 *
 *   loop infer MODEL BATCH THREADS   one forward batch of samples that are handed in
 *   loop peak THREADS                multiply-adds of registers alone, with their rate
 *   loop spin THREADS                the same and no line: keeps cores busy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "kernel/peak.h"
#include "sluice/session.h"

static void must(sl_status st, const char *what)
{
	if (st == SL_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, sl_last_error());
	_Exit(sl_status_exit_code(st));
}

static void *need(size_t bytes)
{
	void *p = sl_calloc(1, bytes);

	if (p)
		return p;
	fprintf(stderr, "no memory for %zu bytes\n", bytes);
	_Exit(1);
}

static _Noreturn void infer(const char *model, int64_t batch, int threads)
{
	struct sl_session_config config = {.model = model,
		.batch = batch,
		.threads = threads,
		.infer_only = true,
		.weight_decay = -1,
		.valid_ratio = -1};
	struct sl_predict_info info;
	struct sl_session *s;

	must(sl_session_open(&config, &s), model);
	must(sl_session_prepare(s, NULL), model);
	must(sl_session_predict_info(s, &info), model);
	float *x = need(info.sample_bytes * (size_t)batch);
	float *y = need(info.outputs * (size_t)batch * sizeof(*y));
	for (size_t i = 0; i < info.sample_bytes / 4 * (size_t)batch; i++) {
		if (info.tokens)
			((int32_t *)(void *)x)[i] = (int32_t)(i * 7 % 255);
		else
			x[i] = (float)(i % 251) / 125 - 1;
	}
	for (;;) {
		sl_ns begin = sl_clock_now();
		must(sl_session_predict(s, x, batch, y), model);
		printf("{\"ms\": %.6f}\n", (double)(sl_clock_now() - begin) / 1e6);
		fflush(stdout);
	}
}

static _Noreturn void peak(int threads, bool prints)
{
	struct sl_pool *pool;

	must(sl_pool_create(threads, &pool), "threads");
	for (;;) {
		sl_ns begin = sl_clock_now();
		double rate = sl_peak_flops(pool);
		if (!prints)
			continue;
		printf("{\"ms\": %.6f, \"gflop_per_s\": %.3f}\n",
			(double)(sl_clock_now() - begin) / 1e6, rate / 1e9);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int threads = argc > 2 ? (int)strtol(argv[argc - 1], NULL, 10) : 0;

	if (threads < 1)
		threads = sl_cpu_count();
	if (strcmp(what, "infer") == 0 && argc == 5)
		infer(argv[2], strtol(argv[3], NULL, 10), threads);
	if (strcmp(what, "peak") == 0 || strcmp(what, "spin") == 0)
		peak(threads, what[0] == 'p');
	fprintf(stderr,
		"usage: loop infer MODEL BATCH THREADS | peak THREADS | spin THREADS\n");
	return 2;
}
