/* SPDX-License-Identifier: Apache-2.0 */
/* A replayed job's way through its iterations: positions, actions, ops, the device. */
#include "memory/replay_int.h"

/* Calls fn for every root that an op reads, changes or bears, maybe more than once. */
static void each_touched(
	struct sl_player *p, uint32_t op, void (*fn)(struct sl_player *p, uint32_t v))
{
	const struct sl_trace_op *o = &p->trace->ops[op];

	for (uint32_t i = 0; i < o->n_in; i++)
		fn(p, sl_trace_root(p->trace, o->in[i]));
	for (uint32_t i = 0; i < o->n_mutates; i++)
		fn(p, sl_trace_root(p->trace, o->mutates[i]));
	for (uint32_t i = 0; i < o->n_out; i++)
		fn(p, sl_trace_root(p->trace, o->out[i]));
}

const struct sl_action *sl_player_action(const struct sl_player *p)
{
	const struct sl_action *a;

	if (p->run->opts->bare || p->action >= p->plan->n_actions)
		return NULL;
	a = &p->plan->actions[p->action];
	return a->op == p->op && a->phase == p->phase ? a : NULL;
}

static void note_last(struct sl_player *p, uint32_t v)
{
	p->last[v] = p->step;
}

static void walk_actions(struct sl_player *p)
{
	const struct sl_action *a;

	while ((a = sl_player_action(p)) != NULL) {
		uint32_t lines = sl_plan_group_lines(p->plan, p->action);

		if (lines > 0) {
			each_touched(p, a->again, note_last);
			p->step++;
		}
		p->action += lines > 0 ? lines : 1;
	}
}

/* The way of an iteration, without time. */
void sl_player_find_last(struct sl_player *p)
{
	for (p->op = 0; p->op < p->trace->n_ops; p->op++) {
		p->phase = SL_BEFORE;
		walk_actions(p);
		each_touched(p, p->op, note_last);
		p->step++;
		p->phase = SL_AFTER;
		walk_actions(p);
	}
	p->op = p->action = p->step = 0;
	p->phase = SL_BEFORE;
}

static bool all_arrived(struct sl_player *p, const uint32_t *list, uint32_t n)
{
	bool all = true;

	/* No shortcut: each that is on its way is waited for. */
	for (uint32_t i = 0; i < n; i++)
		all &= sl_player_arrived(p, sl_trace_root(p->trace, list[i]));
	return all;
}

/* Where the task's op bears v: SL_NO_OFFSET if v is there already. */
static uint64_t birthplace(const struct sl_player *p, uint32_t v)
{
	const struct sl_action *a = sl_player_action(p);
	uint32_t lines = 0;

	if (p->on[v])
		return SL_NO_OFFSET;
	if (p->task.kind == SL_REPLAY_OP)
		return p->run->opts->bare ? 0 : p->plan->value_offset[v];
	lines = sl_plan_group_lines(p->plan, p->action);
	for (uint32_t i = 0; i < lines; i++) {
		if (sl_trace_root(p->trace, a[i].value) == v)
			return a[i].offset;
	}
	return SL_NO_OFFSET;
}

static uint64_t workspace_at(const struct sl_player *p)
{
	if (p->run->opts->bare)
		return 0;
	return p->task.kind == SL_REPLAY_OP ? p->plan->workspace_offset[p->task.op]
					    : sl_player_action(p)->workspace_offset;
}

/* Whether the task's op finds its inputs, and room for what it writes. */
static bool op_is_ready(struct sl_player *p)
{
	const struct sl_trace_op *o = &p->trace->ops[p->task.op];
	bool ready = all_arrived(p, o->in, o->n_in);

	ready &= all_arrived(p, o->mutates, o->n_mutates);
	ready &= all_arrived(p, o->out, o->n_out);
	for (uint32_t i = 0; i < o->n_out + o->n_mutates && ready; i++) {
		uint32_t x = i < o->n_out ? o->out[i] : o->mutates[i - o->n_out];
		uint32_t v = sl_trace_root(p->trace, x);
		uint64_t at = birthplace(p, v);

		ready = sl_player_free(
			p, at == SL_NO_OFFSET ? p->at[v] : at, p->trace->values[v].bytes);
	}
	if (ready && o->workspace_bytes > 0)
		ready = sl_player_free(p, workspace_at(p), o->workspace_bytes);
	return ready;
}

static bool move_is_ready(struct sl_player *p, const struct sl_action *a, uint32_t v)
{
	return sl_player_arrived(p, v) &&
	       sl_player_free(p, p->at[v], p->trace->values[v].bytes) &&
	       sl_player_free(p, a->offset, p->trace->values[v].bytes);
}

static void bear(struct sl_player *p, uint32_t v)
{
	uint64_t at = birthplace(p, v);

	if (at == SL_NO_OFFSET)
		return;
	sl_player_take(p, v, at);
	sl_player_hold(p, p->trace->values[v].bytes);
}

static void begin_op(struct sl_player *p)
{
	const struct sl_trace_op *o = &p->trace->ops[p->task.op];
	uint64_t end = workspace_at(p) + o->workspace_bytes;

	for (uint32_t i = 0; i < o->n_out; i++)
		bear(p, sl_trace_root(p->trace, o->out[i]));
	p->task.extra_bytes = o->workspace_bytes;
	if (o->workspace_bytes > 0 && end > p->result.peak_bytes)
		p->result.peak_bytes = end;
}

/* While it moves, a value holds its old bytes and its new ones. */
static void begin_move(struct sl_player *p)
{
	uint32_t v = p->task.id;
	uint64_t to = sl_player_action(p)->offset, from = p->at[v];
	uint64_t shift = to > from ? to - from : from - to;

	p->task.extra_bytes = shift < p->task.bytes ? shift : p->task.bytes;
	sl_player_take(p, v, to);
}

