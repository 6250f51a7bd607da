/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the card, memory behind them, pinned memory of the host. */
#include "cuda/driver/driver_int.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (UINT64_C(1) << 36)

/* The host's view of the card's addresses is shut: following one ends the program. */
bool fake_open_window(void)
{
	if (fake.window != NULL)
		return true;
	uint8_t *p = mmap(NULL, 2 * WINDOW + FAKE_GRANULE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	uintptr_t at = ((uintptr_t)p + FAKE_GRANULE - 1) & ~(uintptr_t)(FAKE_GRANULE - 1);
	fake.window = p + (at - (uintptr_t)p);
	fake.bytes_at = fake.window + WINDOW;
	fake.next_physical = UINT64_C(1) << 60;
	return true;
}

void *fake_host_view(uint64_t address)
{
	const struct mapping *m = fake_mapping_of(address);
	return m != NULL ? m->view + (address - m->start) : (void *)(uintptr_t)address;
}

uint64_t fake_card_view(uintptr_t host)
{
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		const struct mapping *m = &fake.mapping[i];
		if (m->bytes > 0 && host - (uintptr_t)m->view < m->bytes)
			return m->start + (host - (uintptr_t)m->view);
	}
	return host;
}

const struct mapping *fake_mapping_of(uint64_t address)
{
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		const struct mapping *m = &fake.mapping[i];
		if (m->bytes > 0 && address - m->start < m->bytes)
			return m;
	}
	return NULL;
}

bool fake_live(uint64_t address, size_t bytes)
{
	while (bytes > 0) {
		const struct mapping *m = fake_mapping_of(address);
		if (m == NULL || !m->usable)
			return false;
		uint64_t n = m->start + m->bytes - address;
		n = n < bytes ? n : bytes;
		address += n;
		bytes -= n;
	}
	return true;
}

struct mapping *fake_free_mapping(void)
{
	for (int i = 0; i < FAKE_MAPPINGS; i++)
		if (fake.mapping[i].bytes == 0)
			return &fake.mapping[i];
	return NULL;
}

sl_cu_result cuMemGetAllocationGranularity(
	size_t *bytes, const struct sl_cu_mem_prop *prop, unsigned option)
{
	ENTER("cuMemGetAllocationGranularity");
	(void)option;
	*bytes = FAKE_GRANULE;
	return fake_leave(prop->type == SL_CU_MEM_ALLOCATION_TYPE_PINNED
				  ? SL_CU_SUCCESS
				  : SL_CU_ERROR_INVALID_VALUE);
}

static struct memory *new_memory(int fd, size_t bytes)
{
	struct memory *m = calloc(1, sizeof *m);
	if (m == NULL)
		return NULL;
	*m = (struct memory){fd, bytes, 1, fake.next_physical, false};
	fake.next_physical += bytes + FAKE_GRANULE;
	fake.memories++;
	fake.used += bytes;
	return m;
}

static void drop_memory(struct memory *m)
{
	if (--m->refs > 0)
		return;
	shadow_forget(&fake.shadow, m->physical, m->physical + m->bytes);
	close(m->fd);
	fake.memories--;
	fake.used -= m->bytes;
	free(m);
}

