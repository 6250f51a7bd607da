/* SPDX-License-Identifier: Apache-2.0 */
/* The address planner on tables: the public instances, fixed offsets, checks, bad
 * tables. */
#include "harness/harness.h"

#include <string.h>

#include "base/fs.h"
#include "sluice/memory.h"

static const char *write_table(const char *text)
{
	const char *path = sl_test_path("table.csv");

	sl_assert_ok(sl_fs_write(path, text, strlen(text)));
	return path;
}

static sl_status run_text(const char *text, const struct sl_place_config *config,
	struct sl_place_report *r, struct sl_buf *csv)
{
	return sl_place_file(write_table(text), config, r, csv, NULL);
}

struct instance {
	const char *path;
	uint64_t buffers, load;
	double most; /* height over load */
};

static const struct instance instances[] = {
	{"tests/corpus/place/A.1048576.csv", 154, 1048576, 1.10},
	{"tests/corpus/place/C.1048576.csv", 203, 1039360, 1.0},
	{"tests/corpus/place/input.12.csv", 5, 12, 1.0},
};

static void public_instances_are_placed_near_their_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(instances); i++) {
		const struct instance *x = &instances[i];
		struct sl_place_config config = {.fast = true},
				       check = {.validate = true};
		struct sl_place_report r, again;
		struct sl_buf csv = SL_BUF_INIT;

		sl_assert_ok(sl_place_file(x->path, &config, &r, &csv, NULL));
		assert_int_equal(r.buffers, x->buffers);
		assert_int_equal(r.load_bytes, x->load);
		assert_true((double)r.height_bytes <= x->most * (double)x->load);
		check.capacity_bytes = r.height_bytes;
		sl_assert_ok(run_text(sl_buf_text(&csv), &check, &again, NULL));
		assert_true(again.valid);
		assert_int_equal(again.height_bytes, r.height_bytes);
		sl_buf_finish(&csv);
	}
}

static void a_capacity_below_the_load_is_called_impossible(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(instances); i++) {
		struct sl_place_config config = {
			.fast = true, .capacity_bytes = instances[i].load - 1};
		struct sl_place_report r;

		sl_assert_fails(sl_place_file(instances[i].path, &config, &r, NULL, NULL),
			SL_E_NO, "impossible");
		assert_false(r.valid);
		assert_int_equal(r.load_bytes, instances[i].load);
		assert_true(r.height_bytes >= r.load_bytes);
	}
}

/* At its load A has a placement, which only an exact search finds. */
static void a_capacity_that_is_not_reached_is_called_not_found(void **state)
{
	(void)state;
	struct sl_place_config config = {
		.fast = true, .capacity_bytes = instances[0].load};
	struct sl_place_report r;

	sl_assert_fails(sl_place_file(instances[0].path, &config, &r, NULL, NULL),
		SL_E_NO, "one may exist");
}

/* What is found without a capacity is found with one: C at 1 MiB once was not. */
static void a_capacity_above_what_is_found_is_met(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(instances); i++) {
		struct sl_place_config config = {.fast = true};
		struct sl_place_report r;

		sl_assert_ok(sl_place_file(instances[i].path, &config, &r, NULL, NULL));
		config.capacity_bytes = r.height_bytes + r.height_bytes / 100;
		sl_assert_ok(sl_place_file(instances[i].path, &config, &r, NULL, NULL));
		assert_true(r.valid && r.height_bytes <= config.capacity_bytes);
	}
}

static void every_column_is_kept_and_the_offset_is_filled_in(void **state)
{
	(void)state;
	struct sl_place_config config = {.base_bytes = 100};
	struct sl_place_report r;
	struct sl_buf csv = SL_BUF_INIT;

	sl_assert_ok(run_text("size, note ,offset,id,lower,upper,alignment\r\n"
			      "10, hi ,,a,5,9,64\r\n"
			      "\r\n"
			      "20,,256,b,4611686018427387900,4611686018427387904,\r\n"
			      "30,,  ,c,8,10,1",
		&config, &r, &csv));
	assert_string_equal(sl_buf_text(&csv),
		"size, note ,offset,id,lower,upper,alignment\n"
		"10, hi ,192,a,5,9,64\n"
		"20,,256,b,4611686018427387900,4611686018427387904,\n"
		"30,,  100,c,8,10,1\n");
	assert_int_equal(r.fixed, 1);
	assert_int_equal(r.height_bytes, 276);
	sl_buf_clear(&csv);
	sl_assert_ok(run_text("id,lower,upper,size\nx,0,2,7\n", &config, &r, &csv));
	assert_string_equal(
		sl_buf_text(&csv), "id,lower,upper,size,offset\nx,0,2,7,100\n");
	sl_buf_finish(&csv);
}

