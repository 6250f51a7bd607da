/* SPDX-License-Identifier: Apache-2.0 */
/* Heads, lengths and texts that a peer made up. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "share/wire/proto.h"

struct head {
	uint32_t size;
	uint16_t number, version;
	uint32_t seq, fds;
};

/* The head, and `more` bytes of the payload that are here. */
static sl_status decode(
	struct head h, const void *payload, size_t more, size_t *used, struct sl_msg *out)
{
	uint8_t frame[256] = {0};

	memcpy(frame, &h, sizeof(h));
	if (more > 0)
		memcpy(frame + SL_WIRE_HEAD, payload, more);
	return sl_wire_decode(frame, SL_WIRE_HEAD + more, used, out);
}

static void lengths_of_4_gib_are_refused_by_the_head(void **state)
{
	static const uint32_t sizes[] = {UINT32_MAX, 1u << 31, SL_WIRE_MOST + 1};
	struct sl_msg m;
	size_t used;
	long live = sl_alloc_live();

	(void)state;
	for (size_t i = 0; i < SL_COUNT(sizes); i++) {
		sl_assert_fails(
			decode((struct head){sizes[i], SL_MSG_ASK, SL_WIRE_VERSION, 1, 0},
				NULL, 0, &used, &m),
			SL_E_LIMIT, "ASK");
		assert_int_equal(used, 0);
		/* Also of numbers and versions that nobody knows. */
		sl_assert_fails(
			decode((struct head){sizes[i], 999, SL_WIRE_VERSION, 1, 0}, NULL,
				0, &used, &m),
			SL_E_LIMIT, "unknown");
		sl_assert_fails(decode((struct head){sizes[i], SL_MSG_ASK, 9, 1, 0}, NULL,
					0, &used, &m),
			SL_E_LIMIT, "above");
		assert_int_equal(used, 0);
	}
	assert_int_equal(sl_alloc_live(), live);
}

static void a_message_is_held_to_its_own_most(void **state)
{
	uint32_t most = sl_wire_row_find(SL_MSG_HELLO)->most_bytes;
	struct sl_msg m;
	size_t used;

	(void)state;
	assert_int_equal(most, 8 + 4 + 2 + 31);
	sl_assert_fails(decode((struct head){most + 1, SL_MSG_HELLO, 1, 1, 0}, NULL, 0,
				&used, &m),
		SL_E_LIMIT, "HELLO");
	sl_assert_ok(
		decode((struct head){most, SL_MSG_HELLO, 1, 1, 0}, NULL, 0, &used, &m));
	assert_int_equal(used, 0);
}

static void unknown_numbers_and_versions_are_stepped_over(void **state)
{
	struct sl_msg m;
	size_t used;

	(void)state;
	sl_assert_fails(decode((struct head){4, 999, 1, 77, 0}, "abcd", 4, &used, &m),
		SL_E_UNSUPPORTED, "no message 999");
	assert_int_equal(used, SL_WIRE_HEAD + 4);
	assert_int_equal(m.seq, 77);
	assert_int_equal(m.number, SL_MSG_NONE);
	sl_assert_fails(
		decode((struct head){4, SL_MSG_DONE, 2, 78, 0}, "abcd", 4, &used, &m),
		SL_E_UNSUPPORTED, "version 2; this is version 1");
	assert_int_equal(used, SL_WIRE_HEAD + 4);
	assert_int_equal(m.seq, 78);
	/* Not before the whole of it is here. */
	sl_assert_ok(decode((struct head){4, 999, 1, 77, 0}, "abc", 3, &used, &m));
	assert_int_equal(used, 0);
}

static void descriptors_are_as_many_as_the_row_allows(void **state)
{
	struct sl_msg m;
	size_t used;

	(void)state;
	sl_assert_fails(
		decode((struct head){4, SL_MSG_DONE, 1, 1, 1}, "\0\0\0", 4, &used, &m),
		SL_E_FORMAT, "DONE carries 0");
	assert_int_equal(used, SL_WIRE_HEAD + 4);
	assert_int_equal(m.n_fds, 1);
	sl_assert_fails(
		decode((struct head){4, SL_MSG_DONE, 1, 1, 4}, "\0\0\0", 4, &used, &m),
		SL_E_FORMAT, "4 descriptors");
	assert_int_equal(used, 0);
}

static sl_status stop_text(const char *text, size_t len)
{
	uint8_t payload[64] = {(uint8_t)len, 0};
	struct sl_msg m;
	size_t used;

	memcpy(payload + 2, text, len);
	return decode((struct head){(uint32_t)len + 2, SL_MSG_STOP, 1, 0, 0}, payload,
		len + 2, &used, &m);
}

static void texts_cannot_move_the_cursor(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {{"a\0b", 3}, {"\x1b[2J", 4}, {"a\nb", 3}, {"\x7f", 1}, {"\xc2\x9b", 2},
		{"\xff", 1}, {"\xc3", 1}, {"\xc0\x80", 2}, {"\xe0\x80\x80", 3},
		{"\xed\xa0\x80", 3}, {"\xf4\x90\x80\x80", 4}, {"\xe2\x80\xae", 3},
		{"\xe2\x82", 2}};
	static const char *const good[] = {
		"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\x80"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++)
		sl_assert_fails(
			stop_text(bad[i].text, bad[i].len), SL_E_FORMAT, "STOP.text");
	for (size_t i = 0; i < SL_COUNT(good); i++)
		sl_assert_ok(stop_text(good[i], strlen(good[i])));
}

