/* SPDX-License-Identifier: Apache-2.0 */
/* The access trace as data: builders, class table, release. */
#include "memory/trace.h"

#include "base/alloc.h"

static const struct {
	const char *text;
	bool persistent;
} class_rows[SL_CLASS_COUNT] = {
#define X(name, text, persistent) [SL_CLASS_##name] = {text, persistent},
	SL_CLASS_TABLE(X)
#undef X
};

bool sl_class_persistent(enum sl_class c)
{
	return c < SL_CLASS_COUNT && class_rows[c].persistent;
}

const char *sl_class_name(enum sl_class c)
{
	return c < SL_CLASS_COUNT ? class_rows[c].text : "unknown";
}

uint32_t sl_trace_root(const struct sl_trace *t, uint32_t v)
{
	return t->values[v].alias == SL_NO_ID ? v : t->values[v].alias;
}

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left for the trace");
}

static sl_status copy_text(struct sl_trace *t, const char **text)
{
	const char *copy = sl_arena_strdup(&t->arena, *text ? *text : "");

	if (!copy)
		return no_memory();
	*text = copy;
	return SL_OK;
}

static sl_status grow(
	void **items, size_t *cap, size_t need, size_t item_bytes, size_t max)
{
	if (need > max)
		return SL_FAIL(SL_E_LIMIT,
			"a trace holds at most %zu of these; this one has more", max);
	if (sl_grow(items, cap, need, item_bytes, max))
		return no_memory();
	return SL_OK;
}

sl_status sl_trace_add_tier(struct sl_trace *t, const char *name, uint64_t bytes)
{
	struct sl_trace_tier tier = {.name = name, .bytes = bytes};

	SL_TRY(grow((void **)&t->tiers, &t->cap_tiers, (size_t)t->n_tiers + 1,
		sizeof(tier), 8));
	SL_TRY(copy_text(t, &tier.name));
	t->tiers[t->n_tiers++] = tier;
	return SL_OK;
}

sl_status sl_trace_add_link(struct sl_trace *t, const struct sl_trace_link *link)
{
	SL_TRY(grow((void **)&t->links, &t->cap_links, (size_t)t->n_links + 1,
		sizeof(*link), 64));
	t->links[t->n_links++] = *link;
	return SL_OK;
}

sl_status sl_trace_add_value(struct sl_trace *t, const struct sl_trace_value *v)
{
	struct sl_trace_value copy = *v;

	SL_TRY(grow((void **)&t->values, &t->cap_values, (size_t)t->n_values + 1,
		sizeof(copy), SL_TRACE_MAX_VALUES));
	SL_TRY(copy_text(t, &copy.name));
	t->values[t->n_values++] = copy;
	return SL_OK;
}

static sl_status copy_list(struct sl_trace *t, uint32_t **list, uint32_t n)
{
	void *copy;

	if (n == 0) {
		*list = NULL;
		return SL_OK;
	}
	copy = sl_arena_copy(&t->arena, *list, n * sizeof(**list));
	if (!copy)
		return no_memory();
	*list = copy;
	return SL_OK;
}

sl_status sl_trace_add_op(struct sl_trace *t, const struct sl_trace_op *op)
{
	struct sl_trace_op copy = *op;

	SL_TRY(grow((void **)&t->ops, &t->cap_ops, (size_t)t->n_ops + 1, sizeof(copy),
		SL_TRACE_MAX_OPS));
	SL_TRY(copy_text(t, &copy.kind));
	SL_TRY(copy_text(t, &copy.scope));
	SL_TRY(copy_list(t, &copy.in, copy.n_in));
	SL_TRY(copy_list(t, &copy.out, copy.n_out));
	SL_TRY(copy_list(t, &copy.mutates, copy.n_mutates));
	t->ops[t->n_ops++] = copy;
	return SL_OK;
}

void sl_trace_finish(struct sl_trace *t)
{
	if (!t)
		return;
	sl_free(t->values);
	sl_free(t->ops);
	sl_free(t->tiers);
	sl_free(t->links);
	sl_arena_finish(&t->arena);
	*t = SL_TRACE_INIT;
}

#define CORE_BYTES_PER_S 8000000000u /* one core copies within DRAM */

uint64_t sl_trace_move_ns(const struct sl_trace *t, uint64_t bytes)
{
	uint64_t rate = t->move_bytes_per_s > 0 ? t->move_bytes_per_s : CORE_BYTES_PER_S;
	long double ns = (long double)bytes * 1e9L / (long double)rate;

	return ns >= 9e18L ? (uint64_t)9e18L : (uint64_t)ns;
}
