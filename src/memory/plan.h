/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLAN_H
#define SL_MEMORY_PLAN_H

#include "memory/trace.h"

/*
 * A residency plan for one steady iteration: where each value lies and what moves when.
 * Text form (docs/formats/plan.md):
 *
 *   plan 1 budget=1048576 policy=belady order=seal
 *   select 0 kernel=dnnl_matmul layout=plain split=1 threads=2 workspace=65536
 *   place  v0 region=P offset=4096
 *   place  w3 region=lane offset=8192             (workspace of op 3)
 *   start  v1 tier=disk offset=0
 *   before 3 delay_ns=0 in v1 tier=disk channel=1 offset=12288
 *   after  3 delay_ns=0 out v0 tier=disk channel=0 offset=4096
 *   before 9 delay_ns=0 recompute v5 again=4 offset=8192 workspace=-
 *   peak 20480
 *   price 41200000
 *   stall 1300000
 *
 * Meaning, by position, whatever the timing (the engine waits where bytes are not yet
 * free or not yet there; a plan is sound only if it is sound by position):
 *
 * - out copies v to its tier at `offset` there and gives its device bytes up
 * - save copies v to its tier at `offset` there and keeps its device bytes: it can be
 *   dropped clean later. Who writes or moves v meanwhile waits for the copy.
 * - drop-clean gives up the device bytes of a v whose copy in a lower tier is current
 * - drop gives up a v that will be recomputed or is dead early
 * - in brings v back from `tier` to device `offset`; the copy below stays current
 * - move: v to device `offset` by memmove
 * - recompute runs op `again` once more, see below
 * - send, recv and reduce are reserved
 *
 * `place` says where an op's output is born and where a persistent value lies at the
 * start. Actions with the same position happen in the order of the plan. In
 * `before`/`after`, iter=+k is reserved.
 *
 * Recomputation. Consecutive recompute lines of one position with the same `again`=P are
 * a group: one run of P, by the same kernel on the same arguments.
 * 1. The lines of a group are the values that P bears and that are not on the device
 * then, each once, born anew at `offset`; if there are none, the group is one line that
 * names a value that P changes in place, offset=-. What P bears and is on the device is
 * overwritten with the same bits; copies of it below stay current.
 * 2. `workspace` is where P's workspace lies meanwhile: on the first line of the group,
 * and only if P has one; SL_NO_OFFSET ('-', or left out) on the others.
 * 3. Content: what a value holds is known by the op that wrote it last, or the start of
 * the iteration for one that persists. An op, first time or again, needs of each value
 * that it reads or changes the content that the trace's order gives it there: the one of
 * the last op before it that writes the value. Afterwards, what it bears or changes has
 * its own. A copy below has the content that was copied; a run of P makes copies of what
 * it bears anew or changes stale, as any write.
 * 4. P has run before, is pure, bears and changes no value that persists, and nothing
 * newer is overwritten: what it bears and is on the device has P's own content. So
 * statistics and optimizers never run twice, and a value that P bore and Q changed in
 * place is rebuilt by P and Q, in this order.
 *
 * A value that is not persistent is freed by itself after its last access: of the trace
 * or of a group (which accesses what P reads, changes and bears), the later one by
 * position.
 *
 * A plan is cyclic: at the end each persistent value is again where place/start say
 * (device at its place if it has no start line or one with tier=device; a current copy in
 * every tier named by its start lines).
 *
 * Offsets are bytes from the base of the job's arena; region names the part: P is [0, P
 * bytes), the values that stay over the boundary; everything else is lane.
 */
#define SL_PLAN_VERSION 1
#define SL_NO_OFFSET UINT64_MAX
#define SL_TIER_DEVICE 0u /* k + 1 is trace tier k */

#define SL_ACTION_TABLE(X) \
	X(OUT, "out") \
	X(SAVE, "save") \
	X(IN, "in") \
	X(DROP, "drop") \
	X(DROP_CLEAN, "drop-clean") \
	X(MOVE, "move") \
	X(RECOMPUTE, "recompute") \
	X(SEND, "send") \
	X(RECV, "recv") \
	X(REDUCE, "reduce")

enum sl_action_kind {
#define X(name, text) SL_ACTION_##name,
	SL_ACTION_TABLE(X)
#undef X
		SL_ACTION_COUNT
};

enum sl_phase { SL_BEFORE, SL_AFTER };

struct sl_action {
	uint32_t op;
	enum sl_phase phase;
	enum sl_action_kind kind;
	uint32_t value;
	uint32_t tier; /* of out, save and in; else 0 */
	uint32_t channel; /* link id of the trace, of out, save and in */
	/* Device offset of in, move and recompute (there SL_NO_OFFSET: changed in place),
	 * tier offset of out and save. */
	uint64_t offset;
	uint64_t delay_ns;
	uint32_t iter;
	/* Of recompute alone. */
	uint32_t again; /* op */
	uint64_t workspace_offset; /* SL_NO_OFFSET: none */
};

struct sl_plan_start {
	uint32_t value;
	uint32_t tier;
	uint64_t offset; /* in that tier; unused for the device */
};

/* What was frozen at seal for an op; carried so that a stored plan names it. */
struct sl_plan_select {
	uint32_t op;
	const char *kernel; /* owned by the plan */
	const char *layout;
	uint32_t split, threads;
	uint64_t workspace_bytes;
};

