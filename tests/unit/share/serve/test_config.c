/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: where they are from, what is refused, and the file that comes with the
 * program. */
#include "share/serve/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/units.h"
#include "harness/harness.h"

static struct sl_serve_settings *with_file(const char *text)
{
	const char *path = sl_test_path("sluiced.conf");
	struct sl_serve_settings *s = NULL;

	sl_assert_ok(sl_fs_write(path, text, strlen(text)));
	sl_assert_ok(sl_serve_settings_create(&s));
	sl_assert_ok(sl_serve_settings_set(s, "config", path, SL_SERVE_FLAG));
	return s;
}

static void a_flag_wins_over_the_environment_that_over_the_file(void **state)
{
	struct sl_serve_settings *s = with_file(
		"# all\n budget = 1GiB\r\nmax-wait=5m\ngrace = 1s\n\nquantum=1s");
	const struct sl_serve_config *c;

	(void)state;
	setenv("SLUICED_GRACE", "2s", 1);
	setenv("SLUICED_QUANTUM", "2s", 1);
	sl_assert_ok(sl_serve_settings_set(s, "quantum", "250ms", SL_SERVE_FLAG));
	sl_assert_ok(sl_serve_settings_load(s));
	unsetenv("SLUICED_GRACE");
	unsetenv("SLUICED_QUANTUM");
	c = sl_serve_settings_config(s);
	assert_int_equal(c->capacity_bytes, 1 << 30);
	assert_int_equal(c->max_wait, (int64_t)300 * 1000000000);
	assert_int_equal(c->grace, (int64_t)2 * 1000000000);
	assert_int_equal(c->quantum, 250000000);
	assert_int_equal(
		sl_serve_settings_origin(s, SL_SETTING_grace), SL_SERVE_ENVIRONMENT);
	assert_int_equal(
		sl_serve_settings_origin(s, SL_SETTING_policy), SL_SERVE_DEFAULT);
	sl_serve_settings_destroy(s);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{"budget = 1GiB\nbudgets = 2\n", "sluiced.conf:2: there is no setting"},
		{"budget\n", "not key = value"},
		{"budget = 1GiB\ngrace = soon\n", "no time"}, {"", "--budget"},
		{"budget = 0%", "above 0%"}, {"budget = 101%", "100%"},
		{"budget = 12\n", "4096 bytes"},
		{"budget = 1GiB\npolicy = best", "'best'"},
		{"budget = 1GiB\ndevice = gpu", "'gpu'"},
		{"budget = 1GiB\nmetrics_port = 70000", "65535"},
		{"budget = 1GiB\nconfig = x", "no setting"}};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(rows); i++) {
		struct sl_serve_settings *s = with_file(rows[i].text);

		sl_assert_fails(sl_serve_settings_load(s), SL_E_USAGE, rows[i].part);
		sl_serve_settings_destroy(s);
	}
}

static void a_file_that_is_named_must_be_there(void **state)
{
	struct sl_serve_settings *s = NULL;

	(void)state;
	sl_assert_ok(sl_serve_settings_create(&s));
	sl_assert_ok(sl_serve_settings_set(s, "config", "/no/such", SL_SERVE_FLAG));
	sl_assert_fails(sl_serve_settings_load(s), SL_E_NOT_FOUND, "/no/such");
	sl_serve_settings_destroy(s);
}

static void a_file_that_is_wrong_when_read_again_changes_nothing(void **state)
{
	struct sl_serve_settings *s =
		with_file("budget = 1GiB\nturn_timeout = 3s\npolicy = srtf\n");
	const char *path = sl_test_path("sluiced.conf");
	const char *wrong = "turn_timeout = 4s\npolicy = none\n", *right = "grace = 9s\n";

	(void)state;
	sl_assert_ok(sl_serve_settings_load(s));
	sl_assert_ok(sl_fs_write(path, wrong, strlen(wrong)));
	sl_assert_fails(sl_serve_settings_reload(s), SL_E_USAGE, "'none'");
	assert_int_equal(sl_serve_settings_config(s)->turn_timeout, (int64_t)3000000000);
	sl_assert_ok(sl_fs_write(path, right, strlen(right)));
	sl_assert_ok(sl_serve_settings_reload(s));
	assert_int_equal(sl_serve_settings_config(s)->turn_timeout, (int64_t)10000000000);
	assert_int_equal(sl_serve_settings_config(s)->grace, (int64_t)9000000000);
	assert_string_equal(sl_serve_settings_config(s)->policy, "fair");
	assert_int_equal(sl_serve_settings_config(s)->capacity_bytes, 1 << 30);
	sl_serve_settings_destroy(s);
}

static void the_file_that_comes_with_it_names_each_setting_with_its_default(void **state)
{
	struct sl_serve_settings *s = NULL;
	struct sl_buf text = SL_BUF_INIT;
	const char *name, *standard;
	char line[128];

	(void)state;
	sl_assert_ok(sl_serve_settings_create(&s));
	sl_assert_ok(
		sl_serve_settings_set(s, "config", "etc/sluiced.conf", SL_SERVE_FLAG));
	sl_assert_ok(sl_serve_settings_load(s));
	sl_assert_ok(sl_fs_read("etc/sluiced.conf", 1 << 20, &text));
	for (size_t i = 0; (name = sl_serve_setting_at(i, NULL, &standard, NULL)) != NULL;
		i++) {
		if (strcmp(name, "config") == 0)
			continue;
		(void)snprintf(line, sizeof(line), "%s = %s", name, standard);
		if (!strstr(sl_buf_text(&text), line))
			fail_msg("etc/sluiced.conf lacks '%s'", line);
	}
	sl_buf_finish(&text);
	sl_serve_settings_destroy(s);
}

static sl_status loads(void *ctx)
{
	struct sl_serve_settings *s = NULL;
	struct sl_buf text = SL_BUF_INIT;
	sl_status st = sl_serve_settings_create(&s);

	if (st == SL_OK)
		st = sl_serve_settings_set(s, "config", ctx, SL_SERVE_FLAG);
	if (st == SL_OK)
		st = sl_serve_settings_load(s);
	if (st == SL_OK)
		st = sl_serve_settings_reload(s);
	if (st == SL_OK)
		st = sl_serve_settings_print(s, &text);
	sl_buf_finish(&text);
	sl_serve_settings_destroy(s);
	return st;
}

static void every_failed_allocation_ends_with_a_status(void **state)
{
	char path[512];

	(void)state;
	sl_serve_settings_destroy(with_file("budget = 1GiB\n"));
	(void)snprintf(path, sizeof(path), "%s", sl_test_path("sluiced.conf"));
	assert_true(sl_torture(loads, path) > 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_flag_wins_over_the_environment_that_over_the_file),
		SL_TEST(what_is_wrong_is_named_with_its_line),
		SL_TEST(a_file_that_is_named_must_be_there),
		SL_TEST(a_file_that_is_wrong_when_read_again_changes_nothing),
		SL_TEST(the_file_that_comes_with_it_names_each_setting_with_its_default),
		SL_TEST(every_failed_allocation_ends_with_a_status),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
