/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's life in any order: arrivals, turns, ends, kills, sizes, pauses, moves. */
#include "events.h"

#include "base/rng.h"
#include "share/sim.h"

#define MOST 14 /* jobs at a time */

static struct sl_step random_arrival(struct desk *d, struct sl_rng *rng, sl_ns at)
{
	struct sl_step e = arrives(at, (uint32_t)d->s.next_id, sl_rng_below(rng, 12),
		sl_rng_below(rng, 40), (sl_ns)sl_rng_below(rng, 50));

	e.user = (uint32_t)sl_rng_below(rng, 3);
	e.priority = (int32_t)(20 - sl_rng_below(rng, 8) / 7);
	e.deadline_ns = sl_rng_below(rng, 12) ? 0 : at + 40;
	return e;
}

static struct sl_step rare_event(
	struct desk *d, struct sl_rng *rng, sl_ns at, const struct sl_job *j)
{
	struct sl_step e = says(SL_STEP_TICK, at, j->id);
	uint64_t what = sl_rng_below(rng, 10);

	if (what < 3)
		e.kind = j->held     ? SL_STEP_RELEASE
			 : what == 0 ? SL_STEP_AWAY
				     : SL_STEP_HOLD;
	else if (what < 5)
		e = (struct sl_step){.kind = SL_STEP_LIMIT,
			.at_ns = at,
			.user = j->user,
			.bytes = sl_rng_below(rng, 3) * 60};
	else if (what < 8 && !j->running && !j->parking)
		e = (struct sl_step){.kind = SL_STEP_RESIZE,
			.at_ns = at,
			.job = j->id,
			.persistent_bytes = sl_rng_below(rng, 12),
			.ephemeral_bytes = sl_rng_below(rng, 40)};
	else if (what == 8) {
		e.kind = SL_STEP_PRIORITY;
		e.priority = (int32_t)(20 - sl_rng_below(rng, 3));
	} else if (what == 9 && sl_rng_below(rng, 20) == 0)
		e = sl_share_policy_event(
			&d->s, sl_job_policy_at(sl_rng_below(rng, 5)), at);
	return e;
}

static struct sl_step random_event(struct desk *d, struct sl_rng *rng, sl_ns at)
{
	uint64_t what = sl_rng_below(rng, 20);
	const struct sl_job *j = d->s.n > 0 ? d->s.jobs[sl_rng_below(rng, d->s.n)] : NULL;

	if (!j || (what < 5 && d->s.n < MOST))
		return random_arrival(d, rng, at);
	if (what == 6)
		return reports(SL_STEP_END, at, j->id, 1);
	if (what < 10)
		return rare_event(d, rng, at, j);
	if (j->running)
		return reports(SL_STEP_TURN, at, j->id, 2);
	if (j->parking)
		return says(SL_STEP_PARKED, at, j->id);
	return says(SL_STEP_TICK, at, 0);
}

static size_t count(const struct desk *d, enum sl_step_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < d->log.n; i++)
		n += d->log.steps[i].kind == kind;
	return n;
}

static void open_random(struct desk *d, uint64_t seed, struct sl_rng *rng)
{
	desk_open(d, sl_job_policy_at(seed % 5)->name, 64, (uint32_t)sl_rng_below(rng, 4),
		seed % 2 ? 30 : 0);
	d->s.rules.quantum_ns = d->log.rules.quantum_ns = seed % 3 ? 6 : 0;
	d->s.rules.park_bytes_per_s = d->log.rules.park_bytes_per_s =
		seed % 4 ? 0 : 2000000000;
}

/* What menus and texts say of any state; they change nothing. */
static void look(struct desk *d, struct sl_rng *rng)
{
	const struct sl_job *j = d->s.jobs[sl_rng_below(rng, d->s.n)];
	char text[SL_SHARE_REASON];
	uint64_t room = sl_share_room(&d->s, j->id, 3);
	struct sl_buf words = SL_BUF_INIT;
	sl_ns wake = sl_share_next_wake(&d->s);

	assert_true(wake == -1 || wake > d->s.now_ns || j->aged_ns >= -1);
	if (sl_share_fits_now(&d->s, j->id, 3, 5))
		assert_true(room != UINT64_MAX && room >= 5);
	if (!j->resident && room < 60)
		assert_false(sl_share_fits_now(&d->s, j->id, 3, room + 1));
	sl_share_reason(&d->s, j->id, text);
	assert_true(text[0] != '\0');
	sl_assert_ok(sl_share_explain(&d->s, j->id, NULL, &words));
	assert_true(words.len > 20);
	sl_buf_finish(&words);
}

static void live(uint64_t seed, sl_ns steps, size_t *parks)
{
	struct sl_rng rng = {.key = {.seed = seed, .stream = 3}};
	struct desk d;

	open_random(&d, seed, &rng);
	for (sl_ns at = 0; at < steps; at++) {
		struct sl_step e = random_event(&d, &rng, at);
		sl_status st = desk_try(&d, e);

		if (d.s.n > 0)
			look(&d, &rng);
		if (st == SL_E_NOMEM_DEVICE && e.kind == SL_STEP_RESIZE)
			continue;
		if (st != SL_OK)
			fail_msg("seed %d, at %d: %s", (int)seed, (int)at,
				sl_last_error());
	}
	while (d.s.n > 0)
		desk_event(&d, reports(SL_STEP_END, steps, d.s.jobs[0]->id, 0));
	assert_int_equal(d.s.ledger.granted_bytes, 0);
	assert_int_equal(d.s.lanes.open, 0);
	*parks += count(&d, SL_STEP_PARKED);
	if (sl_log_replay_with(&d.log, sl_job_policy_at(seed % 5), sl_job_policy_find) !=
		SL_OK)
		fail_msg("seed %d: %s", (int)seed, sl_last_error());
	desk_close(&d);
}

static void thousands_of_random_events_are_decided_soundly(void **state)
{
	size_t parks = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++)
		live(seed, 300, &parks);
	assert_true(parks > 300);
}

static void twenty_thousand_steps_of_one_device_are_sound(void **state)
{
	size_t parks = 0;

	(void)state;
	live(5, 20000, &parks);
	live(19, 20000, &parks);
	assert_true(parks > 50);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(thousands_of_random_events_are_decided_soundly),
		SL_TEST(twenty_thousand_steps_of_one_device_are_sound),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
