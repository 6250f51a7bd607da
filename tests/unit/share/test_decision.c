/* SPDX-License-Identifier: Apache-2.0 */
/* The log's text, and what the check says of decisions that are not sound. */
#include "harness/harness.h"

#include <string.h>

#include "base/buf.h"
#include "base/rng.h"
#include "events.h"
#include "share/sim.h"

#define HEAD \
	"decisions 1 policy=pack capacity=10 lanes=2 max_wait=50 total_waits=1 " \
	"shares=0\n"
#define JOB(n, p, e) \
	"arrive at=0 job=" n " user=0 priority=20 deadline=0 length=5 turn=1 " \
	"persistent=" p " ephemeral=" e "\n"

static void parse(const char *text, struct sl_log *out)
{
	sl_assert_ok(sl_log_parse("log", text, strlen(text), out));
}

static void a_log_prints_as_it_was_read(void **state)
{
	static const char text[] = HEAD JOB("0", "1",
		"4") "admit at=0 job=0 lane=0 bytes=4\nrun at=0 job=0 lane=0\n"
		     "limit at=2 user=7 bytes=9\nhold at=2 job=0\nrelease at=3 job=0\n"
		     "turn at=3 job=0 used=3 turns=3\nresize at=3 job=0 persistent=1 "
		     "ephemeral=3\nshrink at=3 lane=0 bytes=3\ntick at=4\n"
		     "end at=9 job=0 used=0 turns=0\nreject at=9 job=1\n";
	struct sl_log l;
	struct sl_buf again = SL_BUF_INIT;

	(void)state;
	parse(text, &l);
	sl_assert_ok(sl_log_print(&l, &again));
	assert_string_equal(sl_buf_text(&again), text);
	sl_buf_finish(&again);
	sl_log_finish(&l);
}

static void a_malformed_log_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "log:0: a log of decisions begins"},
		{"decisions 2\n", "log:1: a log of decisions begins"},
		{"decisions 1 policy=pack\n", "log:1: the first line has"},
		{HEAD "leap at=0\n", "log:2: 'leap' is no event"},
		{HEAD "tick\n", "log:2: tick lacks at="},
		{HEAD "tick at=0 job=3\n", "log:2: tick has no such field"},
		{HEAD "tick at=1 at=2\n", "log:2: tick has the same field twice"},
		{HEAD "tick at=-1\n", "log:2: at=-1 is not within"},
		{HEAD "tick at=3\n\ntick at=2\n", "log:4: time goes back"},
		{HEAD "run at=0 job=4294967295 lane=0\n", "log:2: job="},
	};
	struct sl_log l;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++)
		sl_assert_fails(
			sl_log_parse("log", cases[i].text, strlen(cases[i].text), &l),
			SL_E_FORMAT, cases[i].says);
}

