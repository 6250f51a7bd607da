/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/rig/train.h"

#include <unistd.h>

struct sl_session_config train_config(int i)
{
	static const struct sl_session_config small[TRAIN_MODELS] = {
		{.model = "mlp:sizes=64-48-48-10,dropout=0.3", .batch = 16},
		{.model = "lenet5", .batch = 1},
		{.model = "convnet:input=1x8x8", .batch = 2},
		{.model = "gpt2:layers=1,width=32,heads=2,context=8,vocab=32",
			.batch = 1},
	};
	struct sl_session_config c = small[i];

	c.steps = 2;
	c.clip = 1;
	c.weight_decay = -1;
	c.threads = 1;
	return c;
}

void train_tighten(struct sl_session_config *c)
{
	c->device = "cuda";
	c->budget_ratio = 0.8;
	c->policy = "belady";
	c->host_bytes = (uint64_t)64 << 20;
	c->no_replan = true;
}

void train_want_kernels(void)
{
	if (access("src/kernel/cuda/entries.def", R_OK) != 0)
		sl_test_skip("this tree has no kernels for CUDA");
}

void train_want_clean(const char *what, uint64_t n)
{
	char left[300];

	fake_alive(left, sizeof(left));
	if (left[0] != '\0' || fake_complaint()[0] != '\0')
		fail_msg("%s, run %d: left: %s; complaint: %s", what, (int)n, left,
			fake_complaint());
}

sl_status train_try(const struct sl_session_config *c, struct fake_options o,
	struct sl_session_run *out)
{
	o.keep = true;
	fake_reset(&o);
	return sl_session_run_all(c, out);
}

void train_well(const struct sl_session_config *c, struct fake_options o,
	struct sl_session_run *out)
{
	sl_status st = train_try(c, o, out);

	if (st != SL_OK)
		fail_msg("%s, seed %d: %s; complaint: %s", c->model, (int)o.seed,
			sl_last_error(), fake_complaint());
	train_want_clean(c->model, o.seed);
}
