/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator of kernels: right ones give their results, and each planted fault is told.
 */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/emulate/launch.h"

enum { BYTES = 16384, SEEDS = 40 };

/* Two pieces of live memory with nothing behind them. */
static float *memory_x, *memory_y;

static bool live(void *ctx, uintptr_t address, struct emu_range *out)
{
	size_t x_bytes = ctx != NULL ? *(const size_t *)ctx : BYTES;
	*out = (struct emu_range){(uintptr_t)memory_x, (uintptr_t)memory_x + x_bytes};
	if (address >= out->start && address < out->end)
		return true;
	*out = (struct emu_range){(uintptr_t)memory_y, (uintptr_t)memory_y + BYTES};
	return address >= out->start && address < out->end;
}

static void launch(struct emu_result *out, const char *name, struct emu_dim grid,
	struct emu_dim block, uint64_t seed, void *const *params)
{
	struct emu_launch l = {emu_find(name), grid, block, 0, params, seed, live, NULL};
	assert_non_null(l.entry);
	if (strcmp(name, "sl_sample_dynamic") == 0)
		l.dynamic_shared = (size_t)block.x * sizeof(float);
	emu_run(&l, out);
}

static void free_result(struct emu_result *r)
{
	emu_ranges_free(&r->reads);
	emu_ranges_free(&r->writes);
}

static void want_fine(const struct emu_result *r)
{
	if (r->fault != EMU_FINE)
		fail_msg("%s", r->text);
}

static void fill(void)
{
	for (size_t i = 0; i < BYTES / 4; i++) {
		memory_x[i] = (float)(i % 97);
		memory_y[i] = -1;
	}
}

static void element_wise_kernels_touch_exactly_their_elements(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct emu_result r;
		float *a = memory_x;
		float *b = memory_x + 1024;
		float *y = memory_y + 3;
		long long n = 777;
		fill();
		launch(&r, "sl_sample_add", (struct emu_dim){7, 1, 1},
			(struct emu_dim){128, 1, 1}, seed * 1237,
			(void *[]){&a, &b, &y, &n});
		want_fine(&r);
		for (int i = 0; i < n; i++)
			assert_true(y[i] == a[i] + b[i]);
		assert_int_equal(r.reads.count, 2);
		assert_int_equal(r.reads.at[0].start, (uintptr_t)a);
		assert_int_equal(r.reads.at[0].end, (uintptr_t)(a + n));
		assert_int_equal(r.reads.at[1].end, (uintptr_t)(b + n));
		assert_int_equal(r.writes.count, 1);
		assert_int_equal(r.writes.at[0].start, (uintptr_t)y);
		assert_int_equal(r.writes.at[0].end, (uintptr_t)(y + n));
		free_result(&r);
	}
}

static void bytes_and_halves_of_a_word_belong_to_threads_of_their_own(void **state)
{
	(void)state;
	struct emu_result r;
	unsigned char *x = (unsigned char *)memory_x;
	unsigned char *y = (unsigned char *)memory_y;
	int n = 1001;
	int by = 3;
	fill();
	launch(&r, "sl_sample_scale_bytes", (struct emu_dim){3, 1, 1},
		(struct emu_dim){32, 1, 1}, 5, (void *[]){&x, &y, &n, &by});
	want_fine(&r);
	for (int i = 0; i < n; i++)
		assert_int_equal(y[i], (unsigned char)(x[i] * 3));
	assert_int_equal(r.writes.at[0].end, (uintptr_t)y + 1001);
	free_result(&r);
	unsigned short *halves = (unsigned short *)memory_y;
	float *wide = memory_x;
	launch(&r, "sl_sample_halves", (struct emu_dim){1, 1, 1},
		(struct emu_dim){64, 1, 1}, 9, (void *[]){&halves, &wide});
	want_fine(&r);
	assert_true(memory_x[4 * 6] == 7 && memory_x[4 * 6 + 3] == 3);
	free_result(&r);
}

static void barriers_and_shuffles_bring_threads_together(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct emu_result r;
		float *x = memory_x;
		float *y = memory_y;
		int n = 300;
		fill();
		launch(&r, "sl_sample_sum", (struct emu_dim){1, 1, 1},
			(struct emu_dim){128, 1, 1}, seed, (void *[]){&x, &y, &n});
		want_fine(&r);
		float want = 0;
		for (int i = 0; i < n; i++)
			want += x[i];
		assert_true(y[0] == want);
		free_result(&r);
		launch(&r, "sl_sample_warp_sum", (struct emu_dim){5, 1, 1},
			(struct emu_dim){128, 1, 1}, seed * 771, (void *[]){&x, &y});
		want_fine(&r);
		for (int row = 0; row < 20; row++) {
			want = 0;
			for (int i = 0; i < 32; i++)
				want += x[row * 32 + i];
			assert_true(y[row] == want);
		}
		free_result(&r);
	}
}

static void tiles_and_dynamic_memory_are_the_block_s(void **state)
{
	(void)state;
	struct emu_result r;
	float *x = memory_x;
	float *y = memory_y;
	int n = 37;
	fill();
	launch(&r, "sl_sample_transpose", (struct emu_dim){3, 3, 1},
		(struct emu_dim){16, 16, 1}, 3, (void *[]){&x, &y, &n});
	want_fine(&r);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			assert_true(y[i * n + j] == x[j * n + i]);
	free_result(&r);
	launch(&r, "sl_sample_dynamic", (struct emu_dim){1, 1, 1},
		(struct emu_dim){96, 1, 1}, 3, (void *[]){&y});
	want_fine(&r);
	assert_true(y[0] == 95 && y[95] == 0);
	free_result(&r);
}

