/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one kind become files of another: kinds by name and by content, and whatever
 * fails on the way. */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "memory/foreign/foreign.h"
#include "sluice/memory.h"

static const char trace[] =
	"trace 1\njob 0 name=t iterations=0\n"
	"value v0 bytes=4096 class=param name=w\nvalue v1 bytes=64 class=act name=a\n"
	"op 0 kind=f dur_ns=7 workspace=128 in=v0 out=v1\n"
	"op 1 kind=u dur_ns=5 in=v1 mutates=v0\n";

/* Paths live until the fourth next call: copies. */
static const char *path_of(const char *name, char path[512])
{
	(void)snprintf(path, 512, "%s", sl_test_path(name));
	return path;
}

static void every_kind_is_written_by_its_name_and_told_by_its_content(void **state)
{
	static const struct {
		const char *name, *kind;
		uint64_t ops_ns;
	} files[] = {{"x.trace", "trace", 12}, {"x.kernels.csv", "g10", 12},
		{"x.log", "dtr", 12}, {"x.jsonl", "dtr", 12}, {"x.csv", "buffers", 2}};
	char in[512], out[512], back[512];

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("in.trace", in), trace, strlen(trace)));
	for (size_t i = 0; i < SL_COUNT(files); i++) {
		struct sl_convert_config config = {
			.in = in, .out = path_of(files[i].name, out)};
		struct sl_convert_report r;

		sl_assert_ok(sl_convert_file(&config, NULL, &r));
		assert_string_equal(r.from, "trace");
		assert_string_equal(r.to, files[i].kind);
		config = (struct sl_convert_config){
			.in = out, .out = path_of("back.trace", back)};
		sl_assert_ok(sl_convert_file(&config, NULL, &r));
		assert_string_equal(r.from, files[i].kind);
		assert_int_equal(r.ops_ns, files[i].ops_ns);
		assert_int_equal(r.live_peak_bytes, 4096 + 64 + 128);
	}
	assert_int_equal(access(sl_test_path("x.tensors.csv"), F_OK), 0);
}

static void options_name_kinds_and_a_pair_needs_a_file(void **state)
{
	char in[512], out[512];
	struct sl_convert_report r;
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("in.trace", in), trace, strlen(trace)));
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .to = "elf"}, &text, &r),
		SL_E_USAGE, "--to: no trace is of kind 'elf'");
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .from = "x"}, &text, &r),
		SL_E_USAGE, "--from");
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .to = "g10"}, &text, &r),
		SL_E_USAGE, "two files");
	sl_assert_fails(sl_convert_file(&(struct sl_convert_config){.in = in,
						.out = path_of("y.csv", out),
						.to = "g10"},
				NULL, &r),
		SL_E_FORMAT, "y.csv: a trace of kernels and tensors is two files");
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .from = "dtr"}, &text, &r),
		SL_E_FORMAT, "in.trace:1: no object");
	assert_int_equal(text.len, 0);
	sl_assert_ok(sl_convert_file(
		&(struct sl_convert_config){.in = in, .to = "buffers"}, &text, &r));
	assert_string_equal(sl_buf_text(&text),
		"id,lower,upper,size,alignment\nv0,0,2,4096,1\nv1,0,2,64,1\n"
		"w0,0,1,128,1\n");
	sl_buf_finish(&text);
}

