/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/sim/cost*.c: what books say, predict, print and refuse. */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "sim/cost.h"
#include "sluice/ops.h"

#define HEAD "cost 1 device=box cores=4\n"
#define DEFAULT_ROW "op * start_ns=100 flops_per_s=1e+09 bytes_per_s=2e+09 load=0.5\n"

static struct sl_cost_book parsed(const char *text)
{
	struct sl_cost_book b;

	sl_assert_ok(sl_cost_parse("book", text, strlen(text), &b));
	return b;
}

static void predictions_are_the_roofline_with_start_and_load(void **state)
{
	struct sl_cost_book b = parsed(HEAD DEFAULT_ROW
		"op matmul start_ns=0 flops_per_s=1e+12 bytes_per_s=1e+12 load=0\n");

	(void)state;
	/* 1 flop a ns, 2 bytes a ns */
	assert_int_equal(sl_cost_predict(&b, "add", 1000, 1000, 0), 1100);
	assert_int_equal(sl_cost_predict(&b, "add", 1000, 4000, 0), 2100);
	assert_int_equal(sl_cost_predict(&b, "add", 1000, 4000, 1), 3150);
	assert_int_equal(sl_cost_predict(&b, "add", 1000, 4000, 0.5), 2625);
	assert_int_equal(sl_cost_predict(&b, "matmul", 5e6, 0, 1), 5000);
	assert_int_equal(sl_cost_predict(&b, "matmul", 1, 1, 0), 1);
	assert_int_equal(sl_cost_predict(&b, "add", 1e300, 1e300, 1), 1000000000000000);
}

static void rows_are_sorted_and_replaced(void **state)
{
	struct sl_cost_book b = parsed(HEAD DEFAULT_ROW);
	struct sl_cost_op row = b.ops[0];

	(void)state;
	snprintf(row.kind, sizeof(row.kind), "relu");
	sl_assert_ok(sl_cost_set_op(&b, &row));
	snprintf(row.kind, sizeof(row.kind), "add");
	sl_assert_ok(sl_cost_set_op(&b, &row));
	row.start_ns = 7;
	sl_assert_ok(sl_cost_set_op(&b, &row));
	assert_int_equal(b.n_ops, 3);
	assert_string_equal(b.ops[1].kind, "add");
	assert_string_equal(b.ops[2].kind, "relu");
	assert_ptr_equal(sl_cost_row(&b, "add"), &b.ops[1]);
	assert_ptr_equal(sl_cost_row(&b, "tanh"), &b.ops[0]);
	assert_true(sl_cost_row(&b, "add")->start_ns == 7);
}

static void a_book_holds_so_many_rows_and_links(void **state)
{
	struct sl_cost_book b = parsed(HEAD DEFAULT_ROW);
	struct sl_cost_op row = b.ops[0];
	struct sl_cost_link link = {.to = "disk", .bytes_per_s = 1};

	(void)state;
	for (uint32_t i = 1; i < SL_COST_MAX_OPS; i++) {
		snprintf(row.kind, sizeof(row.kind), "k%u", i);
		sl_assert_ok(sl_cost_set_op(&b, &row));
	}
	snprintf(row.kind, sizeof(row.kind), "more");
	sl_assert_fails(sl_cost_set_op(&b, &row), SL_E_LIMIT, "at most");
	for (uint32_t i = 0; i < SL_COST_MAX_LINKS; i++) {
		snprintf(link.from, sizeof(link.from), "t%u", i);
		sl_assert_ok(sl_cost_set_link(&b, &link));
	}
	snprintf(link.from, sizeof(link.from), "more");
	sl_assert_fails(sl_cost_set_link(&b, &link), SL_E_LIMIT, "at most");
}

static void the_books_of_the_build_are_whole_and_print_and_parse_alike(void **state)
{
	const struct sl_cost_book *b;

	(void)state;
	for (size_t i = 0; (b = sl_cost_book_at(i, NULL)) != NULL; i++) {
		struct sl_buf text = SL_BUF_INIT, again = SL_BUF_INIT;
		struct sl_cost_book back;

		assert_ptr_equal(sl_cost_book_find(b->device), b);
		assert_string_equal(b->ops[0].kind, "*");
		for (uint32_t k = 1; k < b->n_ops; k++)
			assert_true(strcmp(b->ops[k - 1].kind, b->ops[k].kind) < 0);
		sl_assert_ok(sl_cost_print(b, &text));
		sl_assert_ok(sl_cost_parse("text", sl_buf_text(&text), text.len, &back));
		sl_assert_ok(sl_cost_print(&back, &again));
		assert_string_equal(sl_buf_text(&text), sl_buf_text(&again));
		assert_non_null(sl_cost_link_find(b, "device", "host"));
		assert_non_null(sl_cost_link_find(b, "disk", "device"));
		sl_buf_finish(&text);
		sl_buf_finish(&again);
	}
	assert_null(sl_cost_book_find("abacus"));
}

