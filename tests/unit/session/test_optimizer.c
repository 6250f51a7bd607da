/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/optimizer.c: states, slices of large tensors, their checkpoints.
 */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <string.h>

#include "model/safetensors.h"
#include "session/optimizer.h"
#include "session/session_int.h"
#include "sluice/ops.h"

/* fc1.weight is 17.6 MB: a slice of 16 MiB and the rest. */
#define WIDE 1100
#define ROWS 4000
#define SLICE (SL_OPTIM_SLICE_BYTES / (int64_t)sizeof(float))
static const struct sl_session_config large = {
	.model = "mlp:sizes=1100-4000-2",
	.data = "synthetic:1100",
	.batch = 2,
	.steps = 2,
	.weight_decay = -1,
	.threads = 1,
};

static const struct sl_storage_info *find_state(
	const struct sl_program *p, const char *name)
{
	for (uint32_t i = p->n_params; i < p->n_persistent; i++)
		if (strcmp(p->storages[i].name, name) == 0)
			return &p->storages[i];
	return NULL;
}

/* 0 where there is none. */
static uint64_t state_bytes(const struct sl_program *p, const char *name)
{
	const struct sl_storage_info *v = find_state(p, name);

	return v != NULL ? v->used_bytes : 0;
}

static void a_large_tensor_has_states_by_slice(void **state)
{
	struct sl_session *s = NULL;
	const struct sl_program *p;
	struct sl_optimizer_slice slice;

	(void)state;
	sl_assert_ok(sl_session_open(&large, &s));
	p = s->instances[SL_TRAIN].program;
	assert_int_equal(state_bytes(p, "fc1.weight.exp_avg.0"), SL_OPTIM_SLICE_BYTES);
	assert_int_equal(
		state_bytes(p, "fc1.weight.exp_avg_sq.1"), (WIDE * ROWS - SLICE) * 4);
	assert_null(find_state(p, "fc1.weight.exp_avg.2"));
	assert_null(find_state(p, "fc1.weight.exp_avg"));
	assert_non_null(find_state(p, "fc1.bias.exp_avg"));
	assert_true(sl_optimizer_slice_of(
		s->instances[SL_TRAIN].graph, "fc1.weight.exp_avg.1", &slice));
	assert_int_equal(slice.begin, SLICE);
	assert_int_equal(slice.count, WIDE * ROWS - SLICE);
	assert_int_equal(slice.global.rank, 2);
	assert_int_equal(slice.global.dim[0], ROWS);
	assert_int_equal(slice.global.dim[1], WIDE);
	assert_false(sl_optimizer_slice_of(
		s->instances[SL_TRAIN].graph, "fc1.bias.exp_avg", &slice));
	sl_session_close(s);
}

static void the_checkpoint_names_slices_and_shapes(void **state)
{
	struct sl_session_config config = large, rest = large;
	struct sl_session_run whole, run;
	struct sl_st_file f;
	const struct sl_st_tensor *t;

	(void)state;
	config.steps = 1;
	config.save_path = sl_test_path("large");
	sl_assert_ok(sl_session_run_all(&config, &run));
	sl_assert_ok(sl_st_open(config.save_path, &f));
	assert_string_equal(
		sl_st_meta(&f, "slice.fc1.weight.exp_avg.0"), "[4000, 1100] 0:4194304");
	assert_string_equal(sl_st_meta(&f, "slice.fc1.weight.exp_avg_sq.1"),
		"[4000, 1100] 4194304:4400000");
	assert_null(sl_st_meta(&f, "slice.fc1.bias.exp_avg"));
	t = sl_st_find(&f, "fc1.weight.exp_avg.1");
	assert_true(t != NULL && t->shape.rank == 1 &&
		    t->shape.dim[0] == WIDE * ROWS - SLICE);
	sl_st_close(&f);
	sl_assert_ok(sl_session_run_all(&large, &whole));
	rest.resume_path = config.save_path;
	sl_assert_ok(sl_session_run_all(&rest, &run));
	assert_string_equal(run.summary.digest, whole.summary.digest);
}

/* So that a budget below the states of one tensor works. */
static void no_update_needs_more_than_a_slice_of_each_state(void **state)
{
	uint64_t peak, least;

	(void)state;
	sl_assert_ok(sl_session_bounds(&large, &peak, &least));
	/* Parameter and gradient whole, two slices of states. */
	assert_true(least < 2 * WIDE * ROWS * 4 + 2 * SL_OPTIM_SLICE_BYTES + (1 << 20));
}

