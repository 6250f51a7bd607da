/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table against a naive twin that knows contents instead of states: every value has a
 * current version number, and each place holds some version or none.
 */
#include <stdint.h>
#include <string.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "memory/residency.h"

#define VALUES 5u
#define TIERS 3u

enum busy { IDLE, OUTGOING, INCOMING };

struct twin {
	int current; /* version, 0: the value does not exist */
	int device; /* version on the device, 0: none */
	int tier[TIERS]; /* version in each tier */
	uint64_t device_at;
	uint64_t tier_at[TIERS];
	enum busy busy;
};

struct pair {
	struct sl_residency table;
	struct twin twin[VALUES];
	int versions;
	struct sl_rng rng;
};

static uint64_t draw(struct pair *p, uint64_t n)
{
	return sl_rng_below(&p->rng, n);
}

static bool on_device(const struct twin *t)
{
	return t->busy == IDLE && t->device != 0;
}

static sl_status step_birth(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint64_t at = draw(p, 100);

	*legal = t->current == 0;
	if (*legal) {
		t->device = t->current = ++p->versions;
		t->device_at = at;
		t->busy = IDLE;
	}
	return sl_residency_birth(&p->table, v, at);
}

static sl_status step_rebirth(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint64_t at = draw(p, 100);

	*legal = t->device == 0 && t->busy != INCOMING;
	if (*legal) {
		t->device = t->current = ++p->versions;
		t->device_at = at;
		t->busy = IDLE;
	}
	return sl_residency_rebirth(&p->table, v, at);
}

static sl_status step_write(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];

	*legal = on_device(t);
	if (*legal)
		t->device = t->current = ++p->versions;
	return sl_residency_write(&p->table, v);
}

static sl_status step_move(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint64_t at = draw(p, 100);

	*legal = on_device(t);
	if (*legal)
		t->device_at = at;
	return sl_residency_move(&p->table, v, at);
}

static sl_status step_out_begin(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint32_t tier = (uint32_t)draw(p, TIERS);
	uint64_t at = draw(p, 100);

	*legal = on_device(t);
	if (*legal) {
		t->tier[tier] = t->current;
		t->tier_at[tier] = at;
		t->device = 0;
		t->busy = OUTGOING;
	}
	return sl_residency_out_begin(&p->table, v, tier, at);
}

static sl_status step_save(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint32_t tier = (uint32_t)draw(p, TIERS);
	uint64_t at = draw(p, 100);

	*legal = on_device(t);
	if (*legal) {
		t->tier[tier] = t->current;
		t->tier_at[tier] = at;
	}
	return sl_residency_save(&p->table, v, tier, at);
}

static sl_status step_out_end(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];

	*legal = t->busy == OUTGOING;
	if (*legal)
		t->busy = IDLE;
	return sl_residency_out_end(&p->table, v);
}

static sl_status step_drop_clean(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	bool clean = false;

	for (uint32_t k = 0; k < TIERS; k++)
		clean = clean || (t->current != 0 && t->tier[k] == t->current);
	*legal = on_device(t) && clean;
	if (*legal)
		t->device = 0;
	return sl_residency_drop_clean(&p->table, v);
}

static sl_status step_in_begin(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];
	uint32_t tier = (uint32_t)draw(p, TIERS);
	uint64_t at = draw(p, 100);

	*legal = t->current != 0 && t->device == 0 && t->busy != INCOMING &&
		 t->tier[tier] == t->current;
	if (*legal) {
		t->busy = INCOMING;
		t->device_at = at;
	}
	return sl_residency_in_begin(&p->table, v, tier, at);
}

static sl_status step_in_end(struct pair *p, uint32_t v, bool *legal)
{
	struct twin *t = &p->twin[v];

	*legal = t->busy == INCOMING;
	if (*legal) {
		t->busy = IDLE;
		t->device = t->current;
	}
	return sl_residency_in_end(&p->table, v);
}

static sl_status step_drop(struct pair *p, uint32_t v, bool *legal)
{
	*legal = true;
	p->twin[v] = (struct twin){0};
	sl_residency_drop(&p->table, v);
	return SL_OK;
}

