/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a small convolutional network inside a budget, through the public headers alone.
 *
 *	make examples && build/examples/01_train idx:/usr/share/datasets/fashion-mnist
 *
 * Without an operand it trains on noise. What it prints last, the digest, is the same
 * with any budget and any number of threads.
 */
#include <stdio.h>

#include "sluice/session.h"

static void on_step(void *ctx, const struct sl_step_report *r)
{
	(void)ctx;
	if (r->step % 10 == 0)
		printf("step %2d of %d: loss %.4f, %.1f ms, at most %.1f KiB\n",
			(int)r->step, (int)r->steps, r->loss, r->iter_ms,
			(double)r->device_bytes / 1024);
}

int main(int argc, char **argv)
{
	const struct sl_session_config config = {
		.model = "lenet5",
		.data = argc > 1 ? argv[1] : NULL,
		.batch = 32,
		.steps = 40,
		.weight_decay = -1, /* AdamW's own */
		.budget_bytes = 2 << 20,
	};
	const struct sl_session_events events = {.step = on_step};
	struct sl_session *s = NULL;
	struct sl_summary sum;
	sl_status st;

	SL_TRY_OUT(sl_session_open(&config, &s));
	printf("%s, %llu parameters\n", config.model,
		(unsigned long long)sl_session_param_count(s));
	SL_TRY_OUT(sl_session_prepare(s, &events));
	SL_TRY_OUT(sl_session_train(s, &sum));
	printf("loss %.4f to %.4f; %.1f KiB went to disk and %.1f KiB came back\n",
		sum.loss_first, sum.loss_last, (double)sum.swap_out_bytes / 1024,
		(double)sum.swap_in_bytes / 1024);
	printf("digest %s\n", sum.digest);
out:
	if (st != SL_OK)
		fprintf(stderr, "01_train: %s\n", sl_last_error());
	sl_session_close(s);
	return sl_status_exit_code(st);
}
