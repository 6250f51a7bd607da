/* SPDX-License-Identifier: Apache-2.0 */
/* The log's text, and what the check says of decisions that are not sound. */
#include "harness/harness.h"

#include <string.h>

#include "base/buf.h"
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
		     "end at=9 job=0 used=0 turns=0\nreject at=9 job=1\n"
		     "parked at=9 job=2\npriority at=9 job=2 priority=-3\n"
		     "policy at=9 name=srtf lanes=1 total_waits=1\n"
		     "seat at=9 job=2 used=4 turns=2 lane=3 bytes=7 has_turn=1\n"
		     "past at=9 job=3 used=4 turns=2 parked=1\npark at=9 job=2\n";
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
		{"decisions 1 policy=pack capacity=9 lanes=0 max_wait=0 total_waits=1 "
		 "shares=0 quantum=0 park_rate=0\n",
			"log:1: the first line has"},
		{HEAD "policy at=0 name=abcdefghijklmnopq lanes=0 total_waits=0\n",
			"log:2:"},
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
		{TWO "park at=0 job=0\n", "is parked where nobody is"},
		{TWO "parked at=0 job=0\n", "was not asked to"},
		{HEAD JOB("0", "1", "4") "seat at=0 job=0 used=1 turns=1 lane=3 bytes=10 "
					 "has_turn=1\n",
			"sum of P and of lanes is 11"},
		{HEAD JOB("0", "1", "4") JOB("1", "1",
			 "4") "seat at=0 job=0 used=1 turns=1 lane=3 bytes=4 has_turn=1\n"
			      "seat at=0 job=1 used=1 turns=1 lane=3 bytes=4 "
			      "has_turn=1\n",
			"is taken"},
		{TWO "past at=0 job=0 used=1 turns=1 parked=0\n", "begun already"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_log l;

		parse(cases[i].text, &l);
		sl_assert_fails(sl_decision_check_log(&l), SL_E_NO, cases[i].says);
		sl_log_finish(&l);
	}
}

#undef HEAD
#define HEAD \
	"decisions 1 policy=fair capacity=10 lanes=2 max_wait=50 total_waits=0 " \
	"shares=0 quantum=5 park_rate=0\n"

static void the_check_refuses_moves_that_are_not_sound(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{TWO "park at=0 job=1\n", "no resident without a turn"},
		{TWO "run at=0 job=0 lane=0\npark at=0 job=0\n",
			"no resident without a turn"},
		{TWO "park at=0 job=0\npark at=0 job=0\n", "no resident without a turn"},
		{TWO "park at=0 job=0\nrun at=0 job=0 lane=0\n",
			"where it does not wait"},
		{TWO "park at=0 job=0\nadmit at=0 job=0 lane=0 bytes=4\n",
			"does not wait"},
		{TWO "park at=0 job=0\nresize at=1 job=0 persistent=0 ephemeral=0\n",
			"or its move"},
		/* Its bytes are charged until it has moved. */
		{TWO "park at=0 job=0\nadmit at=0 job=1 lane=1 bytes=5\n",
			"sum of P and of lanes is 11"},
		{TWO "run at=0 job=0 lane=0\nturn at=60 job=0 used=60 turns=1\n"
		     "admit at=60 job=1 lane=0 bytes=4\nrun at=60 job=1 lane=0\n"
		     "tick at=120\npark at=120 job=0\n",
			"though it is of age"},
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_log_prints_as_it_was_read),
		SL_TEST(a_malformed_log_is_refused_with_its_line),
		SL_TEST(the_check_refuses_what_is_not_sound),
		SL_TEST(the_check_refuses_moves_that_are_not_sound),
		SL_TEST(a_log_that_was_changed_does_not_repeat),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
