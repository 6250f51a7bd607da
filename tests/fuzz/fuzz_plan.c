/* SPDX-License-Identifier: Apache-2.0 */
/* The plan parser and the checker behind it, over a fixed trace
 * (tests/corpus/update.trace in short). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "memory/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char trace_text[] =
	"trace 1\njob 0 name=update iterations=0\ntier disk bytes=1048576\n"
	"link device disk bytes_per_s=1000000000 duplex=full\n"
	"link disk device bytes_per_s=1000000000 duplex=full\n"
	"value v0 bytes=8192 align=4096 class=param\n"
	"value v1 bytes=8192 align=4096 class=state\n"
	"value v2 bytes=4096 align=4096 class=input\n"
	"value v3 bytes=4096 align=4096 class=act\n"
	"value v4 bytes=4096 align=4096 class=grad\n"
	"value v5 bytes=8192 align=4096 class=grad\n"
	"op 0 kind=feed dur_ns=10000 out=v2\n"
	"op 1 kind=matmul dur_ns=10000 workspace=8192 in=v0,v2 out=v3\n"
	"op 2 kind=loss dur_ns=10000 in=v3 out=v4\n"
	"op 3 kind=matmul_grad dur_ns=10000 in=v2,v4 out=v5\n"
	"op 4 kind=sgd dur_ns=10000 in=v5 mutates=v0,v1\n";

/* A plan that parses prints to a text that parses to the same plan. */
static void round_trip(const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_plan back = SL_PLAN_INIT;
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

	if (sl_plan_print(p, t, &first) == SL_OK) {
		SL_BUG(sl_plan_parse("again", first.data, first.len, t, &back) != SL_OK);
		SL_BUG(sl_plan_print(&back, t, &second) != SL_OK);
		SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	}
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	sl_plan_finish(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	uint64_t peak = 0;

	if (sl_trace_parse("fixed", trace_text, sizeof(trace_text) - 1, &t) != SL_OK)
		return 0;
	if (sl_plan_parse("fuzz", (const char *)data, size, &t, &p) == SL_OK) {
		round_trip(&t, &p);
		if (sl_plan_check(&t, &p, p.budget, &peak) == SL_OK) {
			SL_BUG(peak > p.budget);
			SL_BUG(sl_plan_price(&t, &p, &price) != SL_OK);
		}
	}
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	return 0;
}
