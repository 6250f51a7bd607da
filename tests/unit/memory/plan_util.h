/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_PLAN_UTIL_H
#define SL_TESTS_MEMORY_PLAN_UTIL_H

/* A small trace and plans for it, written as text. Include harness.h first. */
#include <string.h>

#include "memory/plan.h"

/*
 * Two persistent values and a chain of activations; pages. v0 is read by op 0 and op 3,
 * v1 is written by op 3; v2 lives over ops 0 to 2, v3 over 1 to 3.
 */
#define PLAN_TRACE \
	"trace 1\njob 0 name=t iterations=0\n" \
	"tier disk bytes=16384\ntier far bytes=8192\n" \
	"link device disk bytes_per_s=1000000000 latency_ns=100\n" \
	"link disk device bytes_per_s=1000000000 latency_ns=100\n" \
	"link device far bytes_per_s=1000000000\n" \
	"value v0 bytes=4096 align=4096 class=param name=w\n" \
	"value v1 bytes=4096 align=4096 class=state name=m\n" \
	"value v2 bytes=4096 align=4096 class=act\n" \
	"value v3 bytes=4096 align=4096 class=act\n" \
	"value v4 bytes=64 align=64 class=const immovable=1\n" \
	"op 0 kind=a dur_ns=1000 in=v0 out=v2\n" \
	"op 1 kind=b dur_ns=1000 workspace=64 in=v2 out=v3\n" \
	"op 2 kind=c dur_ns=1000 in=v2\n" \
	"op 3 kind=d dur_ns=1000 in=v0,v3 mutates=v1\n"

#define PLAN_HEAD "plan 1 budget=65536 policy=hand order=seal\n"
#define PLAN_PLACES \
	"place v2 region=lane offset=8192\nplace v3 region=lane offset=12288\n" \
	"place w1 region=lane offset=16448\nplace v4 region=P offset=16384\n"
#define PLAN_BOTH "place v0 region=P offset=0\nplace v1 region=P offset=4096\n"
/* Sound, without actions. */
#define PLAN_KEEP PLAN_HEAD PLAN_BOTH PLAN_PLACES
/* Sound, with v1 below outside op 3 and v0 away between its uses. */
#define PLAN_SWAP \
	PLAN_HEAD "place v0 region=P offset=0\n" PLAN_PLACES \
		  "start v1 tier=disk offset=0\n" \
		  "after 0 delay_ns=0 out v0 tier=disk channel=0 offset=4096\n" \
		  "before 3 delay_ns=0 in v1 tier=disk channel=1 offset=4096\n" \
		  "before 3 delay_ns=0 in v0 tier=disk channel=1 offset=0\n" \
		  "after 3 delay_ns=0 out v1 tier=disk channel=0 offset=0\n"

static inline void plan_trace(struct sl_trace *t)
{
	sl_assert_ok(sl_trace_parse("hand.trace", PLAN_TRACE, strlen(PLAN_TRACE), t));
}

static inline sl_status plan_parse(
	const struct sl_trace *t, const char *text, struct sl_plan *p)
{
	return sl_plan_parse("hand.plan", text, strlen(text), t, p);
}

#endif
