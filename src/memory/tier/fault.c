/* SPDX-License-Identifier: Apache-2.0 */
/* A decorator for tests: the n-th put or get fails, the others go to the tier inside. */
#include "memory/tier/tier.h"

#include <pthread.h>

#include "base/alloc.h"

struct fault_tier {
	struct sl_tier base;
	struct sl_tier_impl impl; /* a copy: the alignment is the inner tier's */
	struct sl_tier *inner;
	pthread_mutex_t lock; /* puts and gets come from different threads */
	long left;
	sl_status st;
};

static sl_status count_call(struct fault_tier *f, const char *what, uint64_t offset)
{
	bool fail;

	pthread_mutex_lock(&f->lock);
	fail = f->left > 0 && --f->left == 0;
	pthread_mutex_unlock(&f->lock);
	return fail ? SL_FAIL(f->st, "%s tier: injected failure of a %s at %llu",
			      f->inner->impl->name, what, (unsigned long long)offset)
		    : SL_OK;
}

static sl_status fault_put(
	struct sl_tier *t, uint64_t offset, const void *data, size_t len)
{
	struct fault_tier *f = (struct fault_tier *)t;

	SL_TRY(count_call(f, "put", offset));
	return sl_tier_put(f->inner, offset, data, len);
}

static sl_status fault_get(struct sl_tier *t, uint64_t offset, void *data, size_t len)
{
	struct fault_tier *f = (struct fault_tier *)t;

	SL_TRY(count_call(f, "get", offset));
	return sl_tier_get(f->inner, offset, data, len);
}

static void fault_destroy(struct sl_tier *t)
{
	struct fault_tier *f = (struct fault_tier *)t;

	sl_tier_destroy(f->inner);
	pthread_mutex_destroy(&f->lock);
	sl_free(f);
}

sl_status sl_tier_fault_create(
	struct sl_tier *inner, long n, sl_status st, struct sl_tier **out)
{
	struct fault_tier *f = sl_calloc(1, sizeof(*f));

	if (!f)
		return SL_FAIL(SL_E_NOMEM, "fault tier: no memory for its table");
	if (pthread_mutex_init(&f->lock, NULL) != 0) {
		sl_free(f);
		return SL_FAIL(SL_E_NOMEM, "fault tier: no lock");
	}
	f->impl = (struct sl_tier_impl){
		.name = inner->impl->name,
		.align = inner->impl->align,
		.put = fault_put,
		.get = fault_get,
		.destroy = fault_destroy,
	};
	f->base = (struct sl_tier){
		.impl = &f->impl,
		.bytes = inner->bytes,
		.warning = inner->warning,
	};
	f->inner = inner;
	f->left = n;
	f->st = st;
	*out = &f->base;
	return SL_OK;
}