/* Each of b and c fits into one of the gaps of a only. */
static void gaps_are_used_by_others(void **state)
{
	(void)state;
	static const char text[] = "id,lower,upper,size,gaps\n"
				   "a,0,9,10,2-4 5-7\nb,2,4,10,\nc,5,7,8,\nd,4,5,3,\n";
	static const char clash[] = "id,lower,upper,size,gaps,offset\n"
				    "a,0,9,10,2-4 5-7,0\nb,2,5,10,,0\n";
	struct sl_place_config config = {.capacity_bytes = 13},
			       check = {.validate = true};
	struct sl_place_report r;
	struct sl_buf csv = SL_BUF_INIT;

	sl_assert_ok(run_text(text, &config, &r, &csv));
	assert_int_equal(r.load_bytes, 13);
	assert_int_equal(r.height_bytes, 13);
	sl_assert_ok(run_text(sl_buf_text(&csv), &check, &r, NULL));
	sl_assert_fails(run_text(clash, &check, &r, NULL), SL_E_NO, "overlap");
	sl_buf_finish(&csv);
}

struct bad {
	const char *text, *part;
	sl_status st;
	bool validate;
	uint64_t capacity;
};

#define HEAD "id,lower,upper,size\n"
#define GAPS "gaps," HEAD
#define OFFSETS "id,lower,upper,size,offset,alignment\n"
static const struct bad bad_tables[] = {
	{"", "csv:0: the file is empty", SL_E_FORMAT, false, 0},
	{"\n\nid,lower,size\n", "csv:3: no column is called upper", SL_E_FORMAT, false,
		0},
	{"id,lower,upper,size,lower\n", "two columns are called lower", SL_E_FORMAT,
		false, 0},
	{HEAD "a,0,1\n", "csv:2: 3 fields", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,5,6\n", "csv:2: 5 fields", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,5\n\nb,-1,1,5\n", "csv:4: lower '-1'", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,\n", "csv:2: size ''", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,1e3\n", "size '1e3'", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,\x1b[31m\n", "size '?[31m'", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,4611686018427387905\n", "2^62", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,99999999999999999999999999999999999\n", "2^62", SL_E_FORMAT, false,
		0},
	{HEAD "a,5,5,1\n", "is not below upper", SL_E_FORMAT, false, 0},
	{HEAD "\"a,b\",0,1,1\n", "quotes", SL_E_FORMAT, false, 0},
	{HEAD ",0,1,1\n", "the id is empty", SL_E_FORMAT, false, 0},
	{HEAD "a,0,1,1\na,2,3,1\n", "csv:3: the id 'a' is taken by line 2", SL_E_FORMAT,
		false, 0},
	{HEAD "a,0,1,4611686018427387904\nb,0,1,4611686018427387904\nc,0,1,1\n",
		"csv:4: sizes", SL_E_LIMIT, false, 0},
	{GAPS "1-2@3:4,a,0,5,1\n", "csv:2: gaps", SL_E_FORMAT, false, 0},
	{GAPS "1-2 2,a,0,5,1\n", "csv:2: gaps '1-2 2'", SL_E_FORMAT, false, 0},
	{GAPS "2-3 1-2,a,0,5,1\n", "in order", SL_E_FORMAT, false, 0},
	{GAPS "2-2,a,0,5,1\n", "in order", SL_E_FORMAT, false, 0},
	{GAPS "4-6,a,0,5,1\n", "within the lifetime", SL_E_FORMAT, false, 0},
	{OFFSETS "a,0,1,4,,3\n", "alignment 3", SL_E_FORMAT, false, 0},
	{OFFSETS "a,0,1,4,2,4\n", "csv:2: 'a' lies at 2", SL_E_NO, false, 0},
	{OFFSETS "a,0,9,4,2,\nx,0,9,1,,\nb,8,9,4,5,\n", "fixed 'a' (line 2", SL_E_NO,
		false, 0},
	{OFFSETS "a,0,1,4,2,\n", "'a' ends at 6, above the capacity of 5", SL_E_NO, false,
		5},
	{OFFSETS "a,0,1,4,2,\nb,0,1,4,,\n", "csv:3: 'b' has no offset", SL_E_FORMAT, true,
		0},
	{OFFSETS "a,0,9,4,2,\nb,8,9,4,5,\n", "'b' (line 3", SL_E_NO, true, 0},
	{OFFSETS "a,0,1,4,2,\n", "above the capacity", SL_E_NO, true, 5},
	{HEAD "a,0,1,4\n", "no offset", SL_E_FORMAT, true, 0},
};

static void bad_tables_are_refused_with_their_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad_tables); i++) {
		const struct bad *b = &bad_tables[i];
		struct sl_place_config config = {
			.validate = b->validate, .capacity_bytes = b->capacity};
		struct sl_place_report r;

		sl_assert_fails(run_text(b->text, &config, &r, NULL), b->st, b->part);
		assert_false(r.valid);
	}
}

