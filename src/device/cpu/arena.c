/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of the CPU device: exactly the bytes asked for, all of them there at the
 * start.
 *
 * Huge pages make the first touch four times as fast and kernels a little faster, but a
 * huge page is 2 MiB of resident memory whole: only the part that is whole huge pages
 * asks for them, the rest is told not to have any, so resident memory never exceeds the
 * bytes asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"
#include "device/cpu/cpu_int.h"

#define HUGE ((uint64_t)2 << 20)
#define PAGE 4096u

static sl_status no_memory(uint64_t bytes, const char *why)
{
	return SL_FAIL(SL_E_NOMEM_DEVICE,
		"the system cannot give %llu bytes of device memory: %s; give a smaller "
		"--budget (without one all lies in memory at once) or end other programs",
		(unsigned long long)bytes, why);
}

/* What the kernel says it can give; it would rather kill us later than refuse an mmap. */
static uint64_t available_bytes(void)
{
	static const char key[] = "MemAvailable:";
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = UINT64_MAX / SL_KIB;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		char *number = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		number += strspn(number, " ");
		number[strcspn(number, " \n")] = '\0';
		if (sl_u64_parse(number, &kib) != SL_OK)
			kib = UINT64_MAX / SL_KIB;
	}
	if (f)
		(void)fclose(f);
	return kib * SL_KIB;
}

/* `bytes` at a huge-page boundary: a little too much address space, the ends given back.
 */
static uint8_t *map_aligned(uint64_t bytes)
{
	uint64_t whole = bytes + HUGE, skip;
	uint8_t *p = mmap(
		NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	skip = sl_align_up((uintptr_t)p, HUGE) - (uintptr_t)p;
	if (skip > 0)
		(void)munmap(p, skip);
	if (whole - skip > bytes)
		(void)munmap(p + skip + bytes, whole - skip - bytes);
	return p + skip;
}

static int touch(uint8_t *p, uint64_t bytes)
{
	if (madvise(p, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return errno;
	/* Before Linux 5.14: one write a page, which cannot report a failure. */
	for (uint64_t i = 0; i < bytes; i += PAGE)
		((volatile uint8_t *)p)[i] = 0;
	return 0;
}

sl_status sl_cpu_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	uint64_t huge = bytes & ~(HUGE - 1);
	uint8_t *p;
	int err;

	(void)d;
	if (bytes > available_bytes())
		return no_memory(bytes, "less is available");
	p = map_aligned(bytes);
	if (!p)
		return no_memory(bytes, strerror(errno));
	/* Hints: without them the arena is merely slower. */
	if (huge > 0)
		(void)madvise(p, huge, MADV_HUGEPAGE);
	if (bytes > huge)
		(void)madvise(p + huge, bytes - huge, MADV_NOHUGEPAGE);
	err = touch(p, bytes);
	if (err) {
		(void)munmap(p, bytes);
		return no_memory(bytes, strerror(err));
	}
	*out = (struct sl_device_arena){.base = p, .bytes = bytes};
	return SL_OK;
}

void sl_cpu_arena_destroy(struct sl_device *d, struct sl_device_arena *a)
{
	(void)d;
	(void)munmap(a->base, a->bytes);
}
