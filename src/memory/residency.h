/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_RESIDENCY_H
#define SL_MEMORY_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/* clang-format off */
/*
 * Where each value is. A table without threads and without bytes: the engine asks it
 * whether a step is legal, then moves the bytes. Values here are root values (no
 * aliases). `place` and `place_copy` set the state at a boundary; the others are the
 * arrows:
 *
 *               birth                  out_begin              out_end
 *     ABSENT ----------->  RESIDENT  ------------->  LEAVING -----------> AWAY
 *                           ^    |                      |                 ^  |
 *                    in_end |    |       drop_clean     |                 |  |
 *                           |    +----------------------)-----------------+  |
 *                           |                           | in_begin           | in_begin
 *                         COMING <----------------------+--------------------+
 *
 *     drop: any state -> ABSENT        write, move, save: RESIDENT -> RESIDENT
 *     rebirth (of a value that is recomputed): ABSENT, LEAVING, AWAY -> RESIDENT
 *
 *   ABSENT    no bytes anywhere: not yet born, or dead
 *   RESIDENT  the device bytes at `at` are the value; bit k of `copies`: tier k has the same
 *   LEAVING   given up; a copy to a tier is under way and still reads the device bytes
 *   AWAY      no device bytes
 *   COMING    a copy from a tier to `at` is under way
 *
 * 1. `at` is SL_RES_NOWHERE exactly in ABSENT, LEAVING and AWAY.
 * 2. `copies` is 0 in ABSENT and after birth, rebirth or write: an older copy is never read again.
 * 3. `copies` is not 0 in LEAVING, AWAY and COMING; a bit counts from out_begin on, so
 *    whoever reads that copy first waits for the copying to end; likewise from save on.
 * 4. copy_at of a set bit is where that tier holds the value.
 * 5. An illegal step changes nothing and is SL_E_INVALID.
 */
/* clang-format on */
#define SL_RES_MAX_TIERS 8u
#define SL_RES_NOWHERE UINT64_MAX

#define SL_RES_STATE_TABLE(X) X(ABSENT) X(RESIDENT) X(LEAVING) X(AWAY) X(COMING)

enum sl_res_state {
#define X(name) SL_RES_##name,
	SL_RES_STATE_TABLE(X)
#undef X
};

struct sl_residency {
	uint32_t n_values;
	uint32_t n_tiers;
	uint8_t *state; /* [n_values] enum sl_res_state */
	uint8_t *copies; /* [n_values] */
	uint64_t *at; /* [n_values] device offset */
	uint64_t *copy_at; /* [n_values][n_tiers] tier offset */
};

/* All ABSENT. SL_E_LIMIT above SL_RES_MAX_TIERS tiers, SL_E_NOMEM. */
SL_NODISCARD sl_status sl_residency_init(
	struct sl_residency *r, uint32_t n_values, uint32_t n_tiers);
void sl_residency_finish(struct sl_residency *r); /* zeroed objects are fine */

/* At a boundary: v lies on the device (at), or nowhere there, with the copies added
 * afterwards. */
void sl_residency_place(struct sl_residency *r, uint32_t v, uint64_t at);
void sl_residency_place_copy(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at);

SL_NODISCARD sl_status sl_residency_birth(
	struct sl_residency *r, uint32_t v, uint64_t at);
SL_NODISCARD sl_status sl_residency_rebirth(
	struct sl_residency *r, uint32_t v, uint64_t at);
SL_NODISCARD sl_status sl_residency_write(struct sl_residency *r, uint32_t v);
SL_NODISCARD sl_status sl_residency_move(struct sl_residency *r, uint32_t v, uint64_t at);
SL_NODISCARD sl_status sl_residency_out_begin(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at);
/* A copy to a tier begins, and v stays. */
SL_NODISCARD sl_status sl_residency_save(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at);
SL_NODISCARD sl_status sl_residency_out_end(struct sl_residency *r, uint32_t v);
SL_NODISCARD sl_status sl_residency_drop_clean(struct sl_residency *r, uint32_t v);
SL_NODISCARD sl_status sl_residency_in_begin(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t at);
SL_NODISCARD sl_status sl_residency_in_end(struct sl_residency *r, uint32_t v);
void sl_residency_drop(struct sl_residency *r, uint32_t v);

const char *sl_res_state_name(enum sl_res_state s);

static inline bool sl_residency_has_copy(
	const struct sl_residency *r, uint32_t v, uint32_t tier)
{
	return (r->copies[v] >> tier & 1) != 0;
}
static inline uint64_t sl_residency_copy_at(
	const struct sl_residency *r, uint32_t v, uint32_t tier)
{
	return r->copy_at[(size_t)v * r->n_tiers + tier];
}

#endif
