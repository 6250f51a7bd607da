/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that swapping takes at least, by windows of ops. What a window touches and was
 * alive before it cannot all have been on the device when it began, if it is more than
 * the budget; what it writes and is alive after it cannot all be there when it ends. The
 * rest is copied while the window lasts. Windows that do not overlap add up.
 */
#include "memory/bound_int.h"

#include <math.h>

#include "base/alloc.h"

/* Windows are at most this long, so that 10,000 ops take no minute. */
#define LONGEST 500u

struct windows {
	const struct sl_trace *t;
	const struct sl_trace_index *x;
	uint64_t budget;
	uint32_t *touched, *written; /* [n_values] the last window that did, + 1 */
	uint64_t in, out; /* bytes of the window: touched and old, written and lasting */
};

static bool lasts(const struct windows *w, uint32_t v, uint32_t op)
{
	uint32_t end = w->x->first[v + 1];

	return sl_class_persistent(w->t->values[v].cls) || w->x->uses[end - 1].op > op;
}

static bool is_old(const struct windows *w, uint32_t v, uint32_t first)
{
	return sl_class_persistent(w->t->values[v].cls) ||
	       w->x->uses[w->x->first[v]].op < first;
}

static void touch(struct windows *w, uint32_t first, uint32_t op, const uint32_t *list,
	uint32_t n, bool writes)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(w->t, list[i]);
		uint64_t bytes = w->t->values[v].bytes;

		if (w->touched[v] != first + 1) {
			w->touched[v] = first + 1;
			w->in += is_old(w, v, first) ? bytes : 0;
		}
		if (writes && w->written[v] != first + 1 && lasts(w, v, op)) {
			w->written[v] = first + 1;
			w->out += bytes;
		}
		if (!lasts(w, v, op) && w->written[v] == first + 1) {
			w->written[v] = 0;
			w->out -= bytes;
		}
	}
}

static double over(uint64_t bytes, uint64_t budget)
{
	return bytes > budget ? (double)(bytes - budget) : 0;
}

/* Raises end[] of the windows that begin at first: end[i] is when op i - 1 ends. */
static void from(struct windows *w, uint32_t first, const struct sl_bound_rates *rates,
	double *end)
{
	w->in = w->out = 0;
	for (uint32_t op = first; op < w->t->n_ops && op - first < LONGEST; op++) {
		const struct sl_trace_op *o = &w->t->ops[op];
		double ns;

		touch(w, first, op, o->in, o->n_in, false);
		touch(w, first, op, o->mutates, o->n_mutates, true);
		touch(w, first, op, o->out, o->n_out, true);
		if (w->in <= w->budget && w->out <= w->budget)
			continue;
		ns = sl_bound_copy_ns(
			rates, over(w->out, w->budget), over(w->in, w->budget));
		end[op + 1] = fmax(end[op + 1], end[first] + ns);
	}
}

sl_status sl_bound_windows(const struct sl_trace *t, const struct sl_trace_index *x,
	uint64_t budget, const struct sl_bound_rates *rates, double *out_ns)
{
	struct windows w = {.t = t, .x = x, .budget = budget};
	double *end = sl_calloc((size_t)t->n_ops + 1, sizeof(*end));
	sl_status st = SL_OK;

	w.touched = sl_calloc((size_t)t->n_values + 1, sizeof(*w.touched));
	w.written = sl_calloc((size_t)t->n_values + 1, sizeof(*w.written));
	if (!end || !w.touched || !w.written) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left for a traffic bound");
		goto out;
	}
	for (uint32_t i = 0; i < t->n_ops; i++) {
		from(&w, i, rates, end);
		end[i + 1] = fmax(end[i + 1], end[i] + (double)t->ops[i].dur_ns);
	}
	*out_ns = end[t->n_ops];
out:
	sl_free(end);
	sl_free(w.touched);
	sl_free(w.written);
	return st;
}