sl_cu_result cuMemCreate(sl_cu_mem *out, size_t bytes, const struct sl_cu_mem_prop *prop,
	unsigned long long flags)
{
	ENTER("cuMemCreate");
	size_t total = fake.options.bytes != 0 ? fake.options.bytes : (size_t)1 << 30;
	if (bytes == 0 || bytes % FAKE_GRANULE != 0 || flags != 0 ||
		prop->location.type != SL_CU_MEM_LOCATION_TYPE_DEVICE)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	if (!fake_open_window() || bytes > total - fake.used)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	int fd = memfd_create("card", MFD_CLOEXEC);
	struct memory *m = NULL;
	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		m = new_memory(fd, bytes);
	if (m == NULL) {
		if (fd >= 0)
			close(fd);
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	}
	*out = (uintptr_t)m;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemRelease(sl_cu_mem mem)
{
	sl_cu_result r = fake_enter("cuMemRelease", CALL_ENDS);
	drop_memory((struct memory *)(uintptr_t)mem);
	return fake_leave(r);
}

sl_cu_result cuMemMap(
	sl_cu_ptr p, size_t bytes, size_t offset, sl_cu_mem mem, unsigned long long flags)
{
	ENTER("cuMemMap");
	struct memory *m = (struct memory *)(uintptr_t)mem;
	struct mapping *place = fake_free_mapping();
	if (bytes == 0 || bytes % FAKE_GRANULE != 0 || offset + bytes > m->bytes ||
		flags != 0 || !fake_is_reserved(p, bytes) || place == NULL)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		const struct mapping *o = &fake.mapping[i];
		if (o->bytes > 0 && p < o->start + o->bytes && o->start < p + bytes)
			return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	}
	uint8_t *view = fake.bytes_at + (p - (uintptr_t)fake.window);
	if (mmap(view, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, m->fd, (off_t)offset) ==
		MAP_FAILED)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	m->refs++;
	*place = (struct mapping){.start = p,
		.bytes = bytes,
		.memory = m,
		.physical = m->physical + offset,
		.view = view};
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemSetAccess(
	sl_cu_ptr p, size_t bytes, const struct sl_cu_mem_access *desc, size_t count)
{
	ENTER("cuMemSetAccess");
	if (count != 1 || desc->flags != SL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		struct mapping *m = &fake.mapping[i];
		if (m->bytes == 0 || m->start < p || m->start + m->bytes > p + bytes)
			continue;
		if (mprotect(m->view, m->bytes, PROT_READ | PROT_WRITE) != 0)
			return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
		m->usable = true;
	}
	return fake_leave(
		fake_live(p, bytes) ? SL_CU_SUCCESS : SL_CU_ERROR_INVALID_VALUE);
}

sl_cu_result cuMemUnmap(sl_cu_ptr p, size_t bytes)
{
	sl_cu_result r = fake_enter("cuMemUnmap", CALL_ENDS);
	fake_pause();
	uint64_t left = bytes;
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		struct mapping *m = &fake.mapping[i];
		if (m->bytes == 0 || m->start < p || m->start + m->bytes > p + bytes)
			continue;
		fake_touch_by_host("cuMemUnmap", m->start, m->bytes, true);
		mmap(m->view, m->bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		left -= m->bytes;
		m->bytes = 0;
		drop_memory(m->memory);
	}
	fake_go_on();
	return fake_leave(left == 0 ? r : SL_CU_ERROR_INVALID_VALUE);
}

sl_cu_result cuMemExportToShareableHandle(
	void *out, sl_cu_mem mem, unsigned handle_type, unsigned long long flags)
{
	ENTER("cuMemExportToShareableHandle");
	const struct memory *m = (struct memory *)(uintptr_t)mem;
	if (handle_type != SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	int fd = dup(m->fd);
	*(int *)out = fd;
	return fake_leave(fd >= 0 ? SL_CU_SUCCESS : SL_CU_ERROR_OUT_OF_MEMORY);
}

sl_cu_result cuMemImportFromShareableHandle(
	sl_cu_mem *out, void *handle, unsigned handle_type)
{
	ENTER("cuMemImportFromShareableHandle");
	struct stat st;
	int fd = dup((int)(intptr_t)handle);
	if (handle_type != SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fd < 0 ||
		fstat(fd, &st) != 0 || !fake_open_window())
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	struct memory *m = new_memory(fd, (size_t)st.st_size);
	*out = (uintptr_t)m;
	if (m != NULL)
		m->foreign = true;
	return fake_leave(m != NULL ? SL_CU_SUCCESS : SL_CU_ERROR_OUT_OF_MEMORY);
}
