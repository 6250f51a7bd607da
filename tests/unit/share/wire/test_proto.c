/* SPDX-License-Identifier: Apache-2.0 */
/* Each row of the table there and back, and what is no frame. */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "share/wire/proto.h"
#include "sluice/client.h"

static uint64_t noise(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 24;
}

static uint8_t many[1 << 20];

static void fill_field(const struct sl_wire_field *f, void *at, uint64_t *state)
{
	uint64_t value = noise(state) << 32 ^ noise(state);
	struct sl_wire_menu *menu = at;

	if (f->type == SL_WIRE_U32 || f->type == SL_WIRE_S32) {
		*(uint32_t *)at = (uint32_t)value;
	} else if (f->type == SL_WIRE_U64 || f->type == SL_WIRE_S64) {
		*(uint64_t *)at = value;
	} else if (f->type == SL_WIRE_TEXT) {
		size_t len = value % f->most;

		memset(at, 'a' + (int)(value % 26), len);
		((char *)at)[len] = '\0';
	} else if (f->type == SL_WIRE_BYTES) {
		*(struct sl_wire_bytes *)at =
			(struct sl_wire_bytes){many, (uint32_t)(value % f->most)};
	} else {
		menu->n = 1 + value % SL_WIRE_MENU;
		for (uint32_t i = 0; i < menu->n; i++)
			menu->rows[i] = (struct sl_wire_option){
				noise(state), noise(state), noise(state)};
	}
}

/* A message of that row with something in each field. */
static void fill(const struct sl_wire_row *row, struct sl_msg *m, uint64_t seed)
{
	size_t n;
	const struct sl_wire_field *f = row->fields(&n);

	*m = (struct sl_msg){
		.number = row->number, .seq = (uint32_t)seed, .n_fds = row->fds};
	for (size_t i = 0; i < n; i++)
		fill_field(&f[i], (char *)&m->u + f[i].offset, &seed);
}

static sl_status decode(const struct sl_buf *b, size_t *used, struct sl_msg *out)
{
	return sl_wire_decode((const uint8_t *)b->data, b->len, used, out);
}

static void every_row_comes_back_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; sl_wire_row_at(i) != NULL; i++) {
		const struct sl_wire_row *row = sl_wire_row_at(i);

		for (uint64_t seed = 0; seed < 20; seed++) {
			struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;
			struct sl_msg m, back;
			size_t used;

			fill(row, &m, seed);
			sl_assert_ok(sl_wire_encode(&m, &b));
			sl_assert_ok(decode(&b, &used, &back));
			assert_int_equal(used, b.len);
			assert_int_equal(back.number, row->number);
			assert_int_equal(back.seq, seed);
			assert_int_equal(back.n_fds, row->fds);
			sl_assert_ok(sl_wire_encode(&back, &again));
			assert_int_equal(again.len, b.len);
			assert_memory_equal(again.data, b.data, b.len);
			sl_buf_finish(&b);
			sl_buf_finish(&again);
		}
	}
}

static void fields_have_their_values(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_msg m = {.number = SL_MSG_REGISTER, .seq = 7}, back;
	size_t used;

	(void)state;
	m.u.reg.kind = SL_WIRE_SERVICE;
	m.u.reg.priority = -3;
	m.u.reg.deadline_ns = -1;
	m.u.reg.menu = (struct sl_wire_menu){2, {{1, 2, 3}, {4, 5, 6}}};
	sl_wire_text(m.u.reg.name, sizeof(m.u.reg.name), "gpt2 \xc3\xa4");
	sl_assert_ok(sl_wire_encode(&m, &b));
	sl_assert_ok(decode(&b, &used, &back));
	assert_string_equal(back.u.reg.name, "gpt2 \xc3\xa4");
	assert_int_equal(back.u.reg.kind, SL_WIRE_SERVICE);
	assert_int_equal(back.u.reg.priority, -3);
	assert_true(back.u.reg.deadline_ns == -1);
	assert_int_equal(back.u.reg.menu.n, 2);
	assert_int_equal(back.u.reg.menu.rows[1].ephemeral_bytes, 5);
	/* Little endian on every machine: the number's and the seq's bytes. */
	assert_memory_equal(b.data + 4, "\x0a\x00\x01\x00\x07\x00\x00\x00", 8);
	sl_buf_finish(&b);
}

static void a_frame_that_ends_anywhere_is_not_yet_whole(void **state)
{
	(void)state;
	for (size_t i = 0; sl_wire_row_at(i) != NULL; i++) {
		struct sl_buf b = SL_BUF_INIT;
		struct sl_msg m, back;
		size_t used, step;

		fill(sl_wire_row_at(i), &m, i);
		sl_assert_ok(sl_wire_encode(&m, &b));
		step = b.len > 4096 ? 997 : 1;
		for (size_t len = 0; len < b.len; len += step) {
			used = 1;
			sl_assert_ok(
				sl_wire_decode((uint8_t *)b.data, len, &used, &back));
			assert_int_equal(used, 0);
		}
		sl_buf_finish(&b);
	}
}