static void an_input_is_never_written_over(void **state)
{
	char in[512], link_to[512], kernels[512], tensors[512];
	struct sl_buf text = SL_BUF_INIT;
	struct sl_convert_report r;

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("own.trace", in), trace, strlen(trace)));
	assert_int_equal(link(in, path_of("link.trace", link_to)), 0);
	sl_assert_fails(sl_convert_file(&(struct sl_convert_config){.in = in, .out = in},
				NULL, &r),
		SL_E_USAGE, "own.trace would be written over");
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .out = link_to}, NULL, &r),
		SL_E_USAGE, "own.trace would be written over");
	sl_assert_ok(sl_convert_file(&(struct sl_convert_config){.in = in,
					     .out = path_of("o.kernels.csv", kernels)},
		NULL, &r));
	sl_assert_fails(sl_convert_file(&(struct sl_convert_config){.in = kernels,
						.out = path_of("o.tensors.csv", tensors)},
				NULL, &r),
		SL_E_USAGE, "o.tensors.csv would be written over");
	sl_assert_ok(sl_fs_read(in, 1 << 20, &text));
	assert_string_equal(sl_buf_text(&text), trace);
	sl_buf_finish(&text);
}

static void a_byte_order_mark_is_passed_over(void **state)
{
	static const char *const names[] = {"m.trace", "m.log", "m.csv"};
	char in[512], plain[512], marked[512];
	struct sl_convert_report r;

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("in.trace", in), trace, strlen(trace)));
	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct sl_buf text = SL_BUF_INIT;

		sl_assert_ok(sl_convert_file(&(struct sl_convert_config){.in = in,
						     .out = path_of(names[i], plain)},
			NULL, &r));
		sl_assert_ok(sl_buf_printf(&text, "\xef\xbb\xbf"));
		sl_assert_ok(sl_fs_read(plain, 1 << 20, &text));
		sl_assert_ok(sl_fs_write(
			path_of("marked", marked), sl_buf_text(&text), text.len));
		sl_assert_ok(sl_convert_file(&(struct sl_convert_config){.in = marked,
						     .out = path_of("back.trace", plain)},
			NULL, &r));
		assert_int_equal(r.live_peak_bytes, 4096 + 64 + 128);
		sl_buf_finish(&text);
	}
}

static void a_pair_is_written_whole_or_not_at_all(void **state)
{
	struct sl_convert_report r;
	struct sl_buf text = SL_BUF_INIT;
	char in[512], kernels[512], tensors[512];

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("in.trace", in), trace, strlen(trace)));
	sl_assert_ok(sl_fs_write(path_of("old.tensors.csv", tensors), "old", 3));
	assert_int_equal(mkdir(path_of("old.kernels.csv", kernels), 0700), 0);
	sl_assert_fails(
		sl_convert_file(
			&(struct sl_convert_config){.in = in, .out = kernels}, NULL, &r),
		SL_E_WRITE, "old.kernels.csv: exists and is not a regular file");
	sl_assert_ok(sl_fs_read(tensors, 100, &text));
	assert_string_equal(sl_buf_text(&text), "old");
	assert_int_equal(rmdir(kernels), 0);
	sl_buf_finish(&text);
}

/* There and back by way of the pair. */
static sl_status by_way_of_a_pair(void *ctx)
{
	struct sl_convert_report r;

	(void)ctx;
	SL_TRY(sl_convert_file(&(struct sl_convert_config){.in = sl_test_path("in.trace"),
				       .out = sl_test_path("p.kernels.csv")},
		NULL, &r));
	return sl_convert_file(
		&(struct sl_convert_config){.in = sl_test_path("p.kernels.csv"),
			.out = sl_test_path("q.log")},
		NULL, &r);
}

static void memory_and_system_calls_may_fail_anywhere(void **state)
{
	char in[512];

	(void)state;
	sl_assert_ok(sl_fs_write(path_of("in.trace", in), trace, strlen(trace)));
	assert_true(sl_torture(by_way_of_a_pair, NULL) > 20);
	assert_true(sl_torture_fs(by_way_of_a_pair, NULL, 5) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_kind_is_written_by_its_name_and_told_by_its_content),
		SL_TEST(options_name_kinds_and_a_pair_needs_a_file),
		SL_TEST(an_input_is_never_written_over),
		SL_TEST(a_byte_order_mark_is_passed_over),
		SL_TEST(a_pair_is_written_whole_or_not_at_all),
		SL_TEST(memory_and_system_calls_may_fail_anywhere),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
