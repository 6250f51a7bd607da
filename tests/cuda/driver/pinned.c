/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory of the host: mapped once for the host and once for the driver, so that
 * the host's pages can be shut while work on them is under way that it has not waited
 * for.
 */
#include "cuda/driver/driver_int.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096 };
enum level { OPEN, READ_ONLY, SHUT };

static struct sigaction before;

static bool in_order(const struct access *a, const struct clock *c)
{
	return c->at[a->slot] >= a->number;
}

/* All threads have the same pages: they are open to a host function that runs where the
 * work comes before it or after it. */
static bool is_open(const struct pending *p)
{
	for (const struct item *i = fake.host_functions; i != NULL; i = i->next)
		if (in_order(&p->who, &i->clock) || in_order(&i->who, &p->clock))
			return true;
	return false;
}

/* Work that the host must not meet here. */
static const struct pending *meets(uint64_t at, uint64_t end, bool write)
{
	for (size_t i = 0; i < fake.pending_count; i++) {
		const struct pending *p = &fake.pending[i];
		if (p->start < end && at < p->end && (write || p->write) && !is_open(p))
			return p;
	}
	return NULL;
}

static enum level level_of(uint64_t page)
{
	if (meets(page, page + PAGE, false) != NULL)
		return SHUT;
	return meets(page, page + PAGE, true) != NULL ? READ_ONLY : OPEN;
}

static void set_level(const struct mapping *m, uint64_t page, enum level level)
{
	static const int protection[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
	uint8_t *was = &m->level[(page - m->start) / PAGE];
	if (*was != level)
		mprotect((void *)(uintptr_t)page, PAGE, protection[level]);
	*was = (uint8_t)level;
}

static void protect(uint64_t start, uint64_t end)
{
	const struct mapping *m = fake_mapping_of(start);
	if (m == NULL || m->level == NULL)
		return;
	for (uint64_t page = start / PAGE * PAGE; page < end; page += PAGE)
		set_level(m, page, level_of(page));
}

void fake_pinned_expect(const struct access *who, const struct clock *clock,
	uint64_t address, size_t bytes, bool write)
{
	const struct mapping *m = fake_mapping_of(address);
	if (m == NULL || m->level == NULL || in_order(who, &fake.host))
		return;
	if (fake.pending_count == fake.pending_room) {
		size_t room = fake.pending_room * 2 + 16;
		struct pending *p = realloc(fake.pending, room * sizeof *p);
		if (p == NULL)
			return;
		fake.pending = p;
		fake.pending_room = room;
	}
	fake.pending[fake.pending_count++] =
		(struct pending){address, address + bytes, write, *who, *clock};
	protect(address, address + bytes);
}

void fake_pinned_settle(void)
{
	for (size_t i = fake.pending_count; i > 0; i--) {
		struct pending p = fake.pending[i - 1];
		if (!in_order(&p.who, &fake.host))
			continue;
		fake.pending[i - 1] = fake.pending[--fake.pending_count];
		protect(p.start, p.end);
	}
}

static void protect_all(void)
{
	for (size_t i = 0; i < fake.pending_count; i++)
		protect(fake.pending[i].start, fake.pending[i].end);
}

void fake_pinned_begin_host(struct item *i)
{
	i->next = fake.host_functions;
	fake.host_functions = i;
	protect_all();
}

void fake_pinned_end_host(struct item *i)
{
	struct item **at = &fake.host_functions;

	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	protect_all();
}

void fake_host_reaches(const struct clock *clock)
{
	if (fake_left_out(clock, &fake.host))
		return;
	clock_join(&fake.host, clock);
	fake_pinned_settle();
}

bool fake_left_out(const struct clock *from, const struct clock *to)
{
	for (int i = 0; i < CLOCK_SLOTS; i++)
		if (from->at[i] > to->at[i])
			return ++fake.waits == fake.options.leave_out;
	return false;
}

/* True if the touch was one of pinned memory; the page is open then. */
static bool tell(uint64_t at, bool write)
{
	pthread_mutex_lock(&fake.lock);
	const struct mapping *m = fake_mapping_of(at);
	bool ours = m != NULL && m->level != NULL;
	const struct pending *p = ours ? meets(at, at + 1, write) : NULL;
	if (ours)
		set_level(m, at / PAGE * PAGE, OPEN);
	if (p != NULL)
		fake_complain("the host %s pinned byte %#llx, which %s (stream %u, "
			      "number %llu) %s, "
			      "and nobody waits for that",
			write ? "writes" : "reads", (unsigned long long)at, p->who.name,
			(unsigned)p->who.slot, (unsigned long long)p->who.number,
			p->write ? "writes" : "reads");
	pthread_mutex_unlock(&fake.lock);
	return ours;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	bool write = true;
#if defined(__x86_64__)
	const ucontext_t *u = context;
	write = (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#endif
	(void)context;
	if (tell((uintptr_t)info->si_addr, write))
		return;
	/* Somebody else's: it happens again, and then they hear of it. */
	sigaction(sig, &before, NULL);
}

static void listen(void)
{
	struct sigaction now;
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER};
	ours.sa_sigaction = on_fault;
	sigaction(SIGSEGV, NULL, &now);
	if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault)
		return;
	before = now;
	sigaction(SIGSEGV, &ours, NULL);
}

static bool map_twice(struct mapping *m, size_t bytes)
{
	int fd = memfd_create("pinned", MFD_CLOEXEC);
	size_t all = (bytes + PAGE - 1) / PAGE * PAGE;
	void *host = MAP_FAILED;
	void *own = MAP_FAILED;
	m->level = calloc(all / PAGE, 1);
	if (fd >= 0 && ftruncate(fd, (off_t)all) == 0 && m->level != NULL) {
		host = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		own = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (host != MAP_FAILED && own != MAP_FAILED) {
		m->view = own;
		m->start = m->physical = (uintptr_t)host;
		return true;
	}
	if (host != MAP_FAILED)
		munmap(host, all);
	if (own != MAP_FAILED)
		munmap(own, all);
	free(m->level);
	return false;
}

sl_cu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	ENTER("cuMemHostAlloc");
	(void)flags;
	struct mapping *place = fake_free_mapping();
	struct mapping m = {.usable = true};
	if (bytes == 0 || place == NULL || !map_twice(&m, bytes))
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	m.bytes = bytes;
	*place = m;
	listen();
	fake.pinned++;
	*out = (void *)(uintptr_t)m.start;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemFreeHost(void *p)
{
	sl_cu_result r = fake_enter("cuMemFreeHost", CALL_ENDS);
	for (int i = 0; i < FAKE_MAPPINGS; i++) {
		struct mapping *m = &fake.mapping[i];
		if (m->bytes == 0 || m->level == NULL || m->start != (uintptr_t)p)
			continue;
		size_t all = (m->bytes + PAGE - 1) / PAGE * PAGE;
		fake_pause();
		fake_touch_by_host("cuMemFreeHost", m->start, m->bytes, true);
		shadow_forget(&fake.shadow, m->start, m->start + m->bytes);
		for (size_t k = fake.pending_count; k > 0; k--)
			if (fake.pending[k - 1].start - m->start < m->bytes)
				fake.pending[k - 1] = fake.pending[--fake.pending_count];
		munmap(p, all);
		munmap(m->view, all);
		free(m->level);
		*m = (struct mapping){0};
		fake.pinned--;
		fake_go_on();
		return fake_leave(r);
	}
	return fake_leave(SL_CU_ERROR_INVALID_VALUE);
}
