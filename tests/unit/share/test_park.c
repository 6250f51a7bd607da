/* SPDX-License-Identifier: Apache-2.0 */
/* Parking: who moves away for whom, and that nobody chases anybody. */
#include "world.h"

#include <string.h>

/* What was decided and reported, a letter a step: a job's number after it. */
static void assert_steps(const struct world *w, size_t from, const char *want)
{
	static const char letters[SL_STEP_KINDS] = {[SL_STEP_ARRIVE] = 'N',
		[SL_STEP_END] = 'E',
		[SL_STEP_PARKED] = 'P',
		[SL_STEP_ADMIT] = 'A',
		[SL_STEP_RUN] = 'R',
		[SL_STEP_PARK] = 'p'};
	struct sl_buf is = SL_BUF_INIT;
	uint32_t runs = SL_JOB_NONE;

	for (size_t i = from; i < w->d.log.n; i++) {
		const struct sl_step *s = &w->d.log.steps[i];

		if (letters[s->kind] == 0 || (s->kind == SL_STEP_RUN && s->job == runs))
			continue;
		if (s->kind == SL_STEP_RUN)
			runs = s->job;
		sl_assert_ok(sl_buf_printf(
			&is, "%s%c%u", is.len > 0 ? " " : "", letters[s->kind], s->job));
	}
	assert_string_equal(sl_buf_text(&is), want);
	sl_buf_finish(&is);
}

static void three_jobs_that_fit_two_at_a_time_take_turns_in_residence(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "fair", 22, 4, 0);
	w.move = 1;
	for (int i = 0; i < 3; i++)
		world_job(&w, 10, 2, 8, SL_JOB_PRIORITY);
	while (w.d.s.n > 0 && w.now < 100)
		world_step(&w);
	/* 0 and 1 share until 0 has had its quantum of four and 2 comes in, level with
	 * the least served; then 1 has had one too, and so on. */
	assert_steps(&w, 0,
		"N0 A0 R0 N1 A1 N2 R1 R0 R1 R0 R1 R0 p0 R1 P0 A2 p1 R2 P1 A0 R0 R2 R0 R2 "
		"R0 R2 p2 R0 E0 A1 R1 P2 A2 E1 R2 E2");
	world_close(&w);
}

static void a_more_important_job_is_in_within_one_turn_and_the_move(void **state)
{
	static const char *const names[] = {"fair", "rr", "srtf", "fifo", "pack"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct world w;
		uint32_t id;

		world_open(&w, names[i], 22, 1000, 0);
		w.move = 3;
		world_job(&w, 10, 2, 500, SL_JOB_PRIORITY);
		world_job(&w, 10, 2, 600, SL_JOB_PRIORITY);
		for (int k = 0; k < 7; k++)
			world_step(&w);
		id = world_job(&w, 15, 3, 5, 1);
		for (int k = 0; k < 12 && w.first[id] < 0; k++)
			world_step(&w);
		assert_in_range(w.first[id], 8, 7 + 1 + 3 + 1);
		while (w.d.s.n > 0 && w.now < 2000)
			world_step(&w);
		assert_int_equal(w.d.s.n, 0);
		world_close(&w);
	}
}

static void one_victim_is_taken_where_one_is_enough(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "pack", 40, 1000, 0);
	world_job(&w, 2, 3, 500, 15);
	world_job(&w, 9, 3, 500, 20);
	world_job(&w, 5, 3, 500, 20);
	world_step(&w);
	world_job(&w, 7, 3, 5, 1); /* needs 10; there are 15: nobody */
	assert_int_equal(world_count(&w, SL_STEP_PARK), 0);
	world_job(&w, 8, 3, 5, 1); /* 5 are left: of the last rank the smaller */
	for (int i = 0; i < 4; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 1);
	assert_true(sl_share_find(&w.d.s, 2)->parked);
	world_close(&w);
}

static void nobody_moves_where_all_together_would_not_do(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "pack", 30, 1000, 0);
	world_job(&w, 5, 5, 500, 1);
	world_job(&w, 5, 5, 500, 20);
	world_step(&w);
	world_job(&w, 16, 10, 5, 2); /* only job 1 may go for it */
	for (int i = 0; i < 4; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 0);
	world_close(&w);
}

static void two_jobs_never_chase_each_other_without_service_between(void **state)
{
	static const char *const names[] = {"fair", "rr", "srtf"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct world w;
		sl_ns had = 0;

		world_open(&w, names[i], 12, 5, 0);
		w.move = 2;
		world_job(&w, 10, 2, 50, SL_JOB_PRIORITY);
		world_job(&w, 10, 2, 40, SL_JOB_PRIORITY);
		while (w.d.s.n > 0 && w.now < 400)
			world_step(&w);
		assert_int_equal(w.d.s.n, 0);
		/* Moves of fair and rr are a quantum apart; srtf does it once. */
		assert_in_range(world_count(&w, SL_STEP_PARK), 1, i < 2 ? 90 / 5 : 1);
		for (size_t k = 0; k < w.d.log.n; k++) {
			const struct sl_step *s = &w.d.log.steps[k];

			had += s->used_ns;
			if (s->kind == SL_STEP_PARK && i < 2) {
				assert_true(had >= 5);
				had = 0;
			}
		}
		world_close(&w);
	}
}

