/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/exec/program.c: what sealing keeps, shares and rounds. */
#include "harness/harness.h"

#include <string.h>

#include "exec/program.h"
#include "sluice/ops.h"

static const struct sl_type row = {SL_F32, {.rank = 1, .dim = {300}}};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

struct made {
	struct sl_graph *g;
	struct sl_program *p;
};

static struct made begin(void)
{
	struct made m = {0};

	sl_assert_ok(sl_graph_create(&m.g));
	return m;
}

static void seal(struct made *m)
{
	sl_assert_ok(sl_program_seal(m->g, 1, &m->p));
}

static void end(struct made *m)
{
	sl_program_destroy(m->p);
	sl_graph_destroy(m->g);
}

static sl_val input_row(struct made *m, const char *name)
{
	return sl_input(m->g, name, &row, NULL);
}

static const struct sl_program_op *op_named(const struct made *m, const char *name)
{
	for (uint32_t i = 0; i < m->p->n_ops; i++)
		if (strcmp(m->p->ops[i].info.op->name, name) == 0)
			return &m->p->ops[i];
	fail_msg("the program has no %s", name);
	return NULL;
}

static uint32_t in_storage(const struct sl_program_op *op, int i)
{
	return op->args[i].storage;
}

static uint32_t out_storage(const struct sl_program_op *op)
{
	return op->args[op->info.n_in].storage;
}

static void nodes_that_nothing_needs_are_dropped(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");
	sl_val unused = sl_tanh(m.g, sl_exp(m.g, x));

	(void)state;
	(void)unused;
	sl_output(m.g, "y", sl_relu(m.g, x));
	seal(&m);
	assert_int_equal(m.p->n_ops, 3);
	assert_string_equal(m.p->ops[0].info.op->name, "feed");
	assert_string_equal(m.p->ops[1].info.op->name, "relu");
	assert_string_equal(m.p->ops[2].info.op->name, "fetch");
	end(&m);
}

static void writes_to_states_are_kept_though_nobody_reads_them(void **state)
{
	struct made m = begin();
	sl_val s = sl_state(m.g, "s", &row, zero);

	(void)state;
	(void)sl_accumulate(m.g, s, sl_exp(m.g, input_row(&m, "x")));
	seal(&m);
	assert_int_equal(m.p->n_ops, 3);
	const struct sl_program_op *op = op_named(&m, "accumulate");
	assert_int_equal(op->n_changed, 1);
	assert_int_equal(op->changed[0], 0);
	assert_int_equal(op->n_read, 1);
	end(&m);
}

static void views_run_nothing_and_have_no_storage(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");

	(void)state;
	sl_output(m.g, "y", sl_reshape(m.g, x, &SL_SHAPE(30, 10)));
	seal(&m);
	assert_int_equal(m.p->n_ops, 2);
	assert_int_equal(m.p->n_storages, 2); /* the bounce buffer and x */
	assert_int_equal(in_storage(&m.p->ops[1], 0), out_storage(&m.p->ops[0]));
	end(&m);
}

static void an_input_that_dies_here_is_overwritten(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");

	(void)state;
	sl_output(m.g, "y", sl_relu(m.g, x));
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "relu");
	assert_int_equal(out_storage(op), in_storage(op, 0));
	assert_int_equal(op->n_read, 0);
	assert_int_equal(op->n_born, 0);
	assert_int_equal(op->n_changed, 1);
	end(&m);
}

static void an_input_used_later_is_not_overwritten(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");
	sl_val y = sl_relu(m.g, x);

	(void)state;
	sl_output(m.g, "y", y);
	sl_output(m.g, "x", x);
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "relu");
	assert_int_not_equal(out_storage(op), in_storage(op, 0));
	assert_int_equal(op->n_read, 1);
	assert_int_equal(op->n_born, 1);
	end(&m);
}

static void an_input_whose_view_is_used_later_is_not_overwritten(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");
	sl_val view = sl_reshape(m.g, x, &SL_SHAPE(3, 100));

	(void)state;
	sl_output(m.g, "y", sl_relu(m.g, x));
	sl_output(m.g, "view", view);
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "relu");
	assert_int_not_equal(out_storage(op), in_storage(op, 0));
	end(&m);
}

static void the_last_user_through_a_view_may_overwrite_the_whole(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");

	(void)state;
	sl_output(m.g, "y", sl_relu(m.g, sl_reshape(m.g, x, &SL_SHAPE(3, 100))));
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "relu");
	assert_int_equal(out_storage(op), in_storage(op, 0));
	end(&m);
}