static void a_long_line_and_a_zero_byte_are_refused(void **state)
{
	(void)state;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_place_config config = {0};
	struct sl_place_report r;
	const char *path = sl_test_path("long.csv");

	sl_assert_ok(sl_buf_puts(&text, HEAD));
	for (int i = 0; i < 5000; i++)
		sl_assert_ok(sl_buf_puts(&text, "a"));
	sl_assert_fails(run_text(sl_buf_text(&text), &config, &r, NULL), SL_E_LIMIT,
		"csv:2: the line");
	sl_assert_ok(sl_fs_write(path, HEAD "a\0b,0,1,1\n", sizeof(HEAD) + 9));
	sl_assert_fails(
		sl_place_file(path, &config, &r, NULL, NULL), SL_E_FORMAT, "zero bytes");
	sl_assert_fails(sl_place_file(sl_test_path("none.csv"), &config, &r, NULL, NULL),
		SL_E_NOT_FOUND, "none.csv");
	sl_buf_finish(&text);
}

static void a_picture_has_a_box_for_each_buffer(void **state)
{
	(void)state;
	struct sl_place_config config = {.capacity_bytes = 20};
	struct sl_place_report r;
	struct sl_buf svg = SL_BUF_INIT;
	const char *path = write_table(HEAD "a<&>,0,5,4\nb,3,9,6\n"), *at;
	int boxes = 0;

	sl_assert_ok(sl_place_file(path, &config, &r, NULL, &svg));
	for (at = sl_buf_text(&svg); (at = strstr(at, "<title>")) != NULL; at++)
		boxes++;
	assert_int_equal(boxes, 2);
	assert_non_null(strstr(sl_buf_text(&svg), "a&lt;&amp;&gt;: 4 bytes"));
	assert_non_null(strstr(sl_buf_text(&svg), "capacity 20"));
	assert_non_null(strstr(sl_buf_text(&svg), "</svg>"));
	sl_buf_finish(&svg);
}

static sl_status place_all(void *ctx)
{
	struct sl_place_config config = {.fast = true}, check = {.validate = true};
	struct sl_place_report r;
	struct sl_buf csv = SL_BUF_INIT, svg = SL_BUF_INIT;
	sl_status st;

	SL_TRY_OUT(sl_place_file(ctx, &config, &r, &csv, &svg));
	SL_TRY_OUT(sl_place_file(ctx, &check, &r, NULL, NULL));
out:
	sl_buf_finish(&csv);
	sl_buf_finish(&svg);
	return st;
}

static void tables_survive_every_failing_allocation(void **state)
{
	(void)state;
	const char *path = write_table(OFFSETS "a,0,9,4,0,\nb,8,9,4,4,\nc,0,3,2,4,\n");

	assert_true(sl_torture(place_all, (void *)(uintptr_t)path) >= 15);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(public_instances_are_placed_near_their_load),
		SL_TEST(a_capacity_below_the_load_is_called_impossible),
		SL_TEST(a_capacity_that_is_not_reached_is_called_not_found),
		SL_TEST(a_capacity_above_what_is_found_is_met),
		SL_TEST(every_column_is_kept_and_the_offset_is_filled_in),
		SL_TEST(gaps_are_used_by_others),
		SL_TEST(bad_tables_are_refused_with_their_line),
		SL_TEST(a_long_line_and_a_zero_byte_are_refused),
		SL_TEST(a_picture_has_a_box_for_each_buffer),
		SL_TEST(tables_survive_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
