/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels compiled by NVRTC, which needs no card; skipped where it is not installed. */
#include "harness/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "device/cuda/cuda_int.h"

static const struct sl_cuda_header headers[] = {
	{"some/scale.cuh", "#define FACTOR 3.0f\n"}};
static const struct sl_cuda_unit good = {.name = "good.cu",
	.source = "#include \"some/scale.cuh\"\n"
		  "extern \"C\" __global__ void sl_good(float *x)\n"
		  "{ x[threadIdx.x] *= FACTOR; }\n"};
static const struct sl_cuda_unit bad = {.name = "bad.cu",
	.source = "extern \"C\" __global__ void sl_bad() { wrong(); }\n"};
static const struct sl_cuda_image image = {
	.units = &good, .headers = headers, .n_units = 1, .n_headers = 1};

static void want_nvrtc(void)
{
	const char *what = NULL;
	void *lib = NULL;

	if (!sl_cuda_library_open("libnvrtc.so.13", &lib, &what) &&
		!sl_cuda_library_open("libnvrtc.so.12", &lib, &what))
		sl_test_skip("NVRTC is not installed");
}

static void want_elf(const struct sl_cuda_code *code)
{
	assert_true(code->bytes > 4);
	assert_memory_equal(code->data, "\177ELF", 4);
}

static void a_unit_becomes_code_for_the_card(void **state)
{
	struct sl_cuda_code a = {0}, b = {0};

	(void)state;
	want_nvrtc();
	sl_assert_ok(sl_cuda_compile(80, &image, &good, &a));
	sl_assert_ok(sl_cuda_compile(90, &image, &good, &b));
	want_elf(&a);
	want_elf(&b);
	assert_true(a.bytes != b.bytes || memcmp(a.data, b.data, a.bytes) != 0);
	sl_free(a.data);
	sl_free(b.data);
}

static void the_compilers_words_are_the_message(void **state)
{
	struct sl_cuda_code code = {0};

	(void)state;
	want_nvrtc();
	sl_assert_fails(sl_cuda_compile(80, &image, &bad, &code), SL_E_UNSUPPORTED,
		"\"wrong\" is undefined");
	sl_assert_fails(sl_cuda_compile(1, &image, &good, &code), SL_E_UNSUPPORTED,
		"good.cu does not compile");
	assert_null(code.data);
}

static sl_status compile_once(void *ctx)
{
	struct sl_cuda_code code = {0};
	sl_status st = sl_cuda_compile(80, &image, &good, &code);

	(void)ctx;
	sl_free(code.data);
	return st;
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
	(void)state;
	want_nvrtc();
	assert_true(sl_torture(compile_once, NULL) >= 2);
}

static void put_into_each_file(const char *text)
{
	const char *folder = sl_test_path("cache/sluice");
	DIR *dir = opendir(folder);
	char path[600];
	int n = 0;

	assert_non_null(dir);
	for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		sl_assert_ok(sl_fs_write(path, text, strlen(text)));
		n++;
	}
	(void)closedir(dir);
	assert_int_equal(n, 1);
}

static void code_is_kept_until_a_source_changes(void **state)
{
	static const struct sl_cuda_header others[] = {
		{"some/scale.cuh", "#define FACTOR 5.0f\n"}};
	struct sl_cuda_image other = image;
	struct sl_cuda_code a = {0}, b = {0}, c = {0};

	(void)state;
	want_nvrtc();
	(void)setenv("XDG_CACHE_HOME", sl_test_path("cache"), 1);
	sl_assert_ok(sl_cuda_code_take(80, &image, &good, &a));
	want_elf(&a);
	put_into_each_file("kept");
	sl_assert_ok(sl_cuda_code_take(80, &image, &good, &b));
	assert_int_equal(b.bytes, 4);
	assert_memory_equal(b.data, "kept", 4);
	other.headers = others;
	sl_assert_ok(sl_cuda_code_take(80, &other, &good, &c));
	want_elf(&c);
	sl_free(b.data);
	sl_cuda_code_drop(80, &image, &good);
	sl_assert_ok(sl_cuda_code_take(80, &image, &good, &b));
	want_elf(&b);
	sl_free(a.data);
	sl_free(b.data);
	sl_free(c.data);
}

/* Where neither can be made the message is the compiler's, not the cache's. */
static void without_a_place_to_keep_it_code_is_made_each_time(void **state)
{
	struct sl_cuda_code a = {0};

	(void)state;
	want_nvrtc();
	(void)setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	sl_assert_ok(sl_cuda_code_take(80, &image, &good, &a));
	want_elf(&a);
	sl_free(a.data);
}

/* To code, nvcc compiles them (tools/check-ptx). */
static void all_kernels_that_we_bring_are_in_its_language(void **state)
{
	struct sl_cuda_code none = {0};

	(void)state;
	want_nvrtc();
	for (size_t i = 0; i < sl_cuda_image.n_units; i++)
		sl_assert_ok(sl_cuda_compile(
			0, &sl_cuda_image, &sl_cuda_image.units[i], &none));
	sl_assert_fails(sl_cuda_compile(0, &image, &bad, &none), SL_E_UNSUPPORTED,
		"\"wrong\" is undefined");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_unit_becomes_code_for_the_card),
		SL_TEST(the_compilers_words_are_the_message),
		SL_TEST(every_failed_allocation_is_an_error_without_leak),
		SL_TEST(code_is_kept_until_a_source_changes),
		SL_TEST(without_a_place_to_keep_it_code_is_made_each_time),
		SL_TEST(all_kernels_that_we_bring_are_in_its_language),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