static void structs_pass_as_arguments(void **state)
{
	(void)state;
	struct {
		long long by[6];
		int n;
	} args = {{10, 20, 30, 40, 50, 60}, 5};
	struct emu_result r;
	long long *y = (long long *)memory_y;
	char c = 7;
	launch(&r, "sl_sample_struct", (struct emu_dim){1, 1, 1},
		(struct emu_dim){8, 1, 1}, 1, (void *[]){&args, &y, &c});
	want_fine(&r);
	assert_int_equal(y[4], 57);
	assert_int_equal(r.writes.at[0].end, (uintptr_t)(y + 5));
	free_result(&r);
	const struct emu_entry *e = emu_find("sl_sample_struct");
	assert_int_equal(e->count, 3);
	assert_int_equal(e->sizes[0], sizeof args);
	assert_true(e->is_pointer[1] && !e->is_pointer[0] && !e->is_pointer[2]);
	assert_null(emu_find("sl_no_such_kernel"));
}

static const struct {
	const char *name;
	struct emu_dim grid, block;
	int n; /* the second argument, where there is one */
	enum emu_fault fault;
	const char *part;
} faults[] = {
	{"sl_fault_no_barrier", {1, 1, 1}, {128, 1, 1}, 0, EMU_RACE, "shared byte"},
	{"sl_fault_no_warp_barrier", {1, 1, 1}, {32, 1, 1}, 0, EMU_RACE, "no barrier"},
	{"sl_fault_reuse", {1, 1, 1}, {64, 1, 1}, 0, EMU_RACE, "shared byte"},
	{"sl_fault_blocks", {2, 1, 1}, {32, 1, 1}, 0, EMU_RACE, "global byte"},
	{"sl_fault_read_blocks", {4, 1, 1}, {32, 1, 1}, 0, EMU_RACE, "global byte"},
	{"sl_fault_threads", {1, 1, 1}, {64, 1, 1}, 0, EMU_RACE, "writes global byte"},
	{"sl_fault_past_end", {1, 1, 1}, {1, 1, 1}, BYTES / 4, EMU_ADDRESS,
		"no live memory"},
	{"sl_fault_past_shared", {1, 1, 1}, {1, 1, 1}, 32, EMU_ADDRESS, "shared memory"},
	{"sl_fault_misaligned", {1, 1, 1}, {1, 1, 1}, 0, EMU_MISALIGNED, "misaligned"},
	{"sl_fault_left_barrier", {1, 1, 1}, {64, 1, 1}, 0, EMU_BARRIER, "wait for ever"},
	{"sl_fault_split_barrier", {1, 1, 1}, {64, 1, 1}, 0, EMU_BARRIER,
		"wait for ever"},
	{"sl_fault_lane_left", {1, 1, 1}, {64, 1, 1}, 0, EMU_BARRIER, "wait for ever"},
	{"sl_fault_unwritten", {1, 1, 1}, {64, 1, 1}, 0, EMU_UNWRITTEN,
		"no thread wrote"},
	{"sl_fault_too_much_shared", {1, 1, 1}, {64, 1, 1}, 0, EMU_LIMIT,
		"static shared memory"},
	{"sl_sample_add", {1, 1, 1}, {1025, 1, 1}, 0, EMU_LIMIT, "no such launch"},
	{"sl_sample_add", {1, 1, 1}, {32, 0, 1}, 0, EMU_LIMIT, "no such launch"},
};

static void each_planted_fault_is_told_under_every_seed(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(faults); i++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct emu_result r;
			float *y = memory_y;
			int n = faults[i].n;
			launch(&r, faults[i].name, faults[i].grid, faults[i].block,
				seed * 991, (void *[]){&y, &n, &y, &n});
			if (r.fault != faults[i].fault ||
				strstr(r.text, faults[i].part) == NULL ||
				strstr(r.text, faults[i].name) == NULL)
				fail_msg("%s, seed %d: fault %d: %s", faults[i].name,
					(int)seed, (int)r.fault, r.text);
			free_result(&r);
		}
	}
}

static void memory_ends_at_the_byte(void **state)
{
	(void)state;
	size_t bytes = 5003;
	float *x = memory_x;
	struct emu_result r;
	for (int n = 1250; n <= 1251; n++) {
		struct emu_launch l = {emu_find("sl_sample_read"), {1, 1, 1}, {1, 1, 1},
			0, (void *[]){&x, &n}, 1, live, &bytes};
		emu_run(&l, &r);
		assert_int_equal(r.fault, n == 1250 ? EMU_FINE : EMU_ADDRESS);
		free_result(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(element_wise_kernels_touch_exactly_their_elements),
		SL_TEST(bytes_and_halves_of_a_word_belong_to_threads_of_their_own),
		SL_TEST(barriers_and_shuffles_bring_threads_together),
		SL_TEST(tiles_and_dynamic_memory_are_the_block_s),
		SL_TEST(structs_pass_as_arguments),
		SL_TEST(each_planted_fault_is_told_under_every_seed),
		SL_TEST(memory_ends_at_the_byte),
	};
	memory_x = mmap(NULL, (size_t)4 * BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory_y = memory_x + 2 * BYTES / 4;
	return sl_test_run(tests, SL_COUNT(tests));
}
