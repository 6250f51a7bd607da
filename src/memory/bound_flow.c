/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fractional covering of a circle by intervals, as a flow round it. Node r lies before
 * row r; an interval is an arc over its rows, and beside each row there is a free arc
 * that has room for what its need leaves of the whole flow W, so that flow W across every
 * row is a cover. The circle has W as a demand of its own: it is priced by a multiplier
 * per unit of flow over the last row, and the multiplier is searched for by the tangents
 * of the (concave) least cost. Each multiplier's flow is found by the primal network
 * simplex from the one before; trees are kept strongly feasible (Cunningham 1976), so it
 * ends.
 */
#include <math.h>

#include "base/alloc.h"
#include "memory/bound.h"

#define EPS 1e-9
#define NONE UINT32_MAX
#define MULTIPLIERS 60
/* Arcs and nodes looked at, some 0.2 s: sixteen times what a thousand ops take. */
#define MOST_WORK ((uint64_t)1 << 25)

enum side { AT_ZERO, AT_FULL, IN_TREE };

struct arc {
	uint32_t from, to;
	uint64_t room, flow;
	double cost, priced; /* priced: with the multiplier */
	uint8_t side;
	bool last; /* is over the last row */
};

struct node {
	uint32_t parent, arc; /* to the parent */
	uint32_t child, next, before; /* children are a list */
	uint32_t depth;
	double price;
};

struct flow {
	struct arc *arcs; /* the covers', then one a row */
	struct node *nodes;
	uint32_t n_arcs, n_nodes, scan;
	double most; /* the largest cost */
	uint64_t work;
};

static bool points_up(const struct flow *f, uint32_t v)
{
	return f->arcs[f->nodes[v].arc].from == v;
}

static void link_child(struct flow *f, uint32_t parent, uint32_t v)
{
	struct node *n = &f->nodes[v], *p = &f->nodes[parent];

	n->parent = parent;
	n->before = NONE;
	n->next = p->child;
	if (p->child != NONE)
		f->nodes[p->child].before = v;
	p->child = v;
}

static void unlink_child(struct flow *f, uint32_t v)
{
	struct node *n = &f->nodes[v];

	if (n->before != NONE)
		f->nodes[n->before].next = n->next;
	else
		f->nodes[n->parent].child = n->next;
	if (n->next != NONE)
		f->nodes[n->next].before = n->before;
}

static void set_price(struct flow *f, uint32_t v)
{
	struct node *n = &f->nodes[v];
	const struct node *p = &f->nodes[n->parent];
	double cost = f->arcs[n->arc].priced;

	n->depth = p->depth + 1;
	n->price = points_up(f, v) ? p->price - cost : p->price + cost;
}

/* Depths and prices below top, whose own are right. */
static void set_prices_below(struct flow *f, uint32_t top)
{
	uint32_t v = top;

	for (;;) {
		if (f->nodes[v].child != NONE) {
			v = f->nodes[v].child;
		} else {
			while (v != top && f->nodes[v].next == NONE)
				v = f->nodes[v].parent;
			if (v == top)
				return;
			v = f->nodes[v].next;
		}
		f->work++;
		set_price(f, v);
	}
}

static bool improves(const struct flow *f, const struct arc *a, double *by)
{
	double cost = a->priced + f->nodes[a->from].price - f->nodes[a->to].price;

	*by = a->side == AT_ZERO ? -cost : cost;
	return a->side != IN_TREE && *by > EPS * (1 + f->most);
}

/* The arc of the steepest price in the next block that has one; NONE: all is best. */
static uint32_t find_entering(struct flow *f)
{
	uint32_t block = (uint32_t)sqrt((double)f->n_arcs) + 8, best = NONE;
	double steepest = 0, by;

	for (uint32_t i = 0; i < f->n_arcs; i++) {
		if (improves(f, &f->arcs[f->scan], &by) && by > steepest) {
			steepest = by;
			best = f->scan;
		}
		f->work++;
		f->scan = f->scan + 1 < f->n_arcs ? f->scan + 1 : 0;
		if ((i + 1) % block == 0 && best != NONE)
			break;
	}
	return best;
}

