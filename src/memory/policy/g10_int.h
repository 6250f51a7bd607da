/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_G10_INT_H
#define SL_MEMORY_POLICY_G10_INT_H

#include "memory/policy/gaps.h"

/*
 * G10 [g10], stages 1 to 3. A period is a gap. Its benefit is the bytes of its value x
 * the time during which the device is above the target, from the middle of its copy out
 * to the middle of its copy in; the best is chosen, anew after each choice, until the
 * target is met. Channels are buckets, one for each op: what a link carries while the op
 * runs.
 */
enum sl_g10_way { SL_G10_OUT, SL_G10_IN, SL_G10_WAYS };

struct sl_g10_period {
	struct sl_gap *gap;
	double benefit; /* when it was looked at last: it never grows */
	double area; /* bytes x length, for ties */
	bool taken;
};

struct sl_g10 {
	struct sl_gaps *g;
	uint64_t limit;
	uint32_t near,
		far; /* tiers; equal: there is one, or only the far is to be used */
	unsigned margin_percent; /* of a copy in, that a period must be longer by */
	uint8_t *prefer; /* [n_values] the tier of a value that leaves */
	bool *bound; /* [n_values] whether that is decided */
	uint64_t *level; /* [n_ops + 1] bytes on the device */
	uint64_t *near_level; /* [n_ops + 1] bytes in the near tier */
	double *over_ns; /* [n_ops + 1] time above the limit before each op */
	double *capacity[SL_G10_WAYS]
			[2]; /* [n_ops] bytes that the near and the far link carry */
	double *used[SL_G10_WAYS][2]; /* [n_ops] bytes of the near and the far channel */
	double *free_sum[SL_G10_WAYS][2]; /* [n_ops + 1] their room before each op */
	bool above; /* some op is above the limit, as last summed up */
	struct sl_g10_period *periods; /* a heap, the best first */
	uint32_t n;
};

SL_NODISCARD sl_status sl_g10_init(struct sl_g10 *x, struct sl_gaps *g, bool host);
void sl_g10_finish(struct sl_g10 *x);

/* g10_flow.c: buckets. far: of the far channel. */
double sl_g10_free(const struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t op);
/* The op during which a copy out ends that begins with op `from`; the last op, if none.
 */
uint32_t sl_g10_out_end(const struct sl_g10 *x, bool far, uint32_t from, double bytes);
/* The latest op with which a copy in has to begin to be over before `to`; 0, if none. */
uint32_t sl_g10_in_begin(const struct sl_g10 *x, bool far, uint32_t to, double bytes);
/* Whether the buckets of ops [from, to) have room. */
bool sl_g10_fits(const struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t from,
	uint32_t to, double bytes);
/* Fills buckets from op `from` on. */
void sl_g10_book(
	struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t from, double bytes);
/* Of all links; after near and far are set. */
void sl_g10_capacities(struct sl_g10 *x);
/* Sums anew after a choice. */
void sl_g10_sum(struct sl_g10 *x);
double sl_g10_benefit(const struct sl_g10 *x, const struct sl_gap *gap);

/* Stage 2 from the levels of x->g, all its fates KEEP; stage 3 after it. */
void sl_g10_choose(struct sl_g10 *x);
void sl_g10_eager(struct sl_g10 *x);
/* What page faults would do where the target was not met; false: there is nothing left
 * to leave. wait: for copies out that are under way, before others are made to leave. */
bool sl_g10_fault(struct sl_g10 *x, bool wait);

#endif