/* One step by hand: nodes of each slice give what the whole tensor's node gives. */
static void updates_by_slice_are_updates_of_the_whole(void **state)
{
	struct sl_graph *g = NULL;
	const struct sl_type type = {SL_F32, SL_SHAPE(2 * SLICE + 5)};
	const struct sl_session_config config = {.optim = "momentum", .weight_decay = -1};
	const struct sl_init zero = {SL_INIT_ZERO, 0};
	sl_val w, grad;
	int64_t next = 0;

	(void)state;
	sl_assert_ok(sl_graph_create(&g));
	w = sl_param(g, "w", &type, zero);
	grad = sl_input(g, "grad", &type, NULL);
	sl_assert_ok(sl_optimizer_append(g, &config, true, &w, &grad, 1));
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const struct sl_optim_attr *a = g->nodes[i].attr;

		if (strcmp(g->nodes[i].op->name, "momentum") != 0)
			continue;
		assert_int_equal(a->begin, next);
		assert_int_equal(g->nodes[i].in[0].index, w.index);
		assert_int_equal(
			sl_shape_count(&g->values[g->nodes[i].in[2].index].type.shape),
			a->count);
		next += a->count;
	}
	assert_int_equal(next, 2 * SLICE + 5);
	sl_graph_destroy(g);
}

/* The update of w [192, 256] in y = x w with x [rows, 192]. */
static const char *update_of_product(int64_t rows, const struct sl_session_config *config)
{
	const struct sl_type type_w = {SL_F32, SL_SHAPE(192, 256)};
	const struct sl_type type_x = {SL_F32, SL_SHAPE(rows, 192)};
	struct sl_graph *g = NULL;
	const char *name;
	sl_val w, grad;

	sl_assert_ok(sl_graph_create(&g));
	w = sl_param(g, "w", &type_w, (struct sl_init){SL_INIT_ZERO, 0});
	sl_val y = sl_matmul(g, sl_input(g, "x", &type_x, NULL), w, SL_VAL_NONE, NULL);
	struct sl_grad_request r = {.loss = sl_sum(g, sl_mul(g, y, y), NULL),
		.seed = SL_VAL_NONE,
		.wrt = &w,
		.n_wrt = 1};
	sl_assert_ok(sl_graph_grad(g, &r, &grad));
	sl_assert_ok(sl_optimizer_append(g, config, true, &w, &grad, 1));
	name = g->nodes[g->n_nodes - 2].op->name; /* before step_next */
	sl_graph_destroy(g);
	return name;
}

static void an_update_makes_a_gradient_of_small_factors_itself(void **state)
{
	struct sl_session_config config = {.optim = "adamw", .weight_decay = -1};

	(void)state;
	assert_string_equal(update_of_product(64, &config), "matmul_adamw");
	assert_string_equal(update_of_product(80, &config), "matmul_adamw");
	assert_string_equal(update_of_product(32, &config), "adamw");
	assert_string_equal(update_of_product(96, &config), "adamw");
	config.clip = 1;
	assert_string_equal(update_of_product(64, &config), "adamw");
	config.clip = 0;
	config.optim = "adam";
	assert_string_equal(update_of_product(64, &config), "adam");
}

static void states_have_the_names_of_pytorch(void **state)
{
	const struct {
		const char *optim, *name;
	} rows[] = {{"adam", "fc1.weight.exp_avg"}, {"adamw", "fc2.bias.exp_avg_sq"},
		{"momentum", "fc1.bias.momentum_buffer"}, {"sgd", "optimizer.step"}};
	struct sl_session_config config = large;

	(void)state;
	config.model = "mlp:sizes=1100-8-2";
	for (size_t i = 0; i < SL_COUNT(rows); i++) {
		struct sl_session *s = NULL;

		config.optim = rows[i].optim;
		sl_assert_ok(sl_session_open(&config, &s));
		assert_non_null(find_state(s->instances[SL_TRAIN].program, rows[i].name));
		sl_session_close(s);
	}
}

static void an_unknown_optimizer_is_refused_with_those_there_are(void **state)
{
	struct sl_session_config config = large;
	struct sl_session *s = NULL;

	(void)state;
	config.optim = "lion";
	sl_assert_fails(
		sl_session_open(&config, &s), SL_E_USAGE, "sgd, momentum, adam, adamw");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_large_tensor_has_states_by_slice),
		SL_TEST(the_checkpoint_names_slices_and_shapes),
		SL_TEST(no_update_needs_more_than_a_slice_of_each_state),
		SL_TEST(updates_by_slice_are_updates_of_the_whole),
		SL_TEST(an_update_makes_a_gradient_of_small_factors_itself),
		SL_TEST(states_have_the_names_of_pytorch),
		SL_TEST(an_unknown_optimizer_is_refused_with_those_there_are),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
