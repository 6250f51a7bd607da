/* SPDX-License-Identifier: Apache-2.0 */
/* The card's addresses that are reserved. */
#include "cuda/driver/driver_int.h"

sl_cu_result cuMemAddressReserve(sl_cu_ptr *out, size_t bytes, size_t align,
	sl_cu_ptr wish, unsigned long long flags)
{
	ENTER("cuMemAddressReserve");
	(void)wish;
	if (bytes == 0 || bytes % FAKE_GRANULE != 0 || align > FAKE_GRANULE || flags != 0)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	if (!fake_open_window())
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	/* Behind the last one and a gap, so that running past an end is seen. */
	uint64_t at = (uintptr_t)fake.window + FAKE_GRANULE;
	struct reservation *place = NULL;
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		struct reservation *r = &fake.reservation[i];
		if (r->bytes == 0)
			place = r;
		else if (r->start + r->bytes + FAKE_GRANULE > at)
			at = r->start + r->bytes + FAKE_GRANULE;
	}
	if (place == NULL || at + bytes > (uintptr_t)fake.bytes_at)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	*place = (struct reservation){at, bytes};
	fake.reserved++;
	*out = at;
	return fake_leave(SL_CU_SUCCESS);
}

static struct reservation *reservation_of(uint64_t p, size_t bytes)
{
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		struct reservation *r = &fake.reservation[i];
		if (r->bytes > 0 && p >= r->start && p + bytes <= r->start + r->bytes)
			return r;
	}
	return NULL;
}

bool fake_is_reserved(uint64_t p, size_t bytes)
{
	return reservation_of(p, bytes) != NULL;
}

sl_cu_result cuMemAddressFree(sl_cu_ptr p, size_t bytes)
{
	sl_cu_result r = fake_enter("cuMemAddressFree", CALL_ENDS);
	struct reservation *at = reservation_of(p, bytes);
	if (at == NULL || at->start != p || at->bytes != bytes)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	for (int i = 0; i < FAKE_MAPPINGS; i++)
		if (fake.mapping[i].bytes > 0 && fake.mapping[i].start - p < bytes)
			fake_complain(
				"cuMemAddressFree of addresses that are still mapped");
	at->bytes = 0;
	fake.reserved--;
	return fake_leave(r);
}
