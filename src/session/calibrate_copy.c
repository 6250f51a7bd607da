/* SPDX-License-Identifier: Apache-2.0 */
/* How fast copies to the tiers are: one small transfer against a large one, both ways. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "memory/tier/tier.h"
#include "session/calibrate_int.h"
#include "session/machine.h"

#define SMALL ((size_t)4096)
#define ROUNDS 5

struct bed {
	struct sl_tier *tier;
	uint8_t *data;
	size_t large;
};

static sl_status move(const struct bed *b, bool in, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += SL_TIER_CHUNK_BYTES) {
		size_t len = bytes - at < SL_TIER_CHUNK_BYTES ? bytes - at
							      : SL_TIER_CHUNK_BYTES;

		SL_TRY(in ? sl_tier_get(b->tier, at, b->data + at, len)
			  : sl_tier_put(b->tier, at, b->data + at, len));
	}
	return SL_OK;
}

/* Median nanoseconds of a transfer. */
static sl_status time_move(const struct bed *b, bool in, size_t bytes, double *out)
{
	double ns[ROUNDS];

	for (int i = -1; i < ROUNDS; i++) {
		sl_ns begin = sl_clock_now();

		SL_TRY(move(b, in, bytes));
		/* The first one takes pages and blocks. */
		if (i >= 0)
			ns[i] = (double)(sl_clock_now() - begin);
	}
	*out = sl_cost_median(ns, ROUNDS);
	return SL_OK;
}

static sl_status measure(
	const struct bed *b, const char *name, bool in, struct sl_cost_book *book)
{
	struct sl_cost_link link = {0};
	double small, large, ns_per_byte;

	SL_TRY(time_move(b, in, SMALL, &small));
	SL_TRY(time_move(b, in, b->large, &large));
	ns_per_byte = (large - small) / (double)(b->large - SMALL);
	if (!(ns_per_byte > 0))
		ns_per_byte = large / (double)b->large;
	snprintf(link.from, sizeof(link.from), "%s", in ? name : "device");
	snprintf(link.to, sizeof(link.to), "%s", in ? "device" : name);
	link.bytes_per_s = (uint64_t)(1e9 / ns_per_byte) + 1;
	small -= ns_per_byte * (double)SMALL;
	link.latency_ns = small > 0 ? (uint64_t)small : 0;
	return sl_cost_set_link(book, &link);
}

static sl_status measure_tier(
	const char *name, const char *folder, size_t large, struct sl_cost_book *book)
{
	const struct sl_tier_kind *kind = sl_tier_kind_find(name);
	struct bed b = {.large = large};
	sl_status st;

	SL_BUG(kind == NULL);
	b.data = sl_alloc_aligned(SL_TIER_MAX_ALIGN, large);
	if (b.data == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for copies of %zu bytes", large);
	for (size_t i = 0; i < large; i++)
		b.data[i] = (uint8_t)(i * 131 >> 4);
	SL_TRY_OUT(kind->create(folder, large, &b.tier));
	SL_TRY_OUT(measure(&b, name, false, book));
	SL_TRY_OUT(measure(&b, name, true, book));
out:
	sl_tier_destroy(b.tier);
	sl_free_aligned(b.data);
	return st;
}

sl_status sl_calibrate_copies(
	const struct sl_calibrate_opts *opts, struct sl_cost_book *book)
{
	const struct sl_session_config config = {.disk_folder = opts->disk_folder};
	const char *folder = sl_machine_disk_folder(&config);
	size_t large = ((size_t)(opts->quick ? 32 : 128)) << 20;

	SL_TRY(measure_tier("host", NULL, large, book));
	if (strcmp(folder, "none") == 0)
		return SL_OK;
	return measure_tier("disk", folder, large, book);
}
