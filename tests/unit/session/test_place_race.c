/* SPDX-License-Identifier: Apache-2.0 */
/* Exact placement of tables: found at the load, the same on any number of threads,
 * proofs, interruptions. */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "sluice/memory.h"

#define HARD "tests/corpus/place/A.1048576.csv"
#define HARD_LOAD 1048576

static void a_hard_table_is_placed_at_its_load_by_any_threads(void **state)
{
	(void)state;
	struct sl_buf csv[3] = {SL_BUF_INIT, SL_BUF_INIT, SL_BUF_INIT};
	struct sl_place_report r[3];

	for (int t = 0; t < 3; t++) {
		struct sl_place_config config = {
			.capacity_bytes = HARD_LOAD, .threads = t + 1};

		sl_assert_ok(sl_place_file(HARD, &config, &r[t], &csv[t], NULL));
		assert_true(r[t].valid);
		assert_int_equal(r[t].height_bytes, HARD_LOAD);
		assert_int_equal(r[t].nodes, r[0].nodes);
		assert_string_equal(sl_buf_text(&csv[t]), sl_buf_text(&csv[0]));
	}
	assert_true(r[0].nodes > 0);
	for (int t = 0; t < 3; t++)
		sl_buf_finish(&csv[t]);
}

static void without_a_capacity_the_load_is_reached_too(void **state)
{
	(void)state;
	struct sl_place_config config = {.threads = 1};
	struct sl_place_report r;

	sl_assert_ok(sl_place_file(HARD, &config, &r, NULL, NULL));
	assert_int_equal(r.height_bytes, HARD_LOAD);
	assert_int_equal(r.bound_bytes, HARD_LOAD);
}

/* The load is 8, but all three want to begin at a multiple of 4, and nothing ends there
 * but a. */
static const char proof[] = "id,lower,upper,size,alignment\n"
			    "a,0,3,4,4\nb,0,3,3,4\nc,0,3,1,8\n";

static void what_no_placement_meets_is_called_impossible(void **state)
{
	(void)state;
	const char *path = sl_test_path("proof.csv");
	struct sl_place_config config = {.capacity_bytes = 8};
	struct sl_place_report r;

	sl_assert_ok(sl_fs_write(path, proof, strlen(proof)));
	sl_assert_fails(sl_place_file(path, &config, &r, NULL, NULL), SL_E_NO,
		"a search of all placements found none");
	assert_int_equal(r.bound_bytes, 9);
	config.capacity_bytes = 9;
	sl_assert_ok(sl_place_file(path, &config, &r, NULL, NULL));
	assert_int_equal(r.height_bytes, 9);
}

static bool at_once(void *ctx)
{
	++*(int *)ctx;
	return true;
}

static void an_interrupted_search_gives_the_best_so_far(void **state)
{
	(void)state;
	int asked = 0;
	struct sl_place_config config = {
		.capacity_bytes = HARD_LOAD, .stop = at_once, .ctx = &asked};
	struct sl_place_config check = {.validate = true};
	const char *path = sl_test_path("part.csv");
	struct sl_buf csv = SL_BUF_INIT;
	struct sl_place_report r;

	sl_assert_fails(sl_place_file(HARD, &config, &r, &csv, NULL), SL_E_INTERRUPTED,
		"the lowest placement found");
	assert_true(asked > 0 && r.interrupted && !r.valid);
	sl_assert_ok(sl_fs_write(path, sl_buf_text(&csv), csv.len));
	sl_assert_ok(sl_place_file(path, &check, &r, NULL, NULL));
	assert_true(r.height_bytes > HARD_LOAD);
	sl_buf_finish(&csv);
}

static sl_status prove(void *path)
{
	struct sl_place_config config = {.capacity_bytes = 8, .threads = 2};
	struct sl_place_report r;
	sl_status st = sl_place_file(path, &config, &r, NULL, NULL);

	return st == SL_E_NO ? SL_OK : st;
}

static void a_race_survives_every_failing_allocation(void **state)
{
	(void)state;
	char path[512];

	snprintf(path, sizeof(path), "%s", sl_test_path("proof.csv"));
	sl_assert_ok(sl_fs_write(path, proof, strlen(proof)));
	assert_true(sl_torture(prove, path) >= 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SL_TEST(a_hard_table_is_placed_at_its_load_by_any_threads),
		SL_TEST(without_a_capacity_the_load_is_reached_too),
		SL_TEST(what_no_placement_meets_is_called_impossible),
		SL_TEST(an_interrupted_search_gives_the_best_so_far),
		SL_TEST(a_race_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
