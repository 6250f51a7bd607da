/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/host.c, menu.c and turn.c: a session in memory of another. */
#include "harness/harness.h"
#include "harness/session_run.h"
#include "harness/strict_host.h"

#include <string.h>

#include "base/units.h"

static void check_same(const struct sl_session_config *config, uint32_t row)
{
	struct sl_session_run alone;
	struct sl_summary shared;
	struct strict_host h;

	strict_host_init(&h);
	h.row = row;
	sl_assert_ok(sl_session_run_all(config, &alone));
	sl_assert_ok(strict_host_train(&h, config, &shared));
	assert_string_equal(shared.digest, alone.summary.digest);
	assert_true(shared.loss_last == alone.summary.loss_last);
	assert_true(shared.is_shared);
	assert_int_equal(shared.shared.turns, h.enters);
	assert_true(shared.peak_device_bytes <= h.p_bytes + h.e_bytes);
	assert_true(h.idles > 0);
}

static void every_model_is_the_same_whatever_becomes_of_its_lane(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		assert_true(sl_session_small(i, &config));
		config.eval = true;
		config.eval_steps = 2;
		check_same(&config, 0);
		config.budget_ratio = 0.85;
		check_same(&config, 0);
	}
}

static void lesser_rows_of_the_menu_give_the_same_bits(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		assert_true(sl_session_small(i, &config));
		config.steps = 8; /* new plans come */
		config.allow_slowdown = 1e6;
		for (uint32_t row = 1; row < 6; row += 2)
			check_same(&config, row);
	}
}

static void a_menu_goes_from_fast_to_small_within_what_is_allowed(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct strict_host h;

	(void)state;
	assert_true(sl_session_small(3, &config));
	config.allow_slowdown = 1e6;
	strict_host_init(&h);
	sl_assert_ok(strict_host_train(&h, &config, &summary));
	assert_true(h.n_rows >= 4);
	for (uint32_t i = 1; i < h.n_rows; i++) {
		const struct sl_menu_row *a = &h.rows[i - 1], *b = &h.rows[i];

		assert_true(a->persistent_bytes % 4096 == 0);
		assert_true(b->persistent_bytes + b->ephemeral_bytes <
			    a->persistent_bytes + a->ephemeral_bytes);
		assert_true(b->turn_ns >= h.rows[0].turn_ns);
	}
	config.allow_slowdown = 0;
	strict_host_init(&h);
	sl_assert_ok(strict_host_train(&h, &config, &summary));
	assert_int_equal(h.n_rows, 1);
}

static void lost_memory_ends_the_step(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct strict_host h;

	(void)state;
	assert_true(sl_session_small(0, &config));
	strict_host_init(&h);
	h.lose_at = 2;
	sl_assert_fails(strict_host_train(&h, &config, &summary), SL_E_LOST, "taken");
	assert_int_equal(h.enters, 2);
}

static void a_stop_in_the_queue_is_an_interruption(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct strict_host h;

	(void)state;
	assert_true(sl_session_small(0, &config));
	strict_host_init(&h);
	h.stop_at = 3;
	sl_assert_fails(
		strict_host_train(&h, &config, &summary), SL_E_INTERRUPTED, "step 2");
	assert_int_equal(summary.run_steps, 2);
	assert_int_equal(strlen(summary.digest), 64);
}

static void who_reads_late_is_waited_for_outside_of_a_turn(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct strict_host h;

	(void)state;
	assert_true(sl_session_small(0, &config));
	strict_host_init(&h);
	h.late = 3;
	sl_assert_ok(strict_host_train(&h, &config, &summary));
	assert_int_equal(h.tends, 3);
	assert_true(h.idles >= 3);
	assert_int_equal(h.enters, summary.run_steps + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SL_TEST(every_model_is_the_same_whatever_becomes_of_its_lane),
		SL_TEST(lesser_rows_of_the_menu_give_the_same_bits),
		SL_TEST(a_menu_goes_from_fast_to_small_within_what_is_allowed),
		SL_TEST(lost_memory_ends_the_step),
		SL_TEST(who_reads_late_is_waited_for_outside_of_a_turn),
		SL_TEST(a_stop_in_the_queue_is_an_interruption),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
