/* SPDX-License-Identifier: Apache-2.0 */
/* The tokeniser. */
#include "harness/harness.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static struct sl_text open_text(const char *text)
{
	struct sl_text t;

	sl_text_init(&t, "plan.txt", text, strlen(text));
	return t;
}

/* The first word of the next line. */
static struct sl_word first(struct sl_text *t)
{
	struct sl_word w = {0};
	bool more = false;

	sl_assert_ok(sl_text_line(t, &more));
	assert_true(more);
	assert_true(sl_text_word(t, &w));
	return w;
}

static void a_line_is_words_bare_or_with_a_key(void **state)
{
	struct sl_text t = open_text("plan 1\t budget=8MiB  x=a=b =y z=\n");
	struct sl_word w = first(&t);

	(void)state;
	assert_true(sl_word_is(&w, "plan"));
	assert_false(sl_word_is(&w, "pla"));
	assert_false(sl_word_is(&w, "plans"));
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_is(&w, "1"));
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_key_is(&w, "budget"));
	assert_false(sl_word_key_is(&w, "budge"));
	assert_false(sl_word_is(&w, "8MiB"));
	assert_int_equal(w.value_len, 4);
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_key_is(&w, "x"));
	assert_memory_equal(w.value, "a=b", 3);
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_is(&w, "=y"));
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_key_is(&w, "z"));
	assert_int_equal(w.value_len, 0);
	assert_false(sl_text_word(&t, &w));
	assert_false(sl_text_word(&t, &w));
}

static void empty_lines_and_comments_are_passed_over(void **state)
{
	struct sl_text t = open_text("\n  \n# one\n a # b\n\t#two\nlast");
	struct sl_word w = first(&t);
	bool more = true;

	(void)state;
	assert_true(sl_word_is(&w, "a"));
	assert_int_equal(t.line, 4);
	assert_true(sl_text_word(&t, &w));
	assert_true(sl_word_is(&w, "#"));
	w = first(&t);
	assert_true(sl_word_is(&w, "last"));
	assert_int_equal(t.line, 6);
	sl_assert_ok(sl_text_line(&t, &more));
	assert_false(more);
	sl_assert_ok(sl_text_line(&t, &more));
	assert_false(more);
	assert_false(sl_text_word(&t, &w));
}

static void no_text_has_no_line(void **state)
{
	struct sl_text t;
	bool more = true;

	(void)state;
	sl_text_init(&t, "x", NULL, 0);
	sl_assert_ok(sl_text_line(&t, &more));
	assert_false(more);
}

static void control_characters_are_refused_with_their_place(void **state)
{
	struct sl_text t = open_text("a\nbc\x01\n");
	struct sl_text cr = open_text("a\r\n");
	struct sl_text del = open_text("\x7f");
	struct sl_text nul;
	bool more;

	(void)state;
	(void)first(&t);
	sl_assert_fails(sl_text_line(&t, &more), SL_E_FORMAT, "plan.txt:2: control");
	sl_assert_fails(sl_text_line(&cr, &more), SL_E_FORMAT, "0x0d in column 2");
	sl_assert_fails(sl_text_line(&del, &more), SL_E_FORMAT, "0x7f in column 1");
	sl_text_init(&nul, "x", "a\0b", 3);
	sl_assert_fails(sl_text_line(&nul, &more), SL_E_FORMAT, "x:1:");
}

static void a_line_over_the_limit_is_refused(void **state)
{
	size_t size = ((size_t)1 << 20) + 1;
	char *text = sl_alloc(size);
	struct sl_text t;
	bool more;

	(void)state;
	memset(text, 'a', size);
	sl_text_init(&t, "x", text, size);
	sl_assert_fails(sl_text_line(&t, &more), SL_E_FORMAT, "over the limit");
	sl_text_init(&t, "x", text, size - 1);
	sl_assert_ok(sl_text_line(&t, &more));
	sl_free(text);
}

static void numbers_are_checked_whole(void **state)
{
	struct sl_text t = open_text("a=12 b=-3 c=1.5e3 d=99999999999999999999 e=1x f=");
	struct sl_word w = first(&t);
	uint64_t u = 0;
	int64_t i = 0;
	double f = 0;

	(void)state;
	sl_assert_ok(sl_word_u64(&t, &w, &u));
	assert_int_equal(u, 12);
	assert_true(sl_text_word(&t, &w));
	sl_assert_ok(sl_word_i64(&t, &w, &i));
	assert_int_equal(i, -3);
	sl_assert_fails(sl_word_u64(&t, &w, &u), SL_E_FORMAT, "plan.txt:1: 'b=-3'");
	assert_true(sl_text_word(&t, &w));
	sl_assert_ok(sl_word_f64(&t, &w, &f));
	assert_true(f >= 1500 && f <= 1500);
	while (sl_text_word(&t, &w)) {
		sl_assert_fails(sl_word_u64(&t, &w, &u), SL_E_FORMAT, "plan.txt:1:");
		sl_assert_fails(sl_word_i64(&t, &w, &i), SL_E_FORMAT, "plan.txt:1:");
	}
	sl_assert_fails(sl_word_f64(&t, &w, &f), SL_E_FORMAT, "'f='");
	assert_int_equal(u, 12);
}

static void ids_may_carry_their_letter(void **state)
{
	struct sl_text t = open_text("v17 17 4294967294 v4294967295 o3 v v-1 vv1");
	struct sl_word w = first(&t);
	uint32_t id = 0;

	(void)state;
	sl_assert_ok(sl_word_id(&t, &w, 'v', &id));
	assert_int_equal(id, 17);
	assert_true(sl_text_word(&t, &w));
	sl_assert_ok(sl_word_id(&t, &w, 'v', &id));
	assert_int_equal(id, 17);
	assert_true(sl_text_word(&t, &w));
	sl_assert_ok(sl_word_id(&t, &w, 'v', &id));
	assert_int_equal(id, 4294967294u);
	while (sl_text_word(&t, &w))
		sl_assert_fails(
			sl_word_id(&t, &w, 'v', &id), SL_E_FORMAT, "is not an id");
}

static void copies_fit_or_fail(void **state)
{
	struct sl_text t = open_text("name=abc");
	struct sl_word w = first(&t);
	char four[4] = "";
	char three[3] = "";

	(void)state;
	sl_assert_ok(sl_word_copy(&t, &w, four, sizeof(four)));
	assert_string_equal(four, "abc");
	sl_assert_fails(
		sl_word_copy(&t, &w, three, sizeof(three)), SL_E_FORMAT, "too long");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_line_is_words_bare_or_with_a_key),
		SL_TEST(empty_lines_and_comments_are_passed_over),
		SL_TEST(no_text_has_no_line),
		SL_TEST(control_characters_are_refused_with_their_place),
		SL_TEST(a_line_over_the_limit_is_refused),
		SL_TEST(numbers_are_checked_whole),
		SL_TEST(ids_may_carry_their_letter),
		SL_TEST(copies_fit_or_fail),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