/* A row for a kind that no operator has would never be used. */
static void rows_are_named_like_operators(void **state)
{
	const struct sl_cost_book *b;

	(void)state;
	for (size_t i = 0; (b = sl_cost_book_at(i, NULL)) != NULL; i++) {
		for (uint32_t k = 1; k < b->n_ops; k++) {
			/* The ends of a graph are in no table. */
			bool found = strcmp(b->ops[k].kind, "feed") == 0 ||
				     strcmp(b->ops[k].kind, "fetch") == 0;
			const char *name, *help;

			for (size_t n = 0; (name = sl_op_name_at(n, &help)) != NULL; n++)
				found |= strcmp(name, b->ops[k].kind) == 0;
			if (!found)
				fail_msg("%s: %s", b->device, b->ops[k].kind);
		}
	}
}

static void texts_that_are_no_books_are_refused_with_their_line(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "begins with `cost 1`"},
		{"trace 1\n", "begins with `cost 1`"},
		{"cost 2 device=a cores=1\n", "version 2"},
		{"cost 1 cores=1\n", "device= comes next"},
		{"cost 1 device=a cores=0\n", "1 or more cores"},
		{"cost 1 device=a cores=1 date=now\n", "goes on"},
		{HEAD, "op *"},
		{HEAD "op add start_ns=1 flops_per_s=1 bytes_per_s=1 load=0\n", "op *"},
		{HEAD DEFAULT_ROW DEFAULT_ROW, "book:3: op * is given twice"},
		{HEAD "op * start_ns=1 flops_per_s=1 load=0\n",
			"bytes_per_s= is missing"},
		{HEAD "op * start_ns=-1 flops_per_s=1 bytes_per_s=1 load=0\n", "book:2"},
		{HEAD "op * start_ns=1 flops_per_s=0 bytes_per_s=1 load=0\n", "above 0"},
		{HEAD "op * start_ns=1 flops_per_s=nan bytes_per_s=1 load=0\n", "book:2"},
		{HEAD "op * start_ns=1 start_ns=1\n", "given twice"},
		{HEAD "op * colour=blue\n", "no key"},
		{HEAD "op start_ns=1\n", "kind is missing"},
		{HEAD "op ! start_ns=1 flops_per_s=1 bytes_per_s=1 load=0\n", "letter"},
		{HEAD DEFAULT_ROW "link a b bytes_per_s=0 latency_ns=1\n", "above 0"},
		{HEAD DEFAULT_ROW "link a b bytes_per_s=1 latency_ns=1.5\n", "book:3"},
		{HEAD DEFAULT_ROW "link a bytes_per_s=1\n", "end of the link"},
		{HEAD DEFAULT_ROW "link a b bytes_per_s=1 latency_ns=1\n"
				  "link a b bytes_per_s=2 latency_ns=1\n",
			"given twice"},
		{HEAD DEFAULT_ROW "tier a\n", "begins no line"},
	};
	struct sl_cost_book b;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		sl_assert_fails(
			sl_cost_parse("book", bad[i].text, strlen(bad[i].text), &b),
			SL_E_FORMAT, bad[i].says);
		assert_int_equal(b.n_ops, 0);
	}
}

static void links_have_a_direction(void **state)
{
	struct sl_cost_book b =
		parsed(HEAD DEFAULT_ROW "link device disk bytes_per_s=5 latency_ns=6\n"
					"link disk device bytes_per_s=7 latency_ns=8\n");

	(void)state;
	assert_int_equal(sl_cost_link_find(&b, "device", "disk")->bytes_per_s, 5);
	assert_int_equal(sl_cost_link_find(&b, "disk", "device")->latency_ns, 8);
	assert_null(sl_cost_link_find(&b, "device", "host"));
	assert_int_equal(b.cores, 4);
	assert_string_equal(b.device, "box");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(predictions_are_the_roofline_with_start_and_load),
		SL_TEST(rows_are_sorted_and_replaced),
		SL_TEST(a_book_holds_so_many_rows_and_links),
		SL_TEST(the_books_of_the_build_are_whole_and_print_and_parse_alike),
		SL_TEST(rows_are_named_like_operators),
		SL_TEST(texts_that_are_no_books_are_refused_with_their_line),
		SL_TEST(links_have_a_direction),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