static void the_check_refuses_what_is_not_sound(void **state)
{
#define TWO HEAD JOB("0", "1", "4") JOB("1", "1", "4") "admit at=0 job=0 lane=0 bytes=4\n"
	static const struct {
		const char *text, *says;
	} cases[] = {
		{TWO "admit at=0 job=0 lane=0 bytes=4\n", "does not wait"},
		{TWO "admit at=0 job=1 lane=0 bytes=3\n", "too few"},
		{TWO "admit at=0 job=1 lane=1 bytes=5\n", "sum of P and of lanes is 11"},
		{TWO "admit at=0 job=1 lane=2 bytes=4\n", "before lane 1"},
		{TWO "run at=0 job=1 lane=0\n", "where it does not wait"},
		{TWO "admit at=0 job=1 lane=0 bytes=4\nrun at=0 job=0 lane=0\n"
		     "run at=0 job=1 lane=0\n",
			"within a turn of job 0"},
		{TWO "tick at=1\n", "stands idle"},
		{TWO "run at=0 job=0 lane=0\nshrink at=1 lane=0 bytes=3\n",
			"does not shrink"},
		{TWO "shrink at=0 lane=0 bytes=3\n", "below job 0"},
		{TWO "turn at=0 job=1 used=1 turns=1\n", "does not have"},
		{TWO "reject at=0 job=1\n", "though it fits"},
		{TWO "end at=0 job=7 used=0 turns=0\n", "is not there"},
		{HEAD JOB("0", "9", "1") "limit at=0 user=0 bytes=9\n"
					 "admit at=0 job=0 lane=0 bytes=1\n",
			"user's limit"},
		{HEAD JOB("0", "0", "1") JOB("1", "0", "1")
				JOB("2", "0", "1") "admit at=0 job=0 lane=0 bytes=1\n"
						   "admit at=0 job=1 lane=1 bytes=1\n"
						   "admit at=0 job=2 lane=2 bytes=1\n",
			"3 lanes are open, at most 2"},
		{TWO "run at=0 job=0 lane=0\ntick at=60\n"
		     "arrive at=60 job=2 user=0 priority=0 deadline=0 length=5 turn=1 "
		     "persistent=1 ephemeral=1\nadmit at=60 job=2 lane=0 bytes=4\n",
			"before job 1, which is of age"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_log l;

		parse(cases[i].text, &l);
		sl_assert_fails(sl_decision_check_log(&l), SL_E_NO, cases[i].says);
		sl_log_finish(&l);
	}
}

static void a_log_that_was_changed_does_not_repeat(void **state)
{
	static const char text[] = HEAD JOB("0", "1", "4") JOB("1", "1",
		"4") "admit at=0 job=0 lane=0 bytes=4\nadmit at=0 job=1 lane=0 bytes=4\n"
		     "run at=0 job=1 lane=0\n";
	struct sl_log l;

	(void)state;
	parse(text, &l);
	sl_assert_fails(sl_log_replay(&l, sl_job_policy_find("pack")), SL_E_NO,
		"recorded 'admit at=0 job=1 lane=0 bytes=4', decided now 'admit at=0 "
		"job=1 lane=1 bytes=4'");
	sl_log_finish(&l);
}

/* The daemon's life: arrivals, turns, ends, kills, sizes, pauses, in any order. */
static struct sl_step random_event(struct desk *d, struct sl_rng *rng, sl_ns at)
{
	uint64_t what = sl_rng_below(rng, 10);
	const struct sl_job *j = d->s.n > 0 ? d->s.jobs[sl_rng_below(rng, d->s.n)] : NULL;
	struct sl_step e;

	if (!j || (what < 3 && d->s.n < 12)) {
		e = arrives(at, (uint32_t)d->s.next_id, sl_rng_below(rng, 9),
			sl_rng_below(rng, 40), (sl_ns)sl_rng_below(rng, 50));
		e.user = (uint32_t)sl_rng_below(rng, 3);
		e.priority = (int32_t)(20 - sl_rng_below(rng, 8) / 7);
		return e;
	}
	if (what == 3)
		e = reports(SL_STEP_END, at, j->id, 1);
	else if (what == 4)
		e = reports(j->held ? SL_STEP_RELEASE : SL_STEP_HOLD, at, j->id, 0);
	else if (what == 5)
		return (struct sl_step){.kind = SL_STEP_LIMIT,
			.at_ns = at,
			.user = j->user,
			.bytes = sl_rng_below(rng, 3) * 60};
	else if (what == 6 && !j->running)
		return (struct sl_step){.kind = SL_STEP_RESIZE,
			.at_ns = at,
			.job = j->id,
			.persistent_bytes = sl_rng_below(rng, 9),
			.ephemeral_bytes = sl_rng_below(rng, 40)};
	else if (j->running)
		e = reports(SL_STEP_TURN, at, j->id, 2);
	else
		e = (struct sl_step){.kind = SL_STEP_TICK, .at_ns = at};
	return e;
}

static void thousands_of_random_events_are_decided_soundly(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct sl_rng rng = {.key = {.seed = seed, .stream = 3}};
		struct desk d;

		desk_open(&d, sl_job_policy_at(seed % 5)->name, 64,
			(uint32_t)sl_rng_below(&rng, 4), seed % 2 ? 30 : 0);
		for (sl_ns at = 0; at < 300; at++) {
			struct sl_step e = random_event(&d, &rng, at);
			sl_status st = desk_try(&d, e);

			if (st == SL_E_NOMEM_DEVICE && e.kind == SL_STEP_RESIZE)
				continue;
			if (st != SL_OK)
				fail_msg("seed %d, at %d: %s", (int)seed, (int)at,
					sl_last_error());
		}
		while (d.s.n > 0)
			desk_event(&d, reports(SL_STEP_END, 300, d.s.jobs[0]->id, 0));
		assert_int_equal(d.s.ledger.granted_bytes, 0);
		assert_int_equal(d.s.lanes.open, 0);
		sl_assert_ok(sl_log_replay(&d.log, d.s.policy));
		desk_close(&d);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_log_prints_as_it_was_read),
		SL_TEST(a_malformed_log_is_refused_with_its_line),
		SL_TEST(the_check_refuses_what_is_not_sound),
		SL_TEST(a_log_that_was_changed_does_not_repeat),
		SL_TEST(thousands_of_random_events_are_decided_soundly),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