static void moving_slowly_makes_stays_longer(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "fair", 12, 5, 0);
	/* Away and back 2 x 10 bytes at 10^9 a second: 20 ns, and 20 of them 400. */
	w.d.s.rules.park_bytes_per_s = w.d.log.rules.park_bytes_per_s = 1000000000;
	world_job(&w, 10, 2, 900, SL_JOB_PRIORITY);
	world_job(&w, 10, 2, 900, SL_JOB_PRIORITY);
	for (int i = 0; i < 399; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 0);
	world_step(&w);
	world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 1);
	world_close(&w);
}

static void how_long_moves_take_is_learnt_from_them(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "fair", 12, 5, 0);
	w.d.s.rules.park_bytes_per_s = w.d.log.rules.park_bytes_per_s = 0;
	w.move = 3;
	world_job(&w, 10, 2, 900, SL_JOB_PRIORITY);
	world_job(&w, 10, 2, 900, SL_JOB_PRIORITY);
	for (int i = 0; i < 9; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARKED), 1);
	/* Three for ten bytes, so six away and back, and 20 times that: 120. */
	for (int i = 0; i < 115; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 1);
	for (int i = 0; i < 10; i++)
		world_step(&w);
	assert_int_equal(world_count(&w, SL_STEP_PARK), 2);
	world_close(&w);
}

/* All declare far too little. */
static void srtf_does_not_move_liars_to_and_fro(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "srtf", 12, 20, 0);
	w.move = 1;
	for (uint32_t i = 0; i < 3; i++) {
		world_job(&w, 10, 2, 2, SL_JOB_PRIORITY);
		w.left[i] = 100;
	}
	while (w.d.s.n > 0 && w.now < 1000)
		world_step(&w);
	assert_int_equal(w.d.s.n, 0);
	assert_true(world_count(&w, SL_STEP_PARK) <= 300 / 20);
	world_close(&w);
}

static void a_paused_resident_moves_for_anybody(void **state)
{
	static const char *const names[] = {"fair", "rr", "srtf", "fifo", "pack"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct world w;

		world_open(&w, names[i], 12, 1000, 0);
		world_job(&w, 10, 2, 50, SL_JOB_PRIORITY);
		world_step(&w);
		desk_event(&w.d, says(SL_STEP_HOLD, w.now, 0));
		world_step(&w);
		assert_int_equal(world_count(&w, SL_STEP_PARK), 0);
		world_job(&w, 10, 2, 50, SL_JOB_PRIORITY);
		for (int k = 0; k < 3; k++)
			world_step(&w);
		assert_true(sl_share_find(&w.d.s, 0)->parked);
		assert_true(sl_share_find(&w.d.s, 1)->running);
		desk_event(&w.d, says(SL_STEP_RELEASE, w.now, 0));
		while (w.d.s.n > 0 && w.now < 300)
			world_step(&w);
		assert_int_equal(w.d.s.n, 0);
		world_close(&w);
	}
}

static void who_comes_back_goes_on_from_its_own_level(void **state)
{
	struct desk d;

	(void)state;
	desk_open_parking(&d, "fair", 12, 4, (uint64_t)1 << 60);
	desk_event(&d, arrives(0, 0, 10, 2, 50));
	desk_event(&d, arrives(0, 1, 10, 2, 50));
	desk_event(&d, reports(SL_STEP_TURN, 6, 0, 6)); /* asked to move */
	desk_event(&d, says(SL_STEP_PARKED, 7, 0));
	assert_int_equal(d.s.lanes.items[0].holder, 1);
	assert_int_equal(sl_share_find(&d.s, 1)->level, 6);
	desk_event(&d, reports(SL_STEP_TURN, 12, 1, 5));
	desk_event(&d, says(SL_STEP_PARKED, 13, 1));
	assert_int_equal(d.s.lanes.items[0].holder, 0);
	assert_int_equal(sl_share_find(&d.s, 0)->level, 6);
	assert_int_equal(sl_share_find(&d.s, 0)->attained_ns, 6);
	assert_int_equal(sl_share_find(&d.s, 1)->level, 11);
	desk_close(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(three_jobs_that_fit_two_at_a_time_take_turns_in_residence),
		SL_TEST(a_more_important_job_is_in_within_one_turn_and_the_move),
		SL_TEST(one_victim_is_taken_where_one_is_enough),
		SL_TEST(nobody_moves_where_all_together_would_not_do),
		SL_TEST(two_jobs_never_chase_each_other_without_service_between),
		SL_TEST(moving_slowly_makes_stays_longer),
		SL_TEST(how_long_moves_take_is_learnt_from_them),
		SL_TEST(srtf_does_not_move_liars_to_and_fro),
		SL_TEST(a_paused_resident_moves_for_anybody),
		SL_TEST(who_comes_back_goes_on_from_its_own_level),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