struct pivot {
	uint32_t arc;
	uint32_t tail, head; /* flow is pushed from tail over the arc to head */
	uint32_t top; /* of the cycle */
	uint32_t leaving; /* the node below the arc that leaves; NONE: arc itself */
	bool tail_side; /* where it leaves */
	uint64_t by;
};

static uint32_t find_top(const struct flow *f, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (f->nodes[a].depth >= f->nodes[b].depth)
			a = f->nodes[a].parent;
		else
			b = f->nodes[b].parent;
	}
	return a;
}

/* How much more can go over v's arc, upwards or downwards. */
static uint64_t slack_of(const struct flow *f, uint32_t v, bool up)
{
	const struct arc *a = &f->arcs[f->nodes[v].arc];

	return points_up(f, v) == up ? a->room - a->flow : a->flow;
}

/* The last arc of the cycle that blocks, seen from the top along the flow. */
static void find_leaving(struct flow *f, struct pivot *p)
{
	p->by = f->arcs[p->arc].room;
	p->leaving = NONE;
	f->work += f->nodes[p->tail].depth + f->nodes[p->head].depth -
		   2 * (uint64_t)f->nodes[p->top].depth;
	for (uint32_t v = p->tail; v != p->top; v = f->nodes[v].parent) {
		uint64_t slack = slack_of(f, v, false);

		if (slack < p->by) {
			p->by = slack;
			p->leaving = v;
			p->tail_side = true;
		}
	}
	for (uint32_t v = p->head; v != p->top; v = f->nodes[v].parent) {
		uint64_t slack = slack_of(f, v, true);

		if (slack <= p->by) {
			p->by = slack;
			p->leaving = v;
			p->tail_side = false;
		}
	}
}

static void push(struct flow *f, const struct pivot *p)
{
	struct arc *a = &f->arcs[p->arc];

	a->flow = a->side == AT_ZERO ? a->flow + p->by : a->flow - p->by;
	for (uint32_t v = p->tail; v != p->top; v = f->nodes[v].parent) {
		uint64_t *flow = &f->arcs[f->nodes[v].arc].flow;

		*flow = points_up(f, v) ? *flow - p->by : *flow + p->by;
	}
	for (uint32_t v = p->head; v != p->top; v = f->nodes[v].parent) {
		uint64_t *flow = &f->arcs[f->nodes[v].arc].flow;

		*flow = points_up(f, v) ? *flow + p->by : *flow - p->by;
	}
}

/* Hangs what is below the leaving arc onto the entering one. */
static void exchange(struct flow *f, const struct pivot *p)
{
	uint32_t v = p->tail_side ? p->tail : p->head;
	uint32_t parent = p->tail_side ? p->head : p->tail;
	uint32_t arc = p->arc, root = v, gone = f->nodes[p->leaving].arc;
	bool done = false;

	f->arcs[gone].side = f->arcs[gone].flow == 0 ? AT_ZERO : AT_FULL;
	f->arcs[arc].side = IN_TREE;
	while (!done) {
		uint32_t up = f->nodes[v].parent, up_arc = f->nodes[v].arc;

		done = v == p->leaving;
		unlink_child(f, v);
		f->nodes[v].arc = arc;
		link_child(f, parent, v);
		parent = v;
		arc = up_arc;
		v = up;
	}
	set_price(f, root);
	set_prices_below(f, root);
}

static void settle(struct flow *f)
{
	while (f->work <= MOST_WORK) {
		struct pivot p = {.arc = find_entering(f)};
		struct arc *a;

		if (p.arc == NONE)
			return;
		a = &f->arcs[p.arc];
		p.tail = a->side == AT_ZERO ? a->from : a->to;
		p.head = a->side == AT_ZERO ? a->to : a->from;
		p.top = find_top(f, p.tail, p.head);
		find_leaving(f, &p);
		push(f, &p);
		if (p.leaving == NONE)
			a->side = a->side == AT_ZERO ? AT_FULL : AT_ZERO;
		else
			exchange(f, &p);
	}
}

/* The best flow for a multiplier: what it costs without it, and its width. */
struct tangent {
	double cost, width;
};

static struct tangent touch(struct flow *f, double multiplier)
{
	struct tangent at = {0};

