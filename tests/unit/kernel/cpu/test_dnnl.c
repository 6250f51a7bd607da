/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "harness/kernel_case.h"
#include "kernel/cpu/dnnl.h"
#include "kernel/cpu/gemm_tile.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_matmul;

static const struct sl_matmul_attr plain;

static void make(struct sl_case *k, int64_t size)
{
	const struct sl_shape in[] = {
		SL_SHAPE(size, size), SL_SHAPE(size, size), {.rank = SL_CASE_NONE}};

	sl_case_init(k, &sl_op_matmul, &plain, in, 3);
}

static const char *selected(int64_t size)
{
	struct sl_case k;

	make(&k, size);
	const char *name = sl_kernel_select(&k.node)->name;
	sl_case_finish(&k);
	return name;
}

/* What a process sees whose libdnnl.so.2 is no library: run again by the test below. */
static int without_library(void)
{
	const char *own = sl_tile_is_here() ? "packed_any" : sl_kernel_ref.name;
	bool ok = sl_dnnl() == NULL && strcmp(sl_dnnl_version(), "") == 0 &&
		  strcmp(selected(200), own) == 0 &&
		  strcmp(selected(20), "gemm_small") == 0;

	sl_kernel_set_width(1);
	return ok ? 0 : 1;
}

static void a_missing_library_leaves_our_own_kernels(void **state)
{
	char self[4096];
	char folder[4096];
	int status = -1;

	(void)state;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_in_range(n, 1, sizeof(self) - 2);
	self[n] = '\0';
	snprintf(folder, sizeof(folder), "%s", sl_test_path(""));
	sl_assert_ok(sl_fs_write(sl_test_path("libdnnl.so.2"), "none", 4));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("LD_LIBRARY_PATH", folder, 1);
		execl(self, self, "without", (char *)NULL);
		_exit(3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void need_library(void)
{
	if (!sl_dnnl())
		sl_test_skip("libdnnl.so.2 is not installed");
}

static void the_library_tells_its_version(void **state)
{
	(void)state;
	need_library();
	assert_int_equal(strncmp(sl_dnnl_version(), "2.", 2), 0);
}

static void selection_takes_the_kernel_for_the_size(void **state)
{
	(void)state;
	need_library();
	assert_string_equal(selected(200), "dnnl_matmul");
	assert_string_equal(selected(20), "gemm_small");
	assert_string_equal(selected(1), "gemv");
}

static void a_failure_of_the_library_becomes_a_status(void **state)
{
	(void)state;
	need_library();
	sl_assert_ok(sl_dnnl_status(dnnl_success, "thinking"));
	sl_assert_fails(
		sl_dnnl_status(dnnl_out_of_memory, "thinking"), SL_E_NOMEM, "thinking");
	sl_assert_fails(sl_dnnl_status(dnnl_unimplemented, "thinking"), SL_E_UNSUPPORTED,
		"libdnnl2");
}

static void preparing_leaves_the_thread_count_alone(void **state)
{
	(void)state;
	need_library();
	int before = sl_dnnl()->omp_get_max_threads();
	int restore = sl_dnnl_begin(before + 3);
	assert_int_equal(sl_dnnl()->omp_get_max_threads(), before + 3);
	sl_dnnl_end(restore);
	assert_int_equal(sl_dnnl()->omp_get_max_threads(), before);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		/* First: a child of a process with OpenMP threads could not run. */
		SL_TEST(a_missing_library_leaves_our_own_kernels),
		SL_TEST(the_library_tells_its_version),
		SL_TEST(selection_takes_the_kernel_for_the_size),
		SL_TEST(a_failure_of_the_library_becomes_a_status),
		SL_TEST(preparing_leaves_the_thread_count_alone),
	};

	if (argc == 2 && strcmp(argv[1], "without") == 0)
		return without_library();
	return sl_test_run(tests, SL_COUNT(tests));
}
