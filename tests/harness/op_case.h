/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_OP_CASE_H
#define SL_TESTS_OP_CASE_H

#include "harness/evaluate.h"

/* One line of tests/cases/op (README.md there has the format). */
#define SL_CASE_MAX_IN 16
struct sl_op_case {
	char where[96]; /* "softmax.txt:3" */
	const struct sl_op *op;
	void *attr; /* NULL where the operator has none */
	int n_in;
	struct sl_type in[SL_CASE_MAX_IN]; /* dtype SL_DTYPE_COUNT: absent */
	char data[SL_CASE_MAX_IN][48];
	uint32_t skip, outs; /* bits */
	double tol, tol32, h;
	uint64_t seed, step;
	sl_status error; /* SL_OK: all checks */
};

struct sl_op_cases {
	struct sl_op_case *items;
	size_t n, cap;
};

/* Appends the cases of a text; SL_E_FORMAT with file and line. */
SL_NODISCARD sl_status sl_op_cases_parse(
	struct sl_op_cases *cases, const char *source, const char *text, size_t len);
void sl_op_cases_finish(struct sl_op_cases *cases);

/* A case's node in a graph of its own, its inputs as graph inputs, evaluated or ready to
 * be. */
struct sl_op_built {
	struct sl_graph *g;
	sl_val in[SL_CASE_MAX_IN];
	sl_val out[SL_OP_MAX_OUT];
};
/* The case's graph; with f32, f64 inputs become f32. Finish it in any case. */
SL_NODISCARD sl_status sl_op_case_build(
	const struct sl_op_case *c, bool f32, struct sl_op_built *out);
void sl_op_built_finish(struct sl_op_built *b);
/* Fills the inputs as the case says and sets seed and step; the same numbers in f32 and
 * f64. */
SL_NODISCARD sl_status sl_op_case_fill(
	const struct sl_op_case *c, const struct sl_op_built *b, struct sl_eval *e);

#endif
