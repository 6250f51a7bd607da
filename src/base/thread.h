/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_THREAD_H
#define SL_BASE_THREAD_H

#include <stdint.h>

#include "sluice/status.h"

/*
 * A pool for data-parallel loops. Work is cut into chunks by the caller, never by the
 * number of workers, so results cannot depend on the width. Waiting is passive. One
 * caller at a time.
 */
struct sl_pool;

#define SL_POOL_WIDTH_MAX 64

/* width counts the caller: 1 makes no thread. At most SL_POOL_WIDTH_MAX. */
SL_NODISCARD sl_status sl_pool_create(int width, struct sl_pool **out);
void sl_pool_destroy(struct sl_pool *pool);
int sl_pool_width(const struct sl_pool *pool);

typedef void (*sl_chunk_fn)(void *ctx, int64_t chunk);
/* Runs fn(ctx, 0..chunks-1), each once, and returns when all are done. pool NULL runs
 * inline. */
void sl_pool_run(struct sl_pool *pool, int64_t chunks, sl_chunk_fn fn, void *ctx);

int sl_cpu_count(void); /* cores this process may use */

#endif
