/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody waits beyond A + R + M, whoever comes later; with and without parking. */
#include "world.h"

#define WAIT 300 /* A */
#define SHORT 10

/* A first job, then a long one, then for ever short ones that fill the device alone. */
static void run_stream(struct world *w, uint64_t long_p, bool urgent)
{
	uint32_t shorts = 0;

	world_job(w, 1, 5, 12, SL_JOB_PRIORITY);
	world_step(w);
	world_job(w, long_p, 5, 100, SL_JOB_PRIORITY);
	while (w->now < 1600) {
		if (w->now >= 2 + (sl_ns)shorts * SHORT && w->jobs < 150) {
			world_job(w, urgent ? 1 : 4, 5, SHORT, urgent ? 5 : 20);
			shorts++;
		}
		world_step(w);
	}
}

static void the_long_job_begins_within_the_bound(void **state)
{
	(void)state;
	for (int how = 0; how < 8; how++)
		for (size_t i = 0; sl_job_policy_at(i); i++) {
			const char *name = sl_job_policy_at(i)->name;
			sl_ns quantum = how % 4 / 2 * 25, move = how / 4 * 3;
			struct world w;

			world_open(&w, name, 14, quantum, WAIT);
			w.move = move;
			run_stream(&w, how % 2 ? 8 : 1, how % 2 == 0);
			/* R: two residents of at most 12; M: the moves of both. */
			if (w.first[1] < 0 || w.first[1] - 1 > WAIT + 2 * 12 + 2 * move)
				fail_msg("%s, %d: begins at %d", name, how,
					(int)w.first[1]);
			world_close(&w);
		}
}

/* Two that need all of the device, and newcomers that are always level with the least. */
static void who_is_parked_comes_back_within_the_bound(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world w;
		sl_ns away = -1, longest = 0;

		world_open(&w, i ? "rr" : "fair", 14, 20, WAIT);
		w.move = 2;
		world_job(&w, 12, 2, 400, SL_JOB_PRIORITY);
		while (w.now < 1500) {
			const struct sl_job *j;

			if (w.now % 15 == 1)
				world_job(&w, 9, 3, 15, SL_JOB_PRIORITY);
			world_step(&w);
			j = sl_share_find(&w.d.s, 0);
			if (j && j->running)
				away = w.now;
			if (j && w.now - away > longest)
				longest = w.now - away;
		}
		assert_in_range(longest, 10, WAIT + 15 + 20 + 3 * 2);
		assert_true(w.d.s.jobs[0]->id > 0 || w.left[0] < 200);
		world_close(&w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_long_job_begins_within_the_bound),
		SL_TEST(who_is_parked_comes_back_within_the_bound),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