	for (uint32_t i = 0; i < f->n_arcs; i++)
		f->arcs[i].priced = f->arcs[i].cost - (f->arcs[i].last ? multiplier : 0);
	set_prices_below(f, f->n_nodes - 1);
	settle(f);
	for (uint32_t i = 0; i < f->n_arcs; i++) {
		at.cost += f->arcs[i].cost * (double)f->arcs[i].flow;
		at.width += f->arcs[i].last ? (double)f->arcs[i].flow : 0;
	}
	return at;
}

/* The peak of the least cost over multipliers, which is the cost at this width. */
static double climb(struct flow *f, double width, bool *possible)
{
	double far = 2 * (f->most + 1) * (f->n_nodes + 1.0), near = 2 * (f->most + 1);
	double least = 0;
	struct tangent low = {0}, high = touch(f, near);

	/* Few covers lie one after the other, so a low multiplier mostly does. */
	while (high.width < width && near < far && f->work <= MOST_WORK) {
		low = high;
		near *= 4;
		high = touch(f, near);
	}
	*possible = high.width >= width || f->work > MOST_WORK;
	for (int i = 0; *possible && i < MULTIPLIERS && high.width > low.width; i++) {
		double multiplier = (high.cost - low.cost) / (high.width - low.width);
		double line = low.cost + multiplier * (width - low.width);
		struct tangent at = touch(f, multiplier);
		double cost = at.cost + multiplier * (width - at.width);

		if (f->work > MOST_WORK)
			break; /* that was no least cost */
		least = fmax(least, cost);
		if (cost >= line - EPS * (1 + fabs(line)))
			break;
		if (at.width < width)
			low = at;
		else
			high = at;
	}
	return least;
}

static sl_status begin(
	struct flow *f, uint32_t n_rows, const struct sl_cover *covers, uint32_t n)
{
	f->n_nodes = n_rows;
	f->arcs = sl_calloc((size_t)n + n_rows + 1, sizeof(*f->arcs));
	f->nodes = sl_calloc((size_t)n_rows + 1, sizeof(*f->nodes));
	if (f->arcs == NULL || f->nodes == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a traffic bound");
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_cover *c = &covers[i];

		f->most = fmax(f->most, c->cost);
		f->arcs[f->n_arcs++] = (struct arc){.from = c->first,
			.to = (uint32_t)(((uint64_t)c->first + c->rows) % n_rows),
			.room = c->bytes,
			.cost = c->cost,
			.last = c->first + (uint64_t)c->rows >= n_rows};
	}
	for (uint32_t i = 0; i < n_rows; i++)
		f->nodes[i] = (struct node){.parent = NONE,
			.arc = NONE,
			.child = NONE,
			.next = NONE,
			.before = NONE};
	return SL_OK;
}

/* Free arcs, a tree of them, and the width of the whole flow: above all covers and needs,
 * so that covering more than is needed is possible, each arc of the tree has room and
 * the tree is strongly feasible. */
static uint64_t add_free(struct flow *f, const uint64_t *need)
{
	uint64_t width = 0;

	for (uint32_t i = 0; i < f->n_nodes; i++)
		width = need[i] > width ? need[i] : width;
	width++;
	for (uint32_t i = 0; i < f->n_arcs; i++)
		width += f->arcs[i].room;
	for (uint32_t i = f->n_nodes; i-- > 0;) {
		bool last = i + 1 == f->n_nodes;

		f->arcs[f->n_arcs + i] = (struct arc){.from = i,
			.to = last ? 0 : i + 1,
			.room = width - need[i],
			.side = last ? AT_ZERO : IN_TREE,
			.last = last};
		f->nodes[i].arc = f->n_arcs + i;
		if (!last)
			link_child(f, i + 1, i);
	}
	f->n_arcs += f->n_nodes;
	return width;
}

sl_status sl_cover_solve(const uint64_t *need, uint32_t n_rows,
	const struct sl_cover *covers, uint32_t n, double *out_least, bool *possible)
{
	struct flow f = {0};
	sl_status st;

	*possible = true;
	*out_least = 0;
	if (n_rows == 0)
		return SL_OK;
	SL_TRY_OUT(begin(&f, n_rows, covers, n));
	*out_least = climb(&f, (double)add_free(&f, need), possible);
out:
	sl_free(f.arcs);
	sl_free(f.nodes);
	return st;
}