static void end_use(struct sl_player *p, uint32_t v)
{
	if (p->last[v] == p->step && !sl_class_persistent(p->trace->values[v].cls))
		sl_player_drop(p, v);
}

/* Frees what the task was the last to need, and steps over its position. */
static void pass(struct sl_player *p)
{
	sl_player_release(p, p->task.extra_bytes);
	if (p->task.kind == SL_REPLAY_MOVE) {
		p->action++;
		p->result.move_bytes += p->task.bytes;
		return;
	}
	each_touched(p, p->task.op, end_use);
	p->step++;
	if (p->task.kind == SL_REPLAY_OP) {
		p->phase = SL_AFTER;
		return;
	}
	p->action += sl_plan_group_lines(p->plan, p->action);
	p->result.recompute_ops++;
	p->result.recompute_ns += p->task.dur_ns;
}

static sl_status begin_first(struct sl_compute *c);

static sl_status task_ends(void *ctx, uint64_t unused)
{
	struct sl_player *p = ctx;
	struct sl_compute *c = p->compute;
	struct sl_replay_span span = {.kind = p->task.kind,
		.id = p->task.id,
		.asked_ns = p->task.asked_ns,
		.begin_ns = p->task.begin_ns,
		.bytes = p->task.bytes};

	(void)unused;
	c->first = p->next;
	p->next = NULL;
	if (c->first == NULL)
		c->last = NULL;
	c->busy_ns += p->task.dur_ns;
	p->busy = false;
	pass(p);
	SL_TRY(sl_player_tell(p, span));
	SL_TRY(begin_first(c));
	return sl_player_go_on(p);
}

static sl_status begin_first(struct sl_compute *c)
{
	struct sl_player *p = c->first;
	uint64_t now;

	if (p == NULL)
		return SL_OK;
	now = p->run->sim.now_ns;
	p->task.begin_ns = now;
	p->result.turn_ns += now - p->task.asked_ns;
	if (p->task.kind == SL_REPLAY_MOVE)
		begin_move(p);
	else
		begin_op(p);
	sl_player_hold(p, p->task.extra_bytes);
	return sl_sim_at(&p->run->sim, sl_add_ns(now, p->task.dur_ns), task_ends, p, 0);
}

static sl_status ask_device(struct sl_player *p)
{
	struct sl_compute *c = p->compute;

	p->busy = true;
	p->task.asked_ns = p->run->sim.now_ns;
	*(c->last != NULL ? &c->last->next : &c->first) = p;
	c->last = p;
	return c->first == p ? begin_first(c) : SL_OK;
}

static sl_status run_op(
	struct sl_player *p, enum sl_replay_kind kind, uint32_t op, bool *waits)
{
	p->task = (struct sl_task){
		.kind = kind, .id = op, .op = op, .dur_ns = p->trace->ops[op].dur_ns};
	*waits = true;
	return op_is_ready(p) ? ask_device(p) : SL_OK;
}

static sl_status act(struct sl_player *p, const struct sl_action *a, bool *waits)
{
	uint32_t v = sl_trace_root(p->trace, a->value);
	uint64_t bytes = p->trace->values[v].bytes;

	if (a->kind == SL_ACTION_RECOMPUTE)
		return run_op(p, SL_REPLAY_AGAIN, a->again, waits);
	if (a->kind == SL_ACTION_MOVE) {
		p->task = (struct sl_task){.kind = SL_REPLAY_MOVE,
			.id = v,
			.bytes = bytes,
			.dur_ns = sl_trace_move_ns(p->trace, bytes)};
		*waits = true;
		return move_is_ready(p, a, v) ? ask_device(p) : SL_OK;
	}
	p->action++;
	if (sl_action_copies(a->kind))
		return sl_player_issue(p, a);
	sl_player_drop(p, v);
	return SL_OK;
}

/* At the end of the ops: the iteration ends with the last copy. */
static void end_iteration(struct sl_player *p, bool *waits)
{
	uint64_t now = p->run->sim.now_ns;
	struct sl_replay_result *r = &p->result;

	*waits = p->copies != NULL || p->iteration == p->iterations;
	if (*waits)
		return;
	p->iteration++;
	r->end_ns = now;
	if (p->iteration == 1)
		r->first_iter_ns = r->steady_iter_ns = now - p->begin_ns;
	else
		r->steady_iter_ns =
			(now - p->begin_ns - r->first_iter_ns) / (p->iteration - 1);
	*waits = p->iteration == p->iterations;
	if (*waits)
		return;
	p->op = p->action = p->step = 0;
	p->phase = SL_BEFORE;
}

static sl_status go_one(struct sl_player *p, bool *waits)
{
	const struct sl_action *a = sl_player_action(p);

	if (p->op == p->trace->n_ops) {
		end_iteration(p, waits);
		return SL_OK;
	}
	if (a != NULL)
		return act(p, a, waits);
	if (p->phase == SL_BEFORE)
		return run_op(p, SL_REPLAY_OP, p->op, waits);
	p->phase = SL_BEFORE;
	p->op++;
	return SL_OK;
}

sl_status sl_player_go_on(struct sl_player *p)
{
	bool waits = p->busy;

	while (!waits)
		SL_TRY(go_one(p, &waits));
	return SL_OK;
}

sl_status sl_player_begin(void *player, uint64_t unused)
{
	struct sl_player *p = player;

	(void)unused;
	p->begin_ns = p->run->sim.now_ns;
	return sl_player_go_on(p);
}
