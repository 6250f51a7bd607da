/* SPDX-License-Identifier: Apache-2.0 */
/* Any decision of a log that is changed, left out or made twice is noticed. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static void make_log(struct world *w, const char *policy, uint64_t seed)
{
	struct sl_rng rng = {.key = {.seed = seed}};

	world_open(w, policy, 40, 6, 25);
	w->move = 2;
	for (int i = 0; i < 60 || w->d.s.n > 0; i++) {
		if (i < 40 && w->d.s.n < 6 && sl_rng_below(&rng, 3) == 0)
			world_job(w, 4 + sl_rng_below(&rng, 20), sl_rng_below(&rng, 12),
				1 + (sl_ns)sl_rng_below(&rng, 15),
				(int32_t)(20 - sl_rng_below(&rng, 6) / 5));
		world_step(w);
		assert_true(w->now < 2000);
	}
}

static bool repeats(const struct sl_log *l, struct sl_step *steps, size_t n)
{
	struct sl_log copy = *l;

	copy.steps = steps;
	copy.n = n;
	return sl_log_replay(&copy, sl_job_policy_find(l->rules.policy)) == SL_OK;
}

/* How many ways a decision can be spoiled; what nth makes of it in s, or false. */
static bool spoil(struct sl_step *s, int nth)
{
	const struct sl_step was = *s;

	switch (nth) {
	case 0:
		s->job++;
		break;
	case 1:
		s->lane++;
		break;
	case 2:
		s->bytes++;
		break;
	case 3:
		s->bytes -= s->bytes > 0;
		break;
	default:
		s->kind = s->kind == SL_STEP_RUN ? SL_STEP_PARK : SL_STEP_RUN;
		break;
	}
	/* Fields that this kind does not have are no part of the text. */
	if ((nth == 0 && s->kind == SL_STEP_SHRINK) ||
		(nth == 1 && s->kind == SL_STEP_PARK) ||
		(nth > 1 && nth < 4 &&
			(s->kind == SL_STEP_RUN || s->kind == SL_STEP_PARK)))
		return false;
	return memcmp(&was, s, sizeof(was)) != 0;
}

static void mutate(const struct sl_log *l, struct sl_step *steps)
{
	for (size_t i = 0; i < l->n; i++) {
		if (sl_step_is_event(&l->steps[i]))
			continue;
		for (int nth = 0; nth < 5; nth++) {
			memcpy(steps, l->steps, l->n * sizeof(*steps));
			if (spoil(&steps[i], nth) && repeats(l, steps, l->n))
				fail_msg("step %d, way %d", (int)i + 1, nth);
		}
		/* Left out. */
		memcpy(steps, l->steps, i * sizeof(*steps));
		memcpy(steps + i, l->steps + i + 1, (l->n - i - 1) * sizeof(*steps));
		assert_false(repeats(l, steps, l->n - 1));
		/* Twice. */
		memcpy(steps + i + 1, l->steps + i, (l->n - i) * sizeof(*steps));
		steps[i] = l->steps[i];
		assert_false(repeats(l, steps, l->n + 1));
	}
}

static void every_spoiled_decision_is_noticed(void **state)
{
	(void)state;
	for (size_t p = 0; sl_job_policy_at(p); p++) {
		struct world w;
		struct sl_step *steps;

		make_log(&w, sl_job_policy_at(p)->name, p);
		steps = calloc(w.d.log.n + 1, sizeof(*steps));
		assert_non_null(steps);
		assert_true(repeats(&w.d.log, w.d.log.steps, w.d.log.n));
		mutate(&w.d.log, steps);
		free(steps);
		world_close(&w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_spoiled_decision_is_noticed),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
