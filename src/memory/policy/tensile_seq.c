/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job of the published scheduler: its accesses on the time line, its bytes over time
 * as a sorted list of changes, the peak, and the tasks that its tables stand for. A
 * change to one value costs one pass over the list.
 */
#include "memory/policy/tensile_published_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/reach.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

struct sl_tp_wire sl_tp_wire_of(const struct sl_trace *t)
{
	struct sl_reach reach[SL_REACH_MAX];
	const struct sl_trace_link *out, *in;

	if (sl_reach_find(t, reach) == 0)
		return (struct sl_tp_wire){0};
	out = &t->links[reach[0].out_link];
	in = &t->links[reach[0].in_link];
	return (struct sl_tp_wire){
		out->bytes_per_s, in->bytes_per_s, out->latency_ns, in->latency_ns};
}

/* At least 1 ns, so that no two copies share a moment. */
static uint64_t copy_ns(const struct sl_tp_job *j, uint32_t v, uint64_t rate, uint64_t ns)
{
	double took = (double)j->t->values[v].bytes * 1e9 / (double)rate;

	return ns + (took < 1 ? 1 : took < 9e17 ? (uint64_t)took : (uint64_t)9e17);
}

uint64_t sl_tp_out_ns(const struct sl_tp_job *j, uint32_t v)
{
	return copy_ns(j, v, j->wire.out_bytes_per_s, j->wire.out_latency_ns);
}

uint64_t sl_tp_in_ns(const struct sl_tp_job *j, uint32_t v)
{
	return copy_ns(j, v, j->wire.in_bytes_per_s, j->wire.in_latency_ns);
}

uint32_t sl_tp_first_in(const struct sl_tp_job *j, uint32_t v)
{
	uint32_t u = j->x.first[v];

	while (u < j->x.first[v + 1] && j->uses[u].in_ns == SL_TP_NEVER)
		u++;
	return u;
}