struct sl_plan {
	uint64_t budget;
	char policy[32];
	char order[16];
	uint32_t n_values, n_ops;
	uint64_t *value_offset; /* [n_values] place lines; SL_NO_OFFSET: none */
	uint64_t *workspace_offset; /* [n_ops] */
	struct sl_plan_start *starts;
	struct sl_plan_select *selects;
	struct sl_action *actions; /* sorted by op, phase; stable */
	uint32_t n_starts, n_selects, n_actions;
	size_t cap_starts, cap_selects, cap_actions;
	uint64_t p_bytes; /* end of region P; derived by sl_plan_seal */
	uint64_t peak;
	uint64_t price_ns, stall_ns;
	struct sl_arena arena;
};

#define SL_PLAN_INIT ((struct sl_plan){0})

/* Sizes the tables for the trace; everything unplaced. */
SL_NODISCARD sl_status sl_plan_begin(
	struct sl_plan *p, const struct sl_trace *t, uint64_t budget, const char *policy);
SL_NODISCARD sl_status sl_plan_add_action(struct sl_plan *p, const struct sl_action *a);
SL_NODISCARD sl_status sl_plan_add_start(
	struct sl_plan *p, const struct sl_plan_start *s);
SL_NODISCARD sl_status sl_plan_add_select(
	struct sl_plan *p, const struct sl_plan_select *s);
/* Sorts actions (stable), derives p_bytes and peak (highest end of any placed byte). */
SL_NODISCARD sl_status sl_plan_seal(struct sl_plan *p, const struct sl_trace *t);
void sl_plan_finish(struct sl_plan *p);
/*
 * Actions of the group of recompute lines that begins at action i; 0 if i is no recompute
 * line.
 */
uint32_t sl_plan_group_lines(const struct sl_plan *p, uint32_t i);
void sl_plan_move(
	struct sl_plan *to, struct sl_plan *from); /* from is empty afterwards */
/* Whether start lines put v on the device (also true without any start line). */
bool sl_plan_starts_on_device(const struct sl_plan *p, uint32_t v);

/* Whether an action copies to a tier, or from one. */
static inline bool sl_action_copies_out(enum sl_action_kind kind)
{
	return kind == SL_ACTION_OUT || kind == SL_ACTION_SAVE;
}
static inline bool sl_action_copies(enum sl_action_kind kind)
{
	return kind == SL_ACTION_IN || sl_action_copies_out(kind);
}

/* The plan text needs its trace for ids and tier names. */
SL_NODISCARD sl_status sl_plan_parse(const char *source, const char *data, size_t len,
	const struct sl_trace *t, struct sl_plan *out);
SL_NODISCARD sl_status sl_plan_print(
	const struct sl_plan *p, const struct sl_trace *t, struct sl_buf *out);

/*
 * The independent checker; knows no policy. Linear in trace and plan. SL_E_NO with the
 * first breach in the message: every access finds its value resident and current, no two
 * values overlap at any position, nothing beyond the budget or a tier's bytes, copies
 * only from current copies, channels fit their tiers, recomputation changes nothing but
 * what it rebuilds, the end equals the start. *out_peak (may be NULL): peak bytes.
 */
SL_NODISCARD sl_status sl_plan_check(const struct sl_trace *t, const struct sl_plan *p,
	uint64_t budget, uint64_t *out_peak);

/*
 * Virtual time of one steady iteration: ops in order on one stream, each channel first in
 * first out, a swap-in holds its bytes from its start, a swap-out or save until its end.
 * A group of recompute lines costs its op's duration once more.
 */
struct sl_plan_price {
	uint64_t base_iter_ns; /* sum of op durations */
	uint64_t iter_ns;
	uint64_t recompute_ns; /* of ops run again */
	uint64_t stall_ns; /* the rest: iter - base_iter - recompute */
	uint64_t swap_out_bytes, swap_in_bytes, move_bytes;
	uint32_t recompute_ops;
};
SL_NODISCARD sl_status sl_plan_price(
	const struct sl_trace *t, const struct sl_plan *p, struct sl_plan_price *out);
/* Also when each op starts: start_ns is [n_ops]. */
SL_NODISCARD sl_status sl_plan_price_timed(const struct sl_trace *t,
	const struct sl_plan *p, struct sl_plan_price *out, uint64_t *start_ns);

/* As if nothing ever waited for an address: offsets are not looked at, and no offsets
 * give a lower price. start_ns: as above, or NULL. */
SL_NODISCARD sl_status sl_plan_price_anywhere(const struct sl_trace *t,
	const struct sl_plan *p, struct sl_plan_price *out, uint64_t *start_ns);

/* How long compute stood still before an op, runs again before it included, and the value
 * that it waited for last: for its copy in, or (leaving) for bytes that a copy still
 * used. */
struct sl_plan_wait {
	uint64_t ns;
	uint32_t value; /* SL_NO_ID: it did not wait */
	bool leaving;
};
/* Also what for: waits is [n_ops + 1], the last one at the end of the iteration; either
 * may be NULL. */
SL_NODISCARD sl_status sl_plan_price_waits(const struct sl_trace *t,
	const struct sl_plan *p, struct sl_plan_price *out, uint64_t *start_ns,
	struct sl_plan_wait *waits);

#endif