/* The frame with a payload that is `by` bytes longer or shorter. */
static void resize(struct sl_buf *b, long by)
{
	uint32_t size = (uint32_t)((long)b->len - SL_WIRE_HEAD + by);

	if (by > 0)
		sl_assert_ok(sl_buf_append(b, many, (size_t)by));
	else
		b->len -= (size_t)-by;
	memcpy(b->data, &size, 4);
}

static void a_payload_is_used_up_exactly(void **state)
{
	static const long by[] = {1, -1, 3, -3};

	(void)state;
	for (size_t i = 0; sl_wire_row_at(i) != NULL; i++) {
		for (size_t k = 0; k < SL_COUNT(by); k++) {
			struct sl_buf b = SL_BUF_INIT;
			struct sl_msg m, back;
			size_t used;

			fill(sl_wire_row_at(i), &m, 3);
			sl_assert_ok(sl_wire_encode(&m, &b));
			resize(&b, by[k]);
			/* Above the message's most the head alone is refused. */
			if (b.len - SL_WIRE_HEAD > sl_wire_row_at(i)->most_bytes) {
				sl_assert_fails(
					decode(&b, &used, &back), SL_E_LIMIT, "above");
				assert_int_equal(used, 0);
			} else {
				sl_assert_fails(decode(&b, &used, &back), SL_E_FORMAT,
					sl_wire_row_at(i)->name);
				assert_int_equal(used, b.len);
				assert_int_equal(back.seq, 3);
			}
			sl_buf_finish(&b);
		}
	}
}

/* Whatever a changed byte makes of a frame: a status, or a message that is those bytes.
 */
static void mutated_frames_are_refused_or_mean_what_they_say(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;
		struct sl_msg m, back;
		size_t used, i = (size_t)round % 44;

		if (sl_wire_row_at(i) == NULL)
			i = 0;
		if (sl_wire_row_at(i)->most_bytes > 5000)
			continue;
		fill(sl_wire_row_at(i), &m, noise(&random));
		m.n_fds = 0;
		sl_assert_ok(sl_wire_encode(&m, &b));
		for (uint64_t n = 1 + noise(&random) % 4; n > 0; n--)
			b.data[noise(&random) % b.len] = (char)noise(&random);
		if (decode(&b, &used, &back) == SL_OK && used > 0) {
			sl_assert_ok(sl_wire_encode(&back, &again));
			assert_int_equal(again.len, used);
			assert_memory_equal(again.data, b.data, used);
		}
		sl_buf_finish(&b);
		sl_buf_finish(&again);
	}
}

static void numbers_and_names_are_of_one_message(void **state)
{
	const char *summary = NULL;
	size_t n = 0;

	(void)state;
	for (; sl_wire_row_at(n) != NULL; n++) {
		const struct sl_wire_row *row = sl_wire_row_at(n);

		assert_ptr_equal(sl_wire_row_find((uint32_t)row->number), row);
		assert_string_equal(sl_message_name_at(n, &summary), row->name);
		assert_ptr_equal(summary, row->summary);
		assert_in_range(row->most_bytes, 4, SL_WIRE_MOST);
		for (size_t k = 0; k < n; k++)
			assert_string_not_equal(sl_wire_row_at(k)->name, row->name);
	}
	assert_true(n > 40);
	assert_null(sl_message_name_at(n, &summary));
	assert_null(sl_wire_row_find(0));
	assert_null(sl_wire_row_find(65536 + SL_MSG_HELLO));
}

static void states_and_kinds_have_names(void **state)
{
	(void)state;
	assert_string_equal(sl_wire_state_name(SL_WIRE_PARKED), "parked");
	assert_string_equal(sl_wire_state_name(SL_WIRE_STATES), "unknown");
	assert_string_equal(sl_wire_kind_name(SL_WIRE_TRAIN), "train");
	assert_string_equal(sl_wire_kind_name(UINT32_MAX), "unknown");
}

static sl_status there_and_back(void *ctx)
{
	struct sl_buf b = SL_BUF_INIT, line = SL_BUF_INIT;
	struct sl_msg m, back;
	size_t used;
	sl_status st;

	fill(ctx, &m, 11);
	SL_TRY_OUT(sl_wire_encode(&m, &b));
	SL_TRY_OUT(decode(&b, &used, &back));
	SL_TRY_OUT(sl_wire_print(&back, &line));
out:
	if (st != SL_OK)
		assert_true(b.len == 0 || b.len > SL_WIRE_HEAD);
	sl_buf_finish(&b);
	sl_buf_finish(&line);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	static const enum sl_msg_number numbers[] = {
		SL_MSG_JOB, SL_MSG_WORDS, SL_MSG_REGISTER, SL_MSG_HELLO};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(numbers); i++) {
		union {
			const struct sl_wire_row *row;
			void *ctx;
		} u = {.row = sl_wire_row_find(numbers[i])};

		assert_in_range(sl_torture(there_and_back, u.ctx), 2, 40);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_row_comes_back_the_same),
		SL_TEST(fields_have_their_values),
		SL_TEST(a_frame_that_ends_anywhere_is_not_yet_whole),
		SL_TEST(a_payload_is_used_up_exactly),
		SL_TEST(mutated_frames_are_refused_or_mean_what_they_say),
		SL_TEST(numbers_and_names_are_of_one_message),
		SL_TEST(states_and_kinds_have_names),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