static int by_time(const void *a, const void *b)
{
	const struct sl_tp_event *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The list has room: sl_tp_rebook and count_events see to it. */
static void push(struct sl_tp_job *j, uint64_t at_ns, int64_t bytes, uint32_t v)
{
	j->events[j->n_events++] = (struct sl_tp_event){at_ns, bytes, v};
}

/* v's bytes come and go. */
static void push_value(struct sl_tp_job *j, uint32_t v)
{
	uint32_t from = j->x.first[v], to = j->x.first[v + 1],
		 first = sl_tp_first_in(j, v);
	int64_t bytes = (int64_t)sl_room_value(&j->t->values[v]);
	bool persists = sl_tp_persists(j, v), crossed = j->state[v] == SL_TP_CROSSED;

	if (j->t->values[v].alias != SL_NO_ID || (from == to && !persists))
		return;
	push(j,
		crossed	   ? j->uses[from].in_ns
		: persists ? 0
			   : sl_tp_start(j, from),
		bytes, v);
	for (uint32_t u = persists && !crossed ? from : from + 1; u < to; u++) {
		const struct sl_tp_use *use = &j->uses[u];

		if (use->in_ns == SL_TP_NEVER && !use->redo)
			continue;
		push(j,
			u == first ? j->out_ns[v] + sl_tp_out_ns(j, v)
				   : sl_tp_end(j, u - 1),
			-bytes, v);
		push(j, use->redo ? sl_tp_start(j, u) : use->in_ns, bytes, v);
	}
	if (crossed)
		push(j, j->out_ns[v] + sl_tp_out_ns(j, v), -bytes, v);
	else if (!persists)
		push(j, sl_tp_end(j, to - 1), -bytes, v);
}

/* Peak, when, for how long, and who is there then. */
static void sweep(struct sl_tp_job *j)
{
	int64_t sum = 0, peak = 0;
	size_t i = 0;

	j->end_ns = j->iter_ns;
	if (j->n_events > 0 && j->events[j->n_events - 1].at_ns > j->end_ns)
		j->end_ns = j->events[j->n_events - 1].at_ns;
	while (i < j->n_events) {
		uint64_t at = j->events[i].at_ns, next = j->end_ns;

		while (i < j->n_events && j->events[i].at_ns == at)
			sum += j->events[i++].bytes;
		if (i < j->n_events)
			next = j->events[i].at_ns;
		if (sum > peak) {
			peak = sum;
			j->peak_ns = at;
			j->at_peak_ns = 0;
		}
		j->at_peak_ns += sum == peak ? next - at : 0;
	}
	j->peak = (uint64_t)peak;
	memset(j->held, 0, (size_t)j->t->n_values + 1);
	for (i = 0; i < j->n_events && j->events[i].at_ns <= j->peak_ns; i++) {
		if (j->events[i].value != SL_NO_ID)
			j->held[j->events[i].value] = j->events[i].bytes > 0;
	}
}

sl_status sl_tp_rebook(struct sl_tp_job *j, uint32_t v)
{
	size_t kept = 0, old, at = 0, n = 0;
	size_t most = j->n_events + 2 * (size_t)(j->x.first[v + 1] - j->x.first[v]) + 4;
	struct sl_tp_event *merged;

	if (sl_grow((void **)&j->events, &j->cap_events, most, sizeof(*j->events),
		    SIZE_MAX / 64) ||
		sl_grow((void **)&j->spare, &j->cap_spare, most, sizeof(*j->spare),
			SIZE_MAX / 64))
		return no_memory();
	for (size_t i = 0; i < j->n_events; i++) {
		if (j->events[i].value != v)
			j->events[kept++] = j->events[i];
	}
	j->n_events = old = kept;
	push_value(j, v);
	qsort(j->events + old, j->n_events - old, sizeof(*j->events), by_time);
	for (size_t i = old; at < old || i < j->n_events;) {
		bool take = i == j->n_events ||
			    (at < old && by_time(&j->events[at], &j->events[i]) < 0);

		j->spare[n++] = take ? j->events[at++] : j->events[i++];
	}
	merged = j->spare;
	j->spare = j->events;
	j->events = merged;
	at = j->cap_spare;
	j->cap_spare = j->cap_events;
	j->cap_events = at;
	sweep(j);
	return SL_OK;
}

static sl_status first_events(struct sl_tp_job *j)
{
	const struct sl_trace *t = j->t;
	size_t most = 2 * (size_t)t->n_values + 2 * (size_t)t->n_ops + 4;

	if (sl_grow((void **)&j->events, &j->cap_events, most, sizeof(*j->events),
		    SIZE_MAX / 64))
		return no_memory();
	for (uint32_t v = 0; v < t->n_values; v++) {
		push_value(j, v);
		j->n_tensors += t->values[v].alias == SL_NO_ID;
	}
	for (uint32_t i = 0; i < t->n_ops; i++) {
		int64_t bytes = (int64_t)sl_room_workspace(&t->ops[i]);

		if (bytes == 0)
			continue;
		push(j, j->op_end[i], bytes, SL_NO_ID);
		push(j, j->op_end[i + 1], -bytes, SL_NO_ID);
	}
	qsort(j->events, j->n_events, sizeof(*j->events), by_time);
	sweep(j);
	j->first_peak = j->peak;
	return SL_OK;
}

sl_status sl_tp_job_init(
	struct sl_tp_job *j, const struct sl_trace *t, const struct sl_tp_wire *wire)
{
	size_t n = (size_t)t->n_values + 1, uses;

	*j = (struct sl_tp_job){.t = t, .wire = *wire};
	SL_TRY(sl_trace_index_init(t, &j->x));
	uses = (size_t)j->x.first[t->n_values] + 1;
	j->op_end = sl_calloc((size_t)t->n_ops + 1, sizeof(*j->op_end));
	j->uses = sl_calloc(uses, sizeof(*j->uses));
	j->out_ns = sl_calloc(n, sizeof(*j->out_ns));
	j->state = sl_calloc(n, sizeof(*j->state));
	j->held = sl_calloc(n, sizeof(*j->held));
	if (!j->op_end || !j->uses || !j->out_ns || !j->state || !j->held)
		return no_memory();
	for (size_t i = 0; i < uses; i++)
		j->uses[i].in_ns = SL_TP_NEVER;
	for (size_t i = 0; i < n; i++)
		j->out_ns[i] = SL_TP_NEVER;
	for (uint32_t i = 0; i < t->n_ops; i++) /* none is empty */
		j->op_end[i + 1] =
			j->op_end[i] + (t->ops[i].dur_ns > 0 ? t->ops[i].dur_ns : 1);
	j->iter_ns = j->op_end[t->n_ops];
	return first_events(j);
}

void sl_tp_job_finish(struct sl_tp_job *j)
{
	sl_trace_index_finish(&j->x);
	sl_free(j->op_end);
	sl_free(j->uses);
	sl_free(j->out_ns);
	sl_free(j->state);
	sl_free(j->held);
	sl_free(j->events);
	sl_free(j->spare);
	sl_free(j->tasks);
	*j = (struct sl_tp_job){0};
}

uint64_t sl_tp_level(const struct sl_tp_job *j, uint64_t at_ns)
{
	int64_t sum = 0;

	for (size_t i = 0; i < j->n_events && j->events[i].at_ns <= at_ns; i++)
		sum += j->events[i].bytes;
	return (uint64_t)sum;
}

static void add_task(struct sl_tp_job *j, uint32_t v, enum sl_action_kind kind,
	uint64_t start_ns, uint64_t dur_ns)
{
	uint32_t low = 0, high = j->t->n_ops; /* op_end[low] <= start_ns */

	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (j->op_end[mid] <= start_ns)
			low = mid;
		else
			high = mid - 1;
	}
	j->tasks[j->n_tasks++] = (struct sl_tp_task){.value = v,
		.kind = kind,
		.ref = low > 0 ? low - 1 : SL_NO_ID,
		.delay_ns = start_ns - j->op_end[low],
		.start_ns = start_ns,
		.end_ns = start_ns + dur_ns};
}

