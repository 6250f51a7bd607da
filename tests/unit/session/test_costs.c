/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/costs.c and calibrate*.c: which book a job has, what it changes,
 * and how samples of one are taken. */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "session/calibrate_int.h"
#include "session/machine.h"
#include "sluice/memory.h"

#define SLOW_BOOK \
	"cost 1 device=slow cores=1\n" \
	"op * start_ns=1e+06 flops_per_s=1e+09 bytes_per_s=1e+09 load=1\n" \
	"link device disk bytes_per_s=111 latency_ns=22\n" \
	"link disk device bytes_per_s=333 latency_ns=44\n"

static const char *book_file(const char *text)
{
	const char *path = sl_test_path("book");

	sl_assert_ok(sl_fs_write(path, text, strlen(text)));
	return path;
}

static void a_book_is_chosen_by_name_by_file_and_by_environment(void **state)
{
	struct sl_session_config config = {0};
	struct sl_machine m = {0};

	(void)state;
	unsetenv("SLUICE_COSTS");
	sl_assert_ok(sl_machine_costs(&m, &config));
	assert_ptr_equal(m.costs, sl_cost_book_find("cpu"));
	m = (struct sl_machine){0};
	setenv("SLUICE_COSTS", "gpu", 1);
	sl_assert_ok(sl_machine_costs(&m, &config));
	assert_ptr_equal(m.costs, sl_cost_book_find("gpu"));
	m = (struct sl_machine){0};
	config.costs = book_file(SLOW_BOOK);
	sl_assert_ok(sl_machine_costs(&m, &config));
	assert_string_equal(m.costs->device, "slow");
	unsetenv("SLUICE_COSTS");
	sl_machine_finish(&m);
}

static void names_and_files_that_are_no_books_are_refused(void **state)
{
	struct sl_session_config config = {.costs = "abacus"};
	struct sl_machine m = {0};

	(void)state;
	sl_assert_fails(sl_machine_costs(&m, &config), SL_E_USAGE, "list costs");
	config.costs = "/nowhere/at/all.cost";
	sl_assert_fails(sl_machine_costs(&m, &config), SL_E_NOT_FOUND, "nowhere");
	sl_machine_finish(&m);
	config.costs = book_file("cost 1 device=a cores=1\nop * colour=blue\n");
	sl_assert_fails(sl_machine_costs(&m, &config), SL_E_FORMAT, "colour");
	sl_machine_finish(&m);
}

static void a_book_times_ops_and_links(void **state)
{
	struct sl_session_config config = {.model = "mlp:sizes=8-6-4",
		.data = "synthetic:8",
		.batch = 4,
		.weight_decay = -1,
		.costs = book_file(SLOW_BOOK)};
	const struct sl_planner_device device = {0};
	struct sl_buf text = SL_BUF_INIT;
	struct sl_planner *p = NULL;

	(void)state;
	sl_assert_ok(sl_planner_open(&config, &device, &p));
	sl_assert_ok(sl_planner_trace(p, &text));
	assert_non_null(strstr(sl_buf_text(&text), "dur_ns=10000"));
	assert_non_null(strstr(
		sl_buf_text(&text), "link device disk bytes_per_s=111 latency_ns=22 "));
	assert_non_null(strstr(
		sl_buf_text(&text), "link disk device bytes_per_s=333 latency_ns=44 "));
	sl_buf_finish(&text);
	sl_planner_close(p);
}

static sl_status open_book(void *ctx)
{
	struct sl_machine m = {0};
	sl_status st = sl_machine_costs(&m, ctx);

	sl_machine_finish(&m);
	return st;
}

static void memory_may_run_out_while_a_book_is_read(void **state)
{
	struct sl_session_config config = {.costs = book_file(SLOW_BOOK)};

	(void)state;
	assert_true(sl_torture(open_book, &config) >= 2);
}

static const struct sl_calibrate_case tiny = {
	.model = "mlp:sizes=8-6-4", .optim = "adamw", .batch = 4};

static void samples_are_one_for_each_size_and_load(void **state)
{
	const sl_ns ns[SL_CALIBRATE_LOADS] = {1, 0, 1};
	struct sl_calibrate_samples s = {0};
	struct sl_calibrate_run run = {0};
	size_t loaded = 0;

	(void)state;
	sl_assert_ok(sl_calibrate_case_run(&tiny, ns, &s, &run));
	assert_true(run.n_ops > 10);
	assert_true(run.iter_ms > 0);
	for (size_t i = 0; i < s.n; i++) {
		const struct sl_calibrate_sample *a = &s.items[i];

		assert_true(a->s.ns > 0);
		assert_true(a->s.load < 0.25 || a->s.load > 0.75);
		loaded += a->s.load > 0.75;
		for (size_t k = 0; k < i; k++) {
			const struct sl_calibrate_sample *b = &s.items[k];

			assert_false(strcmp(a->kind, b->kind) == 0 &&
				     a->s.flops == b->s.flops &&
				     a->s.bytes == b->s.bytes && a->s.load == b->s.load);
		}
	}
	assert_int_equal(2 * loaded, s.n);
	sl_free(s.items);
	sl_free(run.ops);
}

static sl_status run_tiny(void *ctx)
{
	const sl_ns ns[SL_CALIBRATE_LOADS] = {1};
	struct sl_calibrate_samples s = {0};
	struct sl_calibrate_run run = {0};
	sl_status st = sl_calibrate_case_run(ctx, ns, &s, &run);

	sl_free(s.items);
	sl_free(run.ops);
	return st;
}

static void memory_may_run_out_while_samples_are_taken(void **state)
{
	struct sl_calibrate_case c = tiny;

	(void)state;
	assert_true(sl_torture(run_tiny, &c) > 20);
}

static void the_host_has_a_link_each_way(void **state)
{
	const struct sl_calibrate_opts opts = {.quick = true, .disk_folder = "none"};
	struct sl_cost_book book = {0};

	(void)state;
	sl_assert_ok(sl_calibrate_copies(&opts, &book));
	assert_int_equal(book.n_links, 2);
	assert_true(sl_cost_link_find(&book, "device", "host")->bytes_per_s > 0);
	assert_true(sl_cost_link_find(&book, "host", "device")->bytes_per_s > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_book_is_chosen_by_name_by_file_and_by_environment),
		SL_TEST(names_and_files_that_are_no_books_are_refused),
		SL_TEST(a_book_times_ops_and_links),
		SL_TEST(memory_may_run_out_while_a_book_is_read),
		SL_TEST(samples_are_one_for_each_size_and_load),
		SL_TEST(memory_may_run_out_while_samples_are_taken),
		SL_TEST(the_host_has_a_link_each_way),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