static void parameters_and_states_are_not_overwritten(void **state)
{
	struct made m = begin();
	sl_val w = sl_param(m.g, "w", &row, zero);
	sl_val s = sl_state(m.g, "s", &row, zero);
	sl_val view = sl_reshape(m.g, w, &SL_SHAPE(3, 100));

	(void)state;
	sl_output(m.g, "a", sl_tanh(m.g, view));
	sl_output(m.g, "b", sl_relu(m.g, s));
	seal(&m);
	assert_true(out_storage(op_named(&m, "tanh")) > m.p->n_persistent);
	assert_true(out_storage(op_named(&m, "relu")) > m.p->n_persistent);
	end(&m);
}

static void an_input_given_twice_is_not_overwritten(void **state)
{
	struct made m = begin();
	sl_val x = input_row(&m, "x");

	(void)state;
	sl_output(m.g, "y", sl_add(m.g, x, x));
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "add");
	assert_int_not_equal(out_storage(op), in_storage(op, 0));
	assert_int_equal(op->n_read, 1);
	end(&m);
}

static void a_smaller_input_is_not_overwritten(void **state)
{
	struct made m = begin();
	const struct sl_type one = {SL_F32, SL_SHAPE(1)};
	sl_val x = sl_input(m.g, "x", &one, NULL);
	sl_val w = sl_param(m.g, "w", &row, zero);

	(void)state;
	sl_output(m.g, "y", sl_add(m.g, x, w));
	seal(&m);
	const struct sl_program_op *op = op_named(&m, "add");
	assert_int_equal(op->n_changed, 0);
	assert_int_equal(op->n_born, 1);
	end(&m);
}

static uint64_t bytes_of(int64_t elements)
{
	struct made m = begin();
	const struct sl_type type = {SL_F32, SL_SHAPE(elements)};
	uint64_t bytes;

	(void)sl_param(m.g, "w", &type, zero);
	seal(&m);
	bytes = m.p->storages[0].bytes;
	assert_int_equal(m.p->storages[0].used_bytes, elements * 4);
	end(&m);
	return bytes;
}

static void small_storages_are_lines_and_large_ones_blocks(void **state)
{
	(void)state;
	assert_int_equal(bytes_of(0), 64);
	assert_int_equal(bytes_of(1), 64);
	assert_int_equal(bytes_of(16), 64);
	assert_int_equal(bytes_of(17), 128);
	assert_int_equal(bytes_of(1008), 4032);
	assert_int_equal(bytes_of(1009), 4096);
	assert_int_equal(bytes_of(1024), 4096);
	assert_int_equal(bytes_of(1025), 8192);
}

static void persistent_values_come_first_and_then_the_bounce_buffer(void **state)
{
	struct made m = begin();

	(void)state;
	(void)sl_state(m.g, "s0", &row, zero);
	(void)sl_param(m.g, "w0", &row, zero);
	(void)sl_state(m.g, "s1", &row, zero);
	(void)sl_param(m.g, "w1", &row, zero);
	seal(&m);
	assert_int_equal(m.p->n_params, 2);
	assert_int_equal(m.p->n_persistent, 4);
	assert_string_equal(m.p->storages[0].name, "w0");
	assert_string_equal(m.p->storages[1].name, "w1");
	assert_string_equal(m.p->storages[2].name, "s0");
	assert_string_equal(m.p->storages[3].name, "s1");
	assert_string_equal(m.p->storages[4].name, "bounce");
	assert_int_equal(m.p->storages[0].cls, SL_CLASS_PARAM);
	assert_int_equal(m.p->storages[2].cls, SL_CLASS_STATE);
	assert_int_equal(m.p->storages[4].cls, SL_CLASS_CONST);
	end(&m);
}

static void a_failed_graph_is_not_sealed(void **state)
{
	struct made m = begin();
	const struct sl_type other = {SL_F32, SL_SHAPE(7)};

	(void)state;
	(void)sl_add(m.g, input_row(&m, "x"), sl_input(m.g, "y", &other, NULL));
	sl_assert_fails(sl_program_seal(m.g, 1, &m.p), SL_E_SHAPE, "add");
	assert_null(m.p);
	end(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(nodes_that_nothing_needs_are_dropped),
		SL_TEST(writes_to_states_are_kept_though_nobody_reads_them),
		SL_TEST(views_run_nothing_and_have_no_storage),
		SL_TEST(an_input_that_dies_here_is_overwritten),
		SL_TEST(an_input_used_later_is_not_overwritten),
		SL_TEST(an_input_whose_view_is_used_later_is_not_overwritten),
		SL_TEST(the_last_user_through_a_view_may_overwrite_the_whole),
		SL_TEST(parameters_and_states_are_not_overwritten),
		SL_TEST(an_input_given_twice_is_not_overwritten),
		SL_TEST(a_smaller_input_is_not_overwritten),
		SL_TEST(small_storages_are_lines_and_large_ones_blocks),
		SL_TEST(persistent_values_come_first_and_then_the_bounce_buffer),
		SL_TEST(a_failed_graph_is_not_sealed),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
