/* SPDX-License-Identifier: Apache-2.0 */
/* DTR's run time before the first op: its tables. */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/dtr_int.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

/* Values that live on after their expiry, by expiry; those born expired are pinned then.
 */
static void list_expiring(struct sl_dtr *d)
{
	const struct sl_lineage *l = d->l;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t v = 0; v < d->t->n_values; v++) {
			uint32_t e = l->expires[v];

			if (sl_lineage_stays(l, v) || l->birth[v] == SL_NO_ID ||
				e >= d->t->n_ops || e <= l->birth[v] || l->death[v] < e)
				continue;
			if (pass == 0)
				d->expiring_first[e + 2]++;
			else
				d->expiring[d->expiring_first[e + 1]++] = v;
		}
		for (uint32_t i = 2; pass == 0 && i < d->t->n_ops + 3; i++)
			d->expiring_first[i] += d->expiring_first[i - 1];
	}
}

/* Tables by value, one end more. */
static sl_status begin_values(struct sl_dtr *d)
{
	size_t n = (size_t)d->t->n_values + 1;
	uint32_t **const words[] = {&d->locks, &d->after, &d->before, &d->stamp,
		&d->stack, &d->node, &d->expiring, &d->wanted, &d->cursor};
	uint8_t **const bytes[] = {&d->there, &d->pinned, &d->dirty};
	bool all = true;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		all = (*words[i] = sl_calloc(n, sizeof(uint32_t))) && all;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		all = (*bytes[i] = sl_calloc(n, 1)) && all;
	d->last = sl_calloc(n, sizeof(*d->last));
	d->ns = sl_calloc(n, sizeof(*d->ns));
	d->around = sl_calloc(n, sizeof(*d->around));
	return all && d->last && d->ns && d->around ? SL_OK : no_memory();
}

static sl_status list_early(struct sl_dtr *d)
{
	uint32_t n = d->t->n_ops;

	d->early_first = sl_calloc((size_t)n + 3, sizeof(*d->early_first));
	d->early = sl_calloc((size_t)n + 1, sizeof(*d->early));
	if (!d->early_first || !d->early)
		return no_memory();
	for (uint32_t i = 0; i < n; i++)
		d->early_first[d->rules.early[i] + 2] += d->rules.early[i] < i;
	for (uint32_t i = 2; i < n + 3; i++)
		d->early_first[i] += d->early_first[i - 1];
	for (uint32_t i = 0; i < n; i++) {
		if (d->rules.early[i] < i)
			d->early[d->early_first[d->rules.early[i] + 1]++] = i;
	}
	return SL_OK;
}

static sl_status begin_ahead(struct sl_dtr *d)
{
	if (d->rules.early)
		SL_TRY(list_early(d));
	d->start_ns = sl_calloc((size_t)d->t->n_ops + 1, sizeof(*d->start_ns));
	if (!d->start_ns)
		return no_memory();
	for (uint32_t i = 0; i < d->t->n_ops; i++)
		d->start_ns[i + 1] = sl_add_ns(d->start_ns[i], d->t->ops[i].dur_ns);
	for (uint32_t v = 0; v < d->t->n_values; v++)
		d->cursor[v] = d->l->x.first[v];
	return SL_OK;
}

sl_status sl_dtr_begin(struct sl_dtr *d)
{
	size_t n = (size_t)d->t->n_values + 1, ops = (size_t)d->t->n_ops + 3;

	SL_TRY(begin_values(d));
	d->expiring_first = sl_calloc(ops, sizeof(*d->expiring_first));
	if (!d->expiring_first)
		return no_memory();
	memset(d->after, 0xff, n * sizeof(*d->after));
	memset(d->before, 0xff, n * sizeof(*d->before));
	memset(d->node, 0xff, n * sizeof(*d->node));
	d->after[n - 1] = d->before[n - 1] = d->t->n_values;
	for (uint32_t v = 0; v < d->t->n_values; v++) {
		if (d->t->values[v].alias == SL_NO_ID && sl_lineage_stays(d->l, v))
			d->used += sl_dtr_room(d, v);
	}
	list_expiring(d);
	if (d->rules.score == SL_DTR_AHEAD)
		return begin_ahead(d);
	return SL_OK;
}

void sl_dtr_finish(struct sl_dtr *d)
{
	sl_free(d->there);
	sl_free(d->pinned);
	sl_free(d->dirty);
	sl_free(d->locks);
	sl_free(d->last);
	sl_free(d->ns);
	sl_free(d->around);
	sl_free(d->wanted);
	sl_free(d->cursor);
	sl_free(d->start_ns);
	sl_free(d->early_first);
	sl_free(d->early);
	sl_free(d->after);
	sl_free(d->before);
	sl_free(d->stamp);
	sl_free(d->stack);
	sl_free(d->node);
	sl_free(d->expiring);
	sl_free(d->expiring_first);
	sl_free(d->class_up);
	sl_free(d->class_ns);
	sl_free(d->frames);
	sl_free(d->marks);
}
