/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_ATOM_H
#define SL_BASE_ATOM_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Words that threads, or processes in memory that they share, read and write at any time.
 * What was written before a store is seen after a load that sees the store. Zeroed memory
 * is a word that is zero. Neither takes a lock, so both are safe in a signal handler.
 */
struct sl_atom32 {
	_Atomic uint32_t v;
};

struct sl_atom64 {
	_Atomic uint64_t v;
};

static inline uint32_t sl_atom32_load(const struct sl_atom32 *a)
{
	return atomic_load_explicit(&a->v, memory_order_acquire);
}

static inline void sl_atom32_store(struct sl_atom32 *a, uint32_t value)
{
	atomic_store_explicit(&a->v, value, memory_order_release);
}

/* These three give the value before. */
static inline uint32_t sl_atom32_or(struct sl_atom32 *a, uint32_t bits)
{
	return atomic_fetch_or(&a->v, bits);
}

static inline uint32_t sl_atom32_and(struct sl_atom32 *a, uint32_t bits)
{
	return atomic_fetch_and(&a->v, bits);
}

static inline uint32_t sl_atom32_add(struct sl_atom32 *a, uint32_t more)
{
	return atomic_fetch_add(&a->v, more);
}

/* Writes `value` if the word is `expected`; whether it was. */
static inline int sl_atom32_swap(struct sl_atom32 *a, uint32_t expected, uint32_t value)
{
	return atomic_compare_exchange_strong(&a->v, &expected, value);
}

static inline uint64_t sl_atom64_load(const struct sl_atom64 *a)
{
	return atomic_load_explicit(&a->v, memory_order_acquire);
}

static inline void sl_atom64_store(struct sl_atom64 *a, uint64_t value)
{
	atomic_store_explicit(&a->v, value, memory_order_release);
}

#endif
