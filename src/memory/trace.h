/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_TRACE_H
#define SL_MEMORY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sluice/status.h"

/*
 * The access trace of one iteration: all that a memory policy may know. Plain data with a
 * text form (docs/formats/trace.md):
 *
 *   trace 1
 *   job    0 name=gpt2 iterations=0 move_bytes_per_s=0
 *   tier   disk bytes=4294967296
 *   link   device disk bytes_per_s=1700000000 latency_ns=100000 duplex=full
 *   value  v0 bytes=4096 align=4096 class=param alias=- version=0 immovable=0 external=0
 * name=w op     0 kind=matmul scope=- device=0 stream=0 dur_ns=1200 workspace=65536
 * in=v0,v1 out=v2 mutates=- pure=1                                       (one line)
 *
 * Unknown keys are errors; ids are dense and in order; keys left out take the value shown
 * for "none" (alias, in, out, mutates, scope: '-'; numbers 0; pure 1).
 *
 * 1. A value is a storage: bytes that move as a whole. alias=vN says that it shares all
 * its bytes with the root vN (then its accesses count as the root's; a root is no alias
 * itself).
 * 2. param, state and const live across iterations (persistent); every other class is
 * born by the one op that has it in `out` before any other access, and is dead after its
 * last access.
 * 3. `mutates` reads and writes a living value in place (a new version begins); `out` of
 * a persistent value overwrites it whole.
 * 4. workspace bytes live during their op alone.
 * 5. pure: the same inputs give the same bits and nothing is touched but `out` and
 * `mutates`; such an op may run again in its iteration if it writes no persistent value.
 */
#define SL_TRACE_VERSION 1
#define SL_NO_ID UINT32_MAX
#define SL_TRACE_MAX_VALUES 4000000u
#define SL_TRACE_MAX_OPS 4000000u

#define SL_CLASS_TABLE(X) \
	X(PARAM, "param", 1) \
	X(STATE, "state", 1) \
	X(GRAD, "grad", 0) \
	X(ACT, "act", 0) \
	X(INPUT, "input", 0) \
	X(CONST, "const", 1) \
	X(SCRATCH, "scratch", 0)

enum sl_class {
#define X(name, text, persistent) SL_CLASS_##name,
	SL_CLASS_TABLE(X)
#undef X
		SL_CLASS_COUNT
};

struct sl_trace_value {
	uint64_t bytes;
	uint64_t align; /* power of two, at least 1 */
	uint32_t alias; /* root, or SL_NO_ID */
	uint32_t version;
	enum sl_class cls;
	bool immovable;
	bool external;
	const char *name; /* owned by the trace; never NULL */
};

struct sl_trace_op {
	const char *kind;
	const char *scope;
	uint32_t device;
	uint32_t stream;
	uint64_t dur_ns;
	uint64_t workspace_bytes;
	uint32_t n_in, n_out, n_mutates;
	uint32_t *in, *out, *mutates; /* owned by the trace */
	bool pure;
};

struct sl_trace_tier {
	const char *name; /* "host", "disk" */
	uint64_t bytes;
};

struct sl_trace_link {
	uint32_t from, to; /* tier ids: 0 is the device, k + 1 is tiers[k] */
	uint64_t bytes_per_s;
	uint64_t latency_ns;
	bool half_duplex;
};

struct sl_trace {
	uint32_t job;
	const char *job_name;
	uint64_t iterations;
	uint64_t move_bytes_per_s; /* of moves within the device; 0: as one core copies */
	struct sl_trace_value *values;
	struct sl_trace_op *ops;
	struct sl_trace_tier *tiers;
	struct sl_trace_link *links;
	uint32_t n_values, n_ops, n_tiers, n_links;
	size_t cap_values, cap_ops, cap_tiers, cap_links;
	struct sl_arena arena;
};

#define SL_TRACE_INIT ((struct sl_trace){.job_name = "job"})

/* Builders, in id order; names may be NULL (""). Lists are copied. */
SL_NODISCARD sl_status sl_trace_add_tier(
	struct sl_trace *t, const char *name, uint64_t bytes);
SL_NODISCARD sl_status sl_trace_add_link(
	struct sl_trace *t, const struct sl_trace_link *link);
SL_NODISCARD sl_status sl_trace_add_value(
	struct sl_trace *t, const struct sl_trace_value *v);
SL_NODISCARD sl_status sl_trace_add_op(struct sl_trace *t, const struct sl_trace_op *op);
void sl_trace_finish(struct sl_trace *t);

/* Checks invariants 1 to 4 and the limits; parse calls it. SL_E_FORMAT. */
SL_NODISCARD sl_status sl_trace_check(const struct sl_trace *t);
SL_NODISCARD sl_status sl_trace_parse(
	const char *source, const char *data, size_t len, struct sl_trace *out);
SL_NODISCARD sl_status sl_trace_print(const struct sl_trace *t, struct sl_buf *out);

/* How long a move of so many bytes keeps the compute stream. */
uint64_t sl_trace_move_ns(const struct sl_trace *t, uint64_t bytes);
bool sl_class_persistent(enum sl_class c);
const char *sl_class_name(enum sl_class c);
/* The root of v (v itself if no alias). */
uint32_t sl_trace_root(const struct sl_trace *t, uint32_t v);

/* Per root value: op indices of its accesses. Derived once; policies and checkers share
 * it. */
struct sl_trace_use {
	uint32_t op;
	bool writes; /* out or mutates */
	bool births; /* out */
};
struct sl_trace_index {
	uint32_t *first; /* [n_values + 1] into uses, by root; ascending op */
	struct sl_trace_use *uses;
	uint32_t n_values;
};
SL_NODISCARD sl_status sl_trace_index_init(
	const struct sl_trace *t, struct sl_trace_index *out);
void sl_trace_index_finish(struct sl_trace_index *x);

/*
 * The least feasible budget with a lower tier that holds everything movable (contracts
 * 1): 4096-aligned sum of the largest op working set and the immovable bytes.
 */
struct sl_least_budget {
	uint64_t bytes; /* B*, a multiple of 4096 */
	uint32_t binding_op;
	uint64_t op_in_bytes, op_out_bytes,
		op_workspace_bytes; /* mutated bytes count as in */
	uint64_t immovable_bytes;
	uint64_t live_peak_bytes; /* most live bytes of the trace: a bound for plans
				     without a tier */
};
SL_NODISCARD sl_status sl_trace_least_budget(
	const struct sl_trace *t, struct sl_least_budget *out);

#endif
