/* SPDX-License-Identifier: Apache-2.0 */
/* The cost books of this build: committed numbers, so that prices are repeatable. */
#include <string.h>

#include "sim/cost.h"

#define GB_PER_S(n) ((uint64_t)((n)*1e9))

static const struct sl_cost_book cpu = {
	.device = "cpu",
	.cores = 2,
	.ops =
		{
#include "sim/cost_cpu.def"
		},
	.n_ops = sizeof((struct sl_cost_op[]){
#include "sim/cost_cpu.def"
		 }) /
		 sizeof(struct sl_cost_op),
	.links =
		{
			{"device", "host", GB_PER_S(12), 2000},
			{"host", "device", GB_PER_S(12), 2000},
			{"device", "disk", GB_PER_S(1.7), 100000},
			{"disk", "device", GB_PER_S(1.7), 100000},
		},
	.n_links = 4,
};

/* A model of a card of 14 TFLOP/s and 800 GB/s behind a third-generation bus, not a
 * measurement. */
static const struct sl_cost_book gpu = {
	.device = "gpu",
	.cores = 80,
	.ops =
		{
#include "sim/cost_gpu.def"
		},
	.n_ops = sizeof((struct sl_cost_op[]){
#include "sim/cost_gpu.def"
		 }) /
		 sizeof(struct sl_cost_op),
	.links =
		{
			{"device", "host", GB_PER_S(12), 10000},
			{"host", "device", GB_PER_S(12), 10000},
			{"device", "disk", GB_PER_S(2), 100000},
			{"disk", "device", GB_PER_S(2), 100000},
		},
	.n_links = 4,
};

static const struct {
	const struct sl_cost_book *book;
	const char *summary;
} rows[] = {
	{&cpu, "two cores of a current server, rows by kind as `sluice calibrate` fits "
	       "them"},
	{&gpu, "a model of a card of 14 TFLOP/s and 800 GB/s with a link of 12 GB/s; not "
	       "a measurement"},
};

const struct sl_cost_book *sl_cost_book_at(size_t i, const char **summary)
{
	if (i >= sizeof(rows) / sizeof(rows[0]))
		return NULL;
	if (summary != NULL)
		*summary = rows[i].summary;
	return rows[i].book;
}

const struct sl_cost_book *sl_cost_book_find(const char *device)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].book->device, device) == 0)
			return rows[i].book;
	return NULL;
}
