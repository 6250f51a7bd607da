/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of operators: what names, views, copies and changes mean, and logs that are wrong.
 */
#include "harness/harness.h"

#include <string.h>

#include "memory/foreign/foreign.h"

static sl_status parse(const char *text, struct sl_trace *t)
{
	struct sl_foreign_text x = {"l", text, strlen(text)};

	return sl_dtr_parse(&x, t);
}

#define NOTE(what) "{\"INSTRUCTION\": \"ANNOTATE\", \"ANNOTATION\": \"" what "\"}\n"
#define MEMORY(name, n) \
	"{\"INSTRUCTION\": \"MEMORY\", \"NAME\": \"" name "\", \"MEMORY\": \"" n "\"}\n"
#define ALIAS(name, n) \
	"{\"INSTRUCTION\": \"ALIAS\", \"NAME\": \"" name "\", \"ALIAS\": \"" n "\"}\n"
#define CONSTANT(name, n) \
	"{\"INSTRUCTION\": \"CONSTANT\", \"NAME\": \"" name "\"}\n" MEMORY(name, n)
#define CALL(name, args, results, ns) \
	"{\"INSTRUCTION\": \"CALL\", \"NAME\": \"" name "\", \"ARGS\": [" args \
	"], \"RESULT\": [" results "], \"TIME\": \"" ns "\"}\n"
#define MUTATE(name, args, changed, ns) \
	"{\"INSTRUCTION\": \"MUTATE\", \"NAME\": \"" name "\", \"ARGS\": [" args \
	"], \"MUTATE\": [" changed "], \"TIME\": " ns "}\n"
#define RELEASE(name) "{\"INSTRUCTION\": \"RELEASE\", \"NAME\": \"" name "\"}\n"
#define COPY(what, to, from) \
	"{\"INSTRUCTION\": \"" what "\", \"DST\": \"" to "\", \"SRC\": \"" from "\"}\n"

static void assert_reads(const char *log, const char *values_and_ops)
{
	struct sl_trace t = SL_TRACE_INIT, want = SL_TRACE_INIT;
	struct sl_buf text = SL_BUF_INIT, wanted = SL_BUF_INIT, head = SL_BUF_INIT;

	sl_assert_ok(parse(log, &t));
	sl_assert_ok(sl_trace_print(&t, &text));
	sl_assert_ok(sl_buf_printf(
		&head, "trace 1\njob 0 name=dtr iterations=0\n%s", values_and_ops));
	sl_assert_ok(sl_trace_parse("w", sl_buf_text(&head), head.len, &want));
	sl_assert_ok(sl_trace_print(&want, &wanted));
	assert_string_equal(sl_buf_text(&text), sl_buf_text(&wanted));
	sl_buf_finish(&text);
	sl_buf_finish(&wanted);
	sl_buf_finish(&head);
	sl_trace_finish(&t);
	sl_trace_finish(&want);
}

static void calls_and_changes_become_ops(void **state)
{
	(void)state;
	assert_reads(CONSTANT("old", "9") NOTE("START") CONSTANT("w", "100") CONSTANT(
			     "x", "50") CALL("conv 2d", "\"w\", \"x\"", "\"a\", \"s\"",
			     "7") MEMORY("a", "30") ALIAS("a", "-1") MEMORY("s",
			     "4") ALIAS("s", "-1") MUTATE("relu_", "\"a\",\"x\"", "0",
			     "3") CALL("conv_backward", "\"a\", \"w\"", "\"g\"", "9")
			     MEMORY("g", "100") ALIAS("g", "-1") RELEASE("a") RELEASE("s")
				     MUTATE("sgd_", "\"g\", \"w\", \"w\"", "1", "5")
					     RELEASE("g"),
		"value v0 bytes=100 class=param name=w\n"
		"value v1 bytes=50 class=const name=x\n"
		"value v2 bytes=30 class=act name=a\n"
		"value v3 bytes=4 class=act name=s\n"
		"value v4 bytes=100 class=grad name=g\n"
		"op 0 kind=conv_2d dur_ns=7 in=v0,v1 out=v2,v3\n"
		"op 1 kind=relu_ dur_ns=3 in=v1 mutates=v2\n"
		"op 2 kind=conv_backward dur_ns=9 in=v2,v0 out=v4\n"
		"op 3 kind=sgd_ dur_ns=5 in=v4 mutates=v0\n");
}

