/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of profile.c: profiles of sessions that run. */
#include "harness/harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "sluice/profile.h"

static struct sl_session_config small(void)
{
	return (struct sl_session_config){
		.model = "mlp:sizes=20-16-10",
		.data = "synthetic:20",
		.batch = 8,
		.weight_decay = -1,
		.threads = 1,
		.valid_ratio = -1,
	};
}

static sl_status profile(const struct sl_session_config *config, struct sl_profile **p)
{
	const struct sl_profile_opts opts = {.steps = 3, .warmup = 1, .timeline = true};

	return sl_profile_run(config, &opts, NULL, p);
}

/* An empty row where there is none. */
static const struct sl_profile_row *find(
	const struct sl_profile_row *rows, size_t n, const char *op)
{
	static const struct sl_profile_row none = {.op = ""};

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].op, op) == 0)
			return &rows[i];
	return &none;
}

static void the_ops_of_a_step_are_all_there(void **state)
{
	const struct sl_session_config config = small();
	const struct sl_profile_summary *s;
	const struct sl_profile_row *products;
	struct sl_profile_row *rows;
	struct sl_profile *p;
	uint32_t ops = 0;
	size_t n;

	(void)state;
	sl_assert_ok(profile(&config, &p));
	s = sl_profile_summary(p);
	assert_int_equal(s->steps, 3);
	assert_int_equal(s->batch, 8);
	assert_int_equal(s->threads, 1);
	assert_int_equal(s->n_channels, 0);
	assert_true(s->peak_flops_per_s > 0 && s->peak_bytes_per_s > 0);
	assert_true(s->step_ms_min > 0 && s->step_ms_min <= s->step_ms);
	sl_assert_ok(sl_profile_rows(p, SL_PROFILE_BY_OP, &rows, &n));
	for (size_t i = 0; i < n; i++)
		ops += rows[i].ops;
	assert_int_equal(ops, s->ops);
	products = find(rows, n, "matmul");
	/* Two forward, two for weights, one for the hidden layer. */
	assert_int_equal(products->ops, 5);
	assert_true(products->flops >= 2.0 * 8 * (2 * 20 * 16 + 3 * 16 * 10));
	sl_profile_rows_free(rows);
	sl_profile_free(p);
}

static void inference_runs_forward_ops_alone(void **state)
{
	struct sl_session_config config = small();
	struct sl_profile_row *rows;
	struct sl_profile *p;
	size_t n;

	(void)state;
	config.infer_only = true;
	sl_assert_ok(profile(&config, &p));
	assert_true(sl_profile_summary(p)->infer);
	sl_assert_ok(sl_profile_rows(p, SL_PROFILE_BY_OP, &rows, &n));
	assert_int_equal(find(rows, n, "matmul")->ops, 2);
	assert_int_equal(find(rows, n, "adamw")->ops, 0);
	sl_profile_rows_free(rows);
	sl_profile_free(p);
}

static void a_budget_shows_copies_on_their_channels(void **state)
{
	struct sl_session_config config = small();
	const struct sl_profile_summary *s;
	struct sl_buf text = SL_BUF_INIT;
	double copies = 0;
	struct sl_profile *p;

	(void)state;
	config.model = "lenet5";
	config.data = NULL;
	config.batch = 16;
	config.budget_ratio = 0.6;
	config.host_bytes = (uint64_t)64 << 20;
	config.disk_folder = "none";
	config.policy = "belady";
	sl_assert_ok(profile(&config, &p));
	s = sl_profile_summary(p);
	assert_true(s->n_channels >= 2);
	assert_string_equal(s->channels[0].from, "device");
	for (uint32_t i = 0; i < s->n_channels; i++)
		copies += s->channels[i].copies;
	assert_true(copies >= 2);
	assert_true(s->peak_device_bytes <= s->budget_bytes);
	sl_assert_ok(sl_profile_timeline(p, &text));
	assert_non_null(strstr(sl_buf_text(&text), "\"cat\":\"out\""));
	assert_non_null(strstr(sl_buf_text(&text), "\"cat\":\"in\""));
	sl_buf_finish(&text);
	sl_profile_free(p);
}

/* Five samples: two whole batches and one that is smaller. */
static void a_partial_batch_at_the_end_of_an_epoch_does_not_count(void **state)
{
	static const char text[] = "1,2,0\n2,1,1\n3,1,0\n1,3,1\n2,2,0\n";
	struct sl_session_config config = small();
	const char *path = sl_test_path("five.csv");
	struct sl_profile *p;
	char spec[4200];

	(void)state;
	sl_assert_ok(sl_fs_write(path, text, strlen(text)));
	snprintf(spec, sizeof(spec), "csv:%s", path);
	config.model = "mlp:sizes=2-2";
	config.data = spec;
	config.batch = 2;
	sl_assert_ok(profile(&config, &p));
	assert_int_equal(sl_profile_summary(p)->steps, 3);
	sl_profile_free(p);
}

static void what_cannot_be_measured_is_refused(void **state)
{
	const struct sl_profile_opts many = {.steps = SL_PROFILE_STEPS_MAX + 1};
	struct sl_session_config config = small();
	volatile sig_atomic_t stop = 1;
	struct sl_profile *p;

	(void)state;
	sl_assert_fails(sl_profile_run(&config, &many, NULL, &p), SL_E_USAGE, "at most");
	config.device = "sim";
	sl_assert_fails(profile(&config, &p), SL_E_USAGE, "virtual");
	config = small();
	config.shared = true;
	sl_assert_fails(profile(&config, &p), SL_E_USAGE, "--shared");
	config = small();
	config.stop = &stop;
	sl_assert_fails(profile(&config, &p), SL_E_INTERRUPTED, "");
	sl_profile_free(NULL);
}

static sl_status profile_and_tell(void *ctx)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_profile_row *rows = NULL;
	struct sl_profile *p = NULL;
	sl_status st;
	size_t n;

	SL_TRY(profile(ctx, &p));
	SL_TRY_OUT(sl_profile_rows(p, SL_PROFILE_BY_SCOPE, &rows, &n));
	sl_profile_rows_free(rows);
	SL_TRY_OUT(sl_profile_timeline(p, &text));
out:
	sl_buf_finish(&text);
	sl_profile_free(p);
	return st;
}

static void memory_may_run_out_at_any_moment(void **state)
{
	struct sl_session_config config = small();

	(void)state;
	config.model = "mlp:sizes=4-2";
	config.data = "synthetic:4";
	assert_true(sl_torture(profile_and_tell, &config) > 20);
	config.infer_only = true;
	assert_true(sl_torture(profile_and_tell, &config) > 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_ops_of_a_step_are_all_there),
		SL_TEST(inference_runs_forward_ops_alone),
		SL_TEST(a_budget_shows_copies_on_their_channels),
		SL_TEST(a_partial_batch_at_the_end_of_an_epoch_does_not_count),
		SL_TEST(what_cannot_be_measured_is_refused),
		SL_TEST(memory_may_run_out_at_any_moment),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