static void add_tasks(struct sl_tp_job *j, uint32_t v)
{
	uint32_t from = j->x.first[v], first = sl_tp_first_in(j, v);

	if (j->out_ns[v] != SL_TP_NEVER)
		add_task(j, v, SL_ACTION_OUT, j->out_ns[v], sl_tp_out_ns(j, v));
	for (uint32_t u = from; u < j->x.first[v + 1]; u++) {
		if (j->uses[u].in_ns != SL_TP_NEVER) {
			if (u != first)
				add_task(j, v, SL_ACTION_DROP_CLEAN, sl_tp_end(j, u - 1),
					0);
			add_task(j, v, SL_ACTION_IN, j->uses[u].in_ns, sl_tp_in_ns(j, v));
		} else if (j->uses[u].redo) {
			add_task(j, v, SL_ACTION_DROP, sl_tp_end(j, u - 1), 0);
			add_task(j, v, SL_ACTION_RECOMPUTE, sl_tp_start(j, u),
				j->t->ops[j->x.uses[from].op].dur_ns);
		}
	}
}

static int by_start(const void *a, const void *b)
{
	const struct sl_tp_task *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

sl_status sl_tp_list_tasks(struct sl_tp_job *j)
{
	size_t most = 2 * (size_t)j->x.first[j->t->n_values] + j->t->n_values + 1;

	sl_free(j->tasks);
	j->n_tasks = 0;
	j->tasks = sl_calloc(most, sizeof(*j->tasks));
	if (!j->tasks)
		return no_memory();
	for (uint32_t v = 0; v < j->t->n_values; v++)
		add_tasks(j, v);
	qsort(j->tasks, j->n_tasks, sizeof(*j->tasks), by_start);
	return SL_OK;
}
