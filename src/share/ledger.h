/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_LEDGER_H
#define SL_SHARE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Who has which bytes of the device. The persistent parts of jobs stand from address 0
 * up, lanes from the capacity down, without gaps; what is free is one range between them.
 *
 * 1. The safety rule: what is granted, sum of P + sum of lanes, never exceeds the
 *    capacity (Salus; a lane is the largest E of its jobs). Checked before each grant.
 * 2. An entry moves, shrinks or grows only while it is not busy, so at a boundary, where
 *    a lane holds no live bytes; until then it keeps its bytes and its grant stands by.
 * 3. Entries never overlap, granted or moving.
 * Addresses are entries of this book: on the CPU device each region has memory of its own
 * and nothing is copied when it moves.
 */
struct sl_region {
	uint32_t id; /* the job's or the lane's */
	bool busy;
	uint64_t at; /* distance from the end that its stack stands on */
	uint64_t size_bytes; /* it has these now */
	uint64_t grant_bytes; /* and gets these when it and its neighbours are not busy */
};

struct sl_stack {
	struct sl_region *items; /* in order of their addresses */
	size_t n, cap;
};

enum sl_ledger_side { SL_LEDGER_JOB, SL_LEDGER_LANE };

struct sl_ledger {
	uint64_t capacity_bytes;
	uint64_t granted_bytes; /* both sides together */
	uint64_t moves; /* entries moved to another address */
	struct sl_stack side[2]; /* by enum sl_ledger_side */
};

/* SL_E_NOMEM_DEVICE when the safety rule says no, SL_E_NOMEM; nothing is changed then. */
SL_NODISCARD sl_status sl_ledger_add(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, uint64_t bytes);
SL_NODISCARD sl_status sl_ledger_resize(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, uint64_t bytes);
/* The entry must be there. */
void sl_ledger_remove(struct sl_ledger *l, enum sl_ledger_side side, uint32_t id);
void sl_ledger_set_busy(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, bool busy);
const struct sl_region *sl_ledger_find(
	const struct sl_ledger *l, enum sl_ledger_side side, uint32_t id);
/* Its first address. */
uint64_t sl_ledger_address(
	const struct sl_ledger *l, enum sl_ledger_side side, const struct sl_region *r);
/* Moves and resizes everything that is not busy, as far as what is busy lets it. */
void sl_ledger_settle(struct sl_ledger *l);
/* Whether each entry has its grant, at its place. */
bool sl_ledger_settled(const struct sl_ledger *l);
/* The invariants, from the entries themselves; SL_E_NO with the breach. */
SL_NODISCARD sl_status sl_ledger_check(const struct sl_ledger *l);
void sl_ledger_finish(struct sl_ledger *l);

#endif
