/* SPDX-License-Identifier: Apache-2.0 */
#include "data/mask.h"

#include <string.h>

#include "harness/harness.h"

#define T 40
#define MASK 99

struct sample {
	int32_t x[T];
	int64_t y[T];
};

static struct sample hide(uint64_t seed, uint64_t epoch, int64_t position, bool as_stored)
{
	struct sl_data_request r = {.seed = seed, .epoch = epoch, .as_stored = as_stored};
	struct sample s;

	for (int i = 0; i < T; i++)
		s.x[i] = i;
	sl_mask_apply(&r, position, MASK, T, s.x, s.y);
	return s;
}

static void hidden_tokens_are_the_labels_and_the_rest_has_none(void **state)
{
	(void)state;
	for (int64_t position = 0; position < 50; position++) {
		struct sample s = hide(7, 3, position, false);
		int hidden = 0;

		for (int i = 0; i < T; i++) {
			bool is = s.x[i] == MASK;
			assert_int_equal(s.x[i], is ? MASK : i);
			assert_int_equal(s.y[i], is ? i : SL_DATA_NO_LABEL);
			hidden += is;
		}
		assert_int_equal(hidden, 6);
	}
}

static bool alike(const struct sample *a, const struct sample *b)
{
	return memcmp(a->x, b->x, sizeof(a->x)) == 0;
}

static void each_sample_and_epoch_draws_anew(void **state)
{
	struct sample s = hide(7, 3, 5, false);
	struct sample same = hide(7, 3, 5, false);
	struct sample seed = hide(8, 3, 5, false);
	struct sample epoch = hide(7, 4, 5, false);
	struct sample position = hide(7, 3, 6, false);

	(void)state;
	assert_true(alike(&s, &same));
	assert_false(alike(&s, &seed) || alike(&s, &epoch) || alike(&s, &position));
}

static void samples_as_stored_are_always_alike(void **state)
{
	struct sample s = hide(7, 3, 5, true);
	struct sample other = hide(8, 4, 5, true);

	(void)state;
	assert_true(alike(&s, &other));
}

static void at_least_one_token_is_hidden(void **state)
{
	(void)state;
	assert_int_equal(sl_mask_count(1), 1);
	assert_int_equal(sl_mask_count(3), 1);
	assert_int_equal(sl_mask_count(10), 2);
	assert_int_equal(sl_mask_count(128), 19);
}

static void a_set_with_a_mask_hides_in_every_batch(void **state)
{
	struct sl_data *d = NULL;
	struct sl_data_request r = {.split = SL_SPLIT_TRAIN, .count = 3};
	int32_t x[3][T];
	int64_t y[3][T];

	(void)state;
	sl_assert_ok(
		sl_data_open("synthetic:40", &(struct sl_data_opts){.vocab = 50}, &d));
	assert_int_equal(sl_data_info(d)->labels, T);
	sl_data_mask(d, 50);
	assert_int_equal(sl_data_info(d)->labels, 6);
	sl_assert_ok(sl_data_batch(d, &r, x, &y[0][0]));
	for (int i = 0; i < 3; i++) {
		int hidden = 0;
		for (int k = 0; k < T; k++) {
			hidden += x[i][k] == 50;
			assert_true((x[i][k] == 50) == (y[i][k] >= 0));
		}
		assert_int_equal(hidden, 6);
	}
	sl_data_close(d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(hidden_tokens_are_the_labels_and_the_rest_has_none),
		SL_TEST(each_sample_and_epoch_draws_anew),
		SL_TEST(samples_as_stored_are_always_alike),
		SL_TEST(at_least_one_token_is_hidden),
		SL_TEST(a_set_with_a_mask_hides_in_every_batch),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