static void inner_lengths_are_checked(void **state)
{
	struct sl_msg m;
	size_t used;

	(void)state;
	sl_assert_fails(decode((struct head){4, SL_MSG_STOP, 1, 0, 0},
				"\xff\xff"
				"ab",
				4, &used, &m),
		SL_E_FORMAT, "above the most of 127");
	sl_assert_fails(decode((struct head){4, SL_MSG_STOP, 1, 0, 0},
				"\x03\x00"
				"ab",
				4, &used, &m),
		SL_E_FORMAT, "ends early");
	sl_assert_fails(decode((struct head){6, SL_MSG_WORDS, 1, 0, 0},
				"\xff\xff\xff\xff"
				"ab",
				6, &used, &m),
		SL_E_FORMAT, "above the most of 65536");
	sl_assert_fails(decode((struct head){6, SL_MSG_WORDS, 1, 0, 0},
				"\x03\x00\x00\x00"
				"ab",
				6, &used, &m),
		SL_E_FORMAT, "ends early");
}

static void the_encoder_sends_nothing_that_would_be_refused(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_msg m = {.number = SL_MSG_STOP};
	struct sl_msg words = {.number = SL_MSG_WORDS, .u.words.text = {NULL, 65537}};
	struct sl_msg menu = {.number = SL_MSG_REGISTER};

	(void)state;
	memset(m.u.stop.text, 'x', sizeof(m.u.stop.text));
	sl_assert_fails(sl_wire_encode(&m, &b), SL_E_INVALID, "no end");
	memcpy(m.u.stop.text, "a\nb", 4);
	sl_assert_fails(sl_wire_encode(&m, &b), SL_E_INVALID, "STOP: text");
	sl_assert_fails(sl_wire_encode(&words, &b), SL_E_LIMIT, "65536");
	sl_assert_fails(sl_wire_encode(&menu, &b), SL_E_INVALID, "1 to 8");
	menu.u.reg.menu.n = 9;
	sl_assert_fails(sl_wire_encode(&menu, &b), SL_E_INVALID, "1 to 8");
	m = (struct sl_msg){.number = SL_MSG_DONE, .n_fds = 1};
	sl_assert_fails(sl_wire_encode(&m, &b), SL_E_INVALID, "descriptors");
	m.number = SL_MSG_NONE;
	sl_assert_fails(sl_wire_encode(&m, &b), SL_E_INVALID, "no message");
	assert_int_equal(b.len, 0);
	sl_buf_finish(&b);
}

static void any_text_can_be_made_fit_to_send(void **state)
{
	char to[8];

	(void)state;
	sl_wire_text(to, sizeof(to), "a\nb\x1b\xff");
	assert_string_equal(to, "a?b??");
	sl_wire_text(to, sizeof(to), "abcde\xe2\x82\xac");
	assert_string_equal(to, "abcde");
	sl_wire_text(to, sizeof(to), "0123456789");
	assert_string_equal(to, "0123456");
	sl_wire_text(to, sizeof(to), NULL);
	assert_string_equal(to, "");
	sl_wire_text(to, sizeof(to), "x\xe2\x80\xaey");
	assert_string_equal(to, "x?y");
}

static void a_message_prints_as_one_line(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_msg m = {.number = SL_MSG_REGISTER,
		.seq = 3,
		.u.reg = {.name = "a\"b",
			.kind = 1,
			.priority = -2,
			.menu = {2, {{1, 2, 3}, {4, 5, 6}}}}};

	(void)state;
	sl_assert_ok(sl_wire_print(&m, &b));
	assert_string_equal(sl_buf_text(&b),
		"REGISTER seq=3 name=\"a\\\"b\" kind=1 priority=-2 deadline_ns=0 "
		"length_ns=0 turn_ns=0 allow_slowdown_ppm=0 channels=0 menu=[1+2@3 "
		"4+5@6]");
	sl_buf_clear(&b);
	m = (struct sl_msg){.number = SL_MSG_ADMITTED, .n_fds = 2};
	sl_assert_ok(sl_wire_print(&m, &b));
	assert_non_null(strstr(sl_buf_text(&b), "ADMITTED seq=0 fds=2 row=0"));
	m.number = (enum sl_msg_number)999;
	sl_assert_ok(sl_wire_print(&m, &b));
	sl_buf_finish(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(lengths_of_4_gib_are_refused_by_the_head),
		SL_TEST(a_message_is_held_to_its_own_most),
		SL_TEST(unknown_numbers_and_versions_are_stepped_over),
		SL_TEST(descriptors_are_as_many_as_the_row_allows),
		SL_TEST(texts_cannot_move_the_cursor),
		SL_TEST(inner_lengths_are_checked),
		SL_TEST(the_encoder_sends_nothing_that_would_be_refused),
		SL_TEST(any_text_can_be_made_fit_to_send),
		SL_TEST(a_message_prints_as_one_line),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