static void compare(const struct pair *p, uint32_t v)
{
	const struct twin *t = &p->twin[v];
	const struct sl_residency *r = &p->table;
	enum sl_res_state want = SL_RES_ABSENT;

	if (t->busy == OUTGOING)
		want = SL_RES_LEAVING;
	else if (t->busy == INCOMING)
		want = SL_RES_COMING;
	else if (t->current != 0)
		want = t->device ? SL_RES_RESIDENT : SL_RES_AWAY;
	assert_int_equal(r->state[v], want);
	assert_true(r->at[v] ==
		    (t->device || t->busy == INCOMING ? t->device_at : SL_RES_NOWHERE));
	for (uint32_t k = 0; k < TIERS; k++) {
		bool holds = t->current != 0 && t->tier[k] == t->current;
		assert_int_equal(sl_residency_has_copy(r, v, k), holds);
		if (holds)
			assert_true(sl_residency_copy_at(r, v, k) == t->tier_at[k]);
	}
}

static void random_programs_agree_with_a_naive_twin(void **state)
{
	sl_status (*const steps[])(struct pair *, uint32_t, bool *) = {step_birth,
		step_write, step_move, step_save, step_out_begin, step_out_end,
		step_drop_clean, step_in_begin, step_in_end, step_rebirth, step_drop};
	struct pair p = {.rng = {.key = {.seed = 7}}};
	size_t done[11] = {0}, refused[11] = {0};

	(void)state;
	assert_int_equal(sl_residency_init(&p.table, VALUES, TIERS), SL_OK);
	for (int i = 0; i < 200000; i++) {
		uint32_t v = (uint32_t)draw(&p, VALUES);
		size_t s = (size_t)draw(&p, 11);
		bool legal = false;
		if (s >= 9 && draw(&p, 8) != 0) /* drops and rebirths are rare, or nothing
						   else happens */
			continue;
		sl_status st = steps[s](&p, v, &legal);
		assert_int_equal(st, legal ? SL_OK : SL_E_INVALID);
		(legal ? done : refused)[s]++;
		compare(&p, v);
	}
	/* The program reached every arrow, and every refusal that exists. */
	for (size_t s = 0; s < 11; s++) {
		assert_true(done[s] > 100);
		assert_true(s == 10 || refused[s] > 100);
	}
	sl_residency_finish(&p.table);
}

static void a_placed_value_is_resident_or_away(void **state)
{
	struct sl_residency r = {0};

	(void)state;
	assert_int_equal(sl_residency_init(&r, 2, 2), SL_OK);
	sl_residency_place(&r, 0, 4096);
	sl_residency_place_copy(&r, 0, 1, 8192);
	assert_int_equal(r.state[0], SL_RES_RESIDENT);
	assert_int_equal(sl_residency_drop_clean(&r, 0), SL_OK);
	sl_residency_place(&r, 1, SL_RES_NOWHERE);
	assert_int_equal(r.state[1], SL_RES_ABSENT);
	sl_residency_place_copy(&r, 1, 0, 12288);
	assert_int_equal(r.state[1], SL_RES_AWAY);
	assert_int_equal(sl_residency_in_begin(&r, 1, 1, 0), SL_E_INVALID);
	assert_int_equal(sl_residency_in_begin(&r, 1, 0, 0), SL_OK);
	sl_residency_finish(&r);
}

static void a_refusal_names_value_and_state(void **state)
{
	struct sl_residency r = {0};

	(void)state;
	assert_int_equal(sl_residency_init(&r, 4, 1), SL_OK);
	assert_int_equal(sl_residency_write(&r, 3), SL_E_INVALID);
	assert_non_null(strstr(sl_last_error(), "value 3 is ABSENT"));
	sl_residency_finish(&r);
	assert_int_equal(sl_residency_init(&r, 1, 9), SL_E_LIMIT);
	assert_string_equal(sl_res_state_name(SL_RES_COMING), "COMING");
}

static sl_status init_and_finish(void *ctx)
{
	struct sl_residency r = {0};

	(void)ctx;
	SL_TRY(sl_residency_init(&r, 10, 2));
	sl_residency_finish(&r);
	return SL_OK;
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
	(void)state;
	assert_int_equal(sl_torture(init_and_finish, NULL), 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_programs_agree_with_a_naive_twin),
		SL_TEST(a_placed_value_is_resident_or_away),
		SL_TEST(a_refusal_names_value_and_state),
		SL_TEST(every_failed_allocation_is_an_error_without_leak),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