static void views_and_copies_are_other_names(void **state)
{
	(void)state;
	assert_reads(NOTE("START") CONSTANT("x", "50") CALL("f", "\"x\"", "\"a\"",
			     "1") MEMORY("a", "8") ALIAS("a", "-1") CALL("view", "\"a\"",
			     "\"b\"", "2") MEMORY("b", "8") ALIAS("b", "0") COPY("COPY",
			     "c", "b") CALL("g", "\"c\"", "\"d\"", "3") MEMORY("d", "6")
			     ALIAS("d", "-1") COPY("COPY_FROM", "c", "d") CALL(
				     "h", "\"c\"", "\"n\"", "4") MEMORY("n", "0")
				     ALIAS("n", "-1") CALL("k", "\"n\"", "", "5")
					     RELEASE("a") RELEASE("b") RELEASE("never"),
		"value v0 bytes=50 class=const name=x\n"
		"value v1 bytes=8 class=act name=a\n"
		"value v2 bytes=6 class=act name=d\n"
		"op 0 kind=f dur_ns=1 in=v0 out=v1\n"
		"op 1 kind=view dur_ns=2 in=v1\n"
		"op 2 kind=g dur_ns=3 in=v1 out=v2\n"
		"op 3 kind=h dur_ns=4 in=v2\n"
		"op 4 kind=k dur_ns=5\n"
		"op 5 kind=output in=v2 pure=0\n");
}

static const struct {
	const char *text, *part;
} hostile[] = {
	{"x\n", "l:1: no object"},
	{"{\"INSTRUCTION\"\n", "l:1: a member has no value"},
	{"{\"INSTRUCTION\": \"CALL\n", "l:1: a text does not end"},
	{"{\"INSTRUCTION\": {}}\n", "l:1: neither a text nor a number"},
	{"{\"INSTRUCTION\": 1} 2\n", "l:1: more than an object"},
	{"{\"INSTRUCTION\": [1 2]}\n", "l:1: a list does not end"},
	{"{\"INSTRUCTION\": \"A\tB\"}\n", "l:1: a control character"},
	{"{\"NAME\": \"x\"}\n", "l:1: INSTRUCTION is missing"},
	{"{\"NAME\": \"x\", \"TIME\": 1, \"NAME\": \"y\"}\n",
		"l:1: the member 'NAME' is given twice"},
	{"\n{\"INSTRUCTION\": \"JUMP\"}\n", "l:2: 'JUMP' is no instruction"},
	{"{\"INSTRUCTION\": [\"CALL\"]}\n", "l:1: INSTRUCTION is a list"},
	{MEMORY("a", "1"), "l:1: 'MEMORY' is no instruction that stands by itself"},
	{"{\"INSTRUCTION\": \"CONSTANT\", \"NAME\": \"a\"}\n", "l:1: the log ends where"},
	{"{\"INSTRUCTION\": \"CONSTANT\", \"NAME\": \"a\"}\n" RELEASE("a"),
		"l:2: MEMORY is to follow"},
	{"{\"INSTRUCTION\": \"CONSTANT\", \"NAME\": \"a\"}\n" MEMORY("b", "1"),
		"l:2: MEMORY is of another tensor"},
	{CONSTANT("a", "1.5"), "l:2: MEMORY '1.5' is not a whole number"},
	{CONSTANT("a", "-1"), "l:2: less than no bytes"},
	{CONSTANT("a", "1") CONSTANT("a", "1"), "l:4: a tensor is called a already"},
	{CONSTANT("", "1"), "l:2: a name has 0 bytes"},
	{CALL("f", "\"q\"", "", "1"), "l:1: no tensor is called q"},
	{CALL("f", "", "", "-1"), "l:1: TIME is below 0"},
	{CALL("f", "", "\"a\"", "1") MEMORY("a", "1") ALIAS("a", "0"),
		"l:3: a view of argument 0; there are 0"},
	{CONSTANT("a", "1") MUTATE("f", "\"a\"", "1", "1"),
		"l:3: argument 1 is changed; there are 1"},
	{CONSTANT("a", "1152921504606846976") CONSTANT("b", "1"), "l: v1 brings"},
};

static void hostile_logs_are_refused_with_line_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(hostile); i++) {
		struct sl_trace t = SL_TRACE_INIT;

		sl_assert_fails(parse(hostile[i].text, &t), SL_E_FORMAT, hostile[i].part);
	}
}

static sl_status read_and_write(void *ctx)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	(void)ctx;
	SL_TRY(parse(NOTE("START") CONSTANT("w", "64") CALL("f", "\"w\"", "\"a\"", "1")
			     MEMORY("a", "8") ALIAS("a", "-1") COPY("COPY", "b", "a")
				     MUTATE("u", "\"b\", \"w\"", "1", "2"),
		&t));
	st = sl_dtr_print(&t, &text, NULL);
	sl_buf_finish(&text);
	sl_trace_finish(&t);
	return st;
}

static void memory_may_run_out_anywhere(void **state)
{
	(void)state;
	assert_true(sl_torture(read_and_write, NULL) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(calls_and_changes_become_ops),
		SL_TEST(views_and_copies_are_other_names),
		SL_TEST(hostile_logs_are_refused_with_line_and_reason),
		SL_TEST(memory_may_run_out_anywhere),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
