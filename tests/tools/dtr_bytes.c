/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What DTR's rule takes where bytes alone count, as in the paper's own simulator:
 *
 *   dtr_bytes TRACE SCORE PERCENT...
 *
 * SCORE as policy dtr's option. A line a PERCENT of the most bytes that the trace needs
 * without a limit: the percent, the budget, 1 or 0 (it fits), the time of all runs over
 * that of the trace.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "memory/policy/dtr.h"

static sl_status rows(const struct sl_lineage *l, struct sl_dtr_rules rules,
	const char *const *percents, int n)
{
	struct sl_dtr_result whole = {0}, r = {0};
	double base = 0;

	rules.budget = rules.most_again_ns = UINT64_MAX;
	SL_TRY(sl_dtr_simulate(l, &rules, NULL, &whole));
	for (uint32_t i = 0; i < l->t->n_ops; i++)
		base += (double)l->t->ops[i].dur_ns;
	rules.most_again_ns = (uint64_t)base;
	for (int i = 0; i < n; i++) {
		rules.budget =
			(uint64_t)((double)whole.peak * strtod(percents[i], NULL) / 100);
		SL_TRY(sl_dtr_simulate(l, &rules, NULL, &r));
		(void)printf("%s %llu %d %.6f\n", percents[i],
			(unsigned long long)rules.budget, r.fits,
			1 + (double)r.again_ns / base);
	}
	return SL_OK;
}

int main(int argc, char **argv)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_lineage l = {0};
	sl_status st = SL_OK;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: dtr_bytes TRACE SCORE PERCENT...\n");
		return 2;
	}
	SL_TRY_OUT(sl_fs_read(argv[1], (size_t)1 << 30, &text));
	SL_TRY_OUT(sl_trace_parse(argv[1], text.data, text.len, &t));
	SL_TRY_OUT(sl_lineage_init(&l, &t));
	SL_TRY_OUT(rows(&l,
		(struct sl_dtr_rules){
			.score = (enum sl_dtr_score)strtol(argv[2], NULL, 10),
			.bytes = true},
		(const char *const *)argv + 3, argc - 3));
out:
	if (st != SL_OK)
		(void)fprintf(stderr, "dtr_bytes: %s\n", sl_last_error());
	sl_lineage_finish(&l);
	sl_trace_finish(&t);
	sl_buf_finish(&text);
	return st == SL_OK ? 0 : 1;
}
