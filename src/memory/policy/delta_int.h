/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_DELTA_INT_H
#define SL_MEMORY_POLICY_DELTA_INT_H

#include "memory/policy/redo_int.h"

/*
 * What delta's parts share: delta_walk.c goes through an iteration op by op in virtual
 * time, delta_evict.c says who leaves and how, by the costs of delta_cost.c;
 * delta_chain.c has values back.
 *
 * Where a value is: on the device, or away by the fate of the gap that it is in. Of what
 * persists the state goes on from one iteration to the next.
 */
struct sl_delta_rule {
	bool redo, swap; /* ways back that may be used */
	bool weights; /* what persists may leave, too */
	bool knapsack; /* 2024: a set of least cost at a time; prefetch both ways */
	uint32_t window; /* values that come ahead of their use */
};

struct sl_delta_value {
	bool here; /* on the device */
	bool below; /* a copy below is current */
	bool held; /* until its next use: it came ahead of it */
	bool priced; /* redo_ns is of this gap */
	bool slotted; /* has its bytes in a tier */
	uint8_t tier;
	uint32_t pins;
	uint32_t next; /* of its uses, from 0 */
	uint32_t gap; /* SL_NO_ID: unborn or dead */
	uint32_t seen; /* stamp */
	uint32_t last_run; /* of a chain, + 1 */
	uint32_t touched; /* by a run before this op of this iteration, + 1 */
	uint32_t borne; /* by a run again: birth + 1 of the stay under way; 0: not */
	uint32_t at; /* in the list of those on the device */
	uint64_t last_ns; /* its last access was over */
	uint64_t ready_ns; /* its copy in is over */
	uint64_t redo_ns; /* UINT64_MAX: it cannot be redone */
};

struct sl_delta {
	struct sl_gaps *g;
	struct sl_delta_rule rule;
	uint64_t limit, used, now_ns;
	uint64_t out_free_ns[SL_REACH_MAX], in_free_ns[SL_REACH_MAX];
	uint64_t tier_bytes[SL_REACH_MAX];
	uint64_t need; /* the most that an op until a copy's use wants at once */
	uint32_t op;
	uint32_t run; /* of a chain */
	uint32_t stamp;
	uint32_t ahead; /* values that came ahead after this op */
	uint32_t turn; /* the backward pass begins */
	struct sl_delta_value *v; /* [n_values] */
	uint32_t *here; /* values on the device */
	uint32_t n_here, n_swapped;
	struct sl_redoer *prices, *chains;
	struct sl_redo made; /* what ran again in this iteration */
	uint64_t budget; /* no less than the limit */
	bool over; /* nobody was left to leave, or all ran again and again: hopeless */
	bool broken; /* what was dropped could not be redone: it is barred now */
	uint64_t *due_ns; /* [2 n_ops + 1] of copies in, by the op that waits, this
			     iteration's and the next one's */
	int64_t *slack_ns; /* [2 n_ops + 1] that a copy due then can take unseen */
	struct sl_delta_item *items; /* [n_values] */
};

/* What it takes to have a value back, from now on. */
struct sl_delta_cost {
	uint64_t redo_ns; /* UINT64_MAX: impossible, as below */
	uint64_t swap_ns; /* that nothing hides, both ways */
	uint64_t back_ns; /* the smaller one */
};
struct sl_delta_item {
	uint32_t value;
	uint64_t bytes;
	double rank; /* the least leaves first */
	struct sl_delta_cost cost;
	bool taken;
};

/* The filter's h: the way back by bytes and by how long ago the last access was. */
double sl_delta_h(uint64_t back_ns, uint64_t bytes, uint64_t stale_ns);

/* A set that frees `need` bytes: by rank, less what it does not need, and one exchange
 * that makes it cheaper. Items are sorted by rank. */
void sl_delta_knapsack(struct sl_delta_item *items, size_t n, uint64_t need);

/* delta_cost.c. What follows holds until something is swapped or comes back. */
void sl_delta_slack(struct sl_delta *d);
/* The tier that v has its slot in or would get one in; n_tiers: none. */
uint8_t sl_delta_tier(const struct sl_delta *d, uint32_t v);
/* When v's copy out would be over; it may begin at the last access. */
uint64_t sl_delta_out_end(const struct sl_delta *d, uint32_t v, const struct sl_gap *gap);
/* Of what was dropped, what is rebuilt by way of v. */
uint64_t sl_delta_descendants(struct sl_delta *d, uint32_t v);
/* Looks at redo_ns again. */
SL_NODISCARD sl_status sl_delta_price_redo(struct sl_delta *d, uint32_t v);
/* By redo_ns as it is. */
struct sl_delta_cost sl_delta_cost_of(const struct sl_delta *d, uint32_t v);
/* What v's way back costs, given who is away now. */
SL_NODISCARD sl_status sl_delta_price(
	struct sl_delta *d, uint32_t v, struct sl_delta_cost *out);
/* delta_evict.c: until so many more bytes fit, or nothing may leave any more. */
SL_NODISCARD sl_status sl_delta_make_room(struct sl_delta *d, uint64_t need);

/* delta_state.c; fate: SWAP or REDO. */
void sl_delta_evict(struct sl_delta *d, uint32_t v, enum sl_fate fate);
SL_NODISCARD sl_status sl_delta_init(struct sl_delta *d, struct sl_gaps *g,
	const struct sl_delta_rule *rule, uint64_t limit);
void sl_delta_finish(struct sl_delta *d);
void sl_delta_arrive(struct sl_delta *d, uint32_t v);
void sl_delta_leave(struct sl_delta *d, uint32_t v);
/* The position in due_ns of the use that ends v's gap; SL_NO_ID: none does. */
uint32_t sl_delta_due(const struct sl_delta *d, uint32_t v);
/* Compute time from now until a position begins. */
uint64_t sl_delta_until(const struct sl_delta *d, uint32_t position);

/* delta_chain.c: calls fn for all that an op touches; a value that it touches twice comes
 * up twice. */
typedef sl_status (*sl_delta_fn)(struct sl_delta *d, uint32_t v);
SL_NODISCARD sl_status sl_delta_for_op(struct sl_delta *d, uint32_t op, sl_delta_fn fn);
void sl_delta_wait(struct sl_delta *d, uint64_t until_ns);
/* Starts a copy in; there is room for it. */
void sl_delta_copy_in(struct sl_delta *d, uint32_t v);
/* In the fates v is back before op. */
void sl_delta_come(struct sl_delta *d, uint32_t v, uint32_t op);
/* Runs again what v is rebuilt by. */
SL_NODISCARD sl_status sl_delta_redo(struct sl_delta *d, uint32_t v);

/* delta_walk.c: an iteration begins; op d->op in its turn; all of it: then the fates of
 * the gaps, and d->made, are what it did. */
void sl_delta_begin(struct sl_delta *d);
SL_NODISCARD sl_status sl_delta_step(struct sl_delta *d);
SL_NODISCARD sl_status sl_delta_iteration(struct sl_delta *d);

#endif
