/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_REDO_INT_H
#define SL_MEMORY_POLICY_REDO_INT_H

#include "memory/place.h"
#include "memory/policy/gaps.h"

/* What redo_chain.c (the runs for one value) and redo.c (those of an iteration) share. */
#define SL_REDO_MAX_RUNS ((size_t)1 << 22)

/* What there is of a value just before an op. */
struct sl_standing {
	uint32_t content; /* last writer, or SL_NO_ID */
	struct sl_gap *gap; /* that it is in; NULL: unborn or dead */
	bool born;
	bool on_device;
};

/* A swapped value that has to be back earlier, because a run reads it. */
struct sl_recall {
	struct sl_gap *gap;
	uint32_t due; /* before */
};

struct sl_redoer {
	struct sl_gaps *g;
	uint64_t *level;
	uint64_t limit;
	struct sl_redo redo;
	uint32_t *made; /* [n_values] stamp of the position at which it was rebuilt */
	uint32_t *content; /* [n_values] op that wrote what was rebuilt */
	uint32_t *last_run; /* [n_values] work space */
	uint32_t stamp;
	uint32_t at; /* the position: before this op */
	uint32_t runs_before; /* of the gap under way */
	bool possible;
	bool pricing; /* nothing is changed */
	uint64_t cap_ns;
	uint64_t recall_ns; /* of copies in of what runs read, while pricing */
	uint64_t shared_ns; /* of runs for inputs that are redone for their own sake */
	struct sl_recall *recalls;
	size_t n_recalls, cap_recalls;
};

/* How far a list of runs has come, to go back to. */
struct sl_redo_mark {
	uint32_t n_runs, n_births;
	size_t n_recalls;
	uint64_t ns;
};

static inline struct sl_redo_mark sl_redo_mark(const struct sl_redoer *r)
{
	return (struct sl_redo_mark){
		r->redo.n_runs, r->redo.n_births, r->n_recalls, r->redo.ns};
}

static inline uint64_t sl_redo_room(const struct sl_redoer *r, uint32_t v)
{
	return sl_room_value(&r->g->t->values[v]);
}

struct sl_standing sl_redo_stand(const struct sl_gaps *g, uint32_t v, uint32_t before);
/* Takes room for v from the position to op `to`; false if there is not as much. */
bool sl_redo_hold(struct sl_redoer *r, uint32_t v, uint32_t to);
/* Adds the runs for a gap whose value is not there yet; r->possible tells whether they
 * are. */
SL_NODISCARD sl_status sl_redo_gap(struct sl_redoer *r, const struct sl_gap *gap);
void sl_redo_cut(struct sl_redoer *r, const struct sl_redo_mark *mark);

#endif
