/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range of addresses that a job's memory is mapped into, and what happens when it is
 * taken away (docs/adr/0030-windows.md).
 *
 * Mutable state: the table of windows, which the SIGBUS handler has no other way to find,
 * and the action that was there before it, with a lock for those who install.
 *
 * 1. The handler calls nothing but mmap (the system's), sigaction and raise, takes no
 * lock, and keeps errno.
 * 2. A row is published by its state; its base and sizes are written before.
 * 3. A part goes intact -> mending -> lost by whoever moves it from intact first. Another
 *    thread that faults meanwhile returns, and faults again until the memory is there.
 */
#include "device/window.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/atom.h"
#include "base/fs.h"
#include "device/shared.h"

enum { FREE, TAKEN, LIVE };
enum { INTACT, MENDING, LOST };
enum { P, LANE, PARTS };

struct part {
	struct sl_atom64 begin, end; /* addresses; the same: nothing is mapped */
	struct sl_atom32 state;
};

struct sl_window {
	struct sl_atom32 use;
	uint8_t *base;
	uint64_t most_bytes;
	struct part part[PARTS];
};

static struct sl_window table[SL_WINDOWS_MAX];
static struct sigaction former_bus, former_segv;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

/* Nobody's memory of ours: what would have happened without us. */
static void pass_on(
	const struct sigaction *former, int signo, siginfo_t *info, void *context)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};

	if (former->sa_flags & SA_SIGINFO) {
		former->sa_sigaction(signo, info, context);
		return;
	}
	if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
		former->sa_handler(signo);
		return;
	}
	/* Sent by somebody: may be ignored. A fault may not: it comes again, and kills.
	 */
	if (info->si_code <= 0 && former->sa_handler == SIG_IGN)
		return;
	(void)sigaction(signo, &usual, NULL);
	if (info->si_code <= 0)
		(void)raise(signo);
}

static struct part *part_at(uint64_t address)
{
	for (size_t i = 0; i < SL_WINDOWS_MAX; i++) {
		struct sl_window *w = &table[i];

		if (sl_atom32_load(&w->use) != LIVE)
			continue;
		for (int k = 0; k < PARTS; k++)
			if (address >= sl_atom64_load(&w->part[k].begin) &&
				address < sl_atom64_load(&w->part[k].end))
				return &w->part[k];
	}
	return NULL;
}

/* Private zeroed memory under the whole part. Not by the C library: checkers of threads
 * take its mmap for a write to all of it. */
static bool mend(struct part *part)
{
	uint64_t begin = sl_atom64_load(&part->begin), end = sl_atom64_load(&part->end);

	return syscall(SYS_mmap, begin, end - begin, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		       0) == (long)begin;
}

static void on_sigbus(int signo, siginfo_t *info, void *context)
{
	int err = errno;
	struct part *part = NULL;

	if (info->si_code == BUS_ADRERR)
		part = part_at((uint64_t)(uintptr_t)info->si_addr);
	if (part && sl_atom32_swap(&part->state, INTACT, MENDING)) {
		bool mended = mend(part);

		sl_atom32_store(&part->state, mended ? LOST : INTACT);
		part = mended ? part : NULL;
	}
	if (!part)
		pass_on(&former_bus, signo, info, context);
	errno = err;
}

static bool any_lost(void)
{
	for (size_t i = 0; i < SL_WINDOWS_MAX; i++)
		for (int k = 0; k < PARTS; k++)
			if (sl_atom32_load(&table[i].use) == LIVE &&
				sl_atom32_load(&table[i].part[k].state) == LOST)
				return true;
	return false;
}

/* A kernel that kept addresses in memory that was taken away runs over rubbish too. */
static void on_sigsegv(int signo, siginfo_t *info, void *context)
{
	if (any_lost())
		sl_end_now(sl_status_exit_code(SL_E_LOST),
			"sluice: the device's memory was taken from this job in the "
			"middle of its turn\n");
	pass_on(&former_segv, signo, info, context);
}

static int install_one(
	int signo, void (*fn)(int, siginfo_t *, void *), struct sigaction *former)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	struct sigaction now;
	int bad;

	action.sa_sigaction = fn;
	(void)sigemptyset(&action.sa_mask);
	bad = sigaction(signo, NULL, &now);
	if (!bad && !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fn)) {
		*former = now; /* before ours can run */
		bad = sigaction(signo, &action, NULL);
	}
	return bad;
}

/* Anew where somebody has put another in its place since. */
static sl_status install(void)
{
	int bad;

	pthread_mutex_lock(&installing);
	bad = install_one(SIGBUS, on_sigbus, &former_bus) ||
	      install_one(SIGSEGV, on_sigsegv, &former_segv);
	pthread_mutex_unlock(&installing);
	return bad ? SL_FAIL(SL_E_IO, "cannot handle SIGBUS: %s", strerror(errno))
		   : SL_OK;
}

static void *sys_map(void *at, uint64_t bytes, int prot, int flags, int fd)
{
	return sl_fs_injected() ? MAP_FAILED : mmap(at, bytes, prot, flags, fd, 0);
}

static int sys_advise(void *at, uint64_t bytes, int advice)
{
	return sl_fs_injected() ? -1 : madvise(at, bytes, advice);
}

static sl_status no_memory(uint64_t bytes)
{
	return SL_FAIL(SL_E_NOMEM, "cannot map %llu bytes: %s; see `ulimit -v`",
		(unsigned long long)bytes, strerror(errno));
}

static struct sl_window *take_row(void)
{
	for (size_t i = 0; i < SL_WINDOWS_MAX; i++)
		if (sl_atom32_swap(&table[i].use, FREE, TAKEN))
			return &table[i];
	return NULL;
}

sl_status sl_window_create(uint64_t most_bytes, struct sl_window **out)
{
	struct sl_window *w;
	void *base;

	if (most_bytes == 0 || most_bytes % SL_SHARED_PAGE != 0)
		return SL_FAIL(SL_E_INVALID,
			"a window of %llu bytes; a multiple of %u above 0 is wanted",
			(unsigned long long)most_bytes, SL_SHARED_PAGE);
	SL_TRY(install());
	w = take_row();
	if (!w)
		return SL_FAIL(SL_E_LIMIT,
			"a process has at most %d windows on shared memory; close a "
			"session",
			SL_WINDOWS_MAX);
	base = sys_map(NULL, most_bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (base == MAP_FAILED) {
		sl_atom32_store(&w->use, FREE);
		return no_memory(most_bytes);
	}
	(void)madvise(base, most_bytes, MADV_DONTFORK);
	w->base = base;
	w->most_bytes = most_bytes;
	for (int k = 0; k < PARTS; k++)
		sl_atom32_store(&w->part[k].state, INTACT);
	sl_atom32_store(&w->use, LIVE);
	*out = w;
	return SL_OK;
}

/* Until it is empty, the handler may not find the part: its end goes down first. */
static void set_part(struct part *part, uint64_t begin, uint64_t bytes)
{
	sl_atom64_store(&part->end, 0);
	sl_atom64_store(&part->begin, begin);
	sl_atom64_store(&part->end, begin + bytes);
}

static uint64_t size_of(const struct part *part)
{
	return sl_atom64_load(&part->end) - sl_atom64_load(&part->begin);
}

/* Nothing is mapped from `offset` on. */
static void clear(struct sl_window *w, uint64_t offset)
{
	uint64_t bytes = w->most_bytes - offset;
	void *p;

	if (bytes == 0)
		return;
	p = mmap(w->base + offset, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	/* Without memory for that, at least nobody reads what is there. */
	if (p == MAP_FAILED)
		(void)mprotect(w->base + offset, bytes, PROT_NONE);
	(void)madvise(w->base + offset, bytes, MADV_DONTFORK);
}

void sl_window_unmap(struct sl_window *w)
{
	for (int k = 0; k < PARTS; k++)
		set_part(&w->part[k], 0, 0);
	clear(w, 0);
}

void sl_window_destroy(struct sl_window *w)
{
	if (!w)
		return;
	for (int k = 0; k < PARTS; k++)
		set_part(&w->part[k], 0, 0);
	(void)munmap(w->base, w->most_bytes);
	sl_atom32_store(&w->use, FREE);
}

static sl_status map_part(
	struct sl_window *w, int k, int fd, uint64_t offset, uint64_t bytes)
{
	uint8_t *at = w->base + offset;
	struct sl_memfd_info info;

	sl_atom32_store(&w->part[k].state, INTACT);
	if (bytes == 0)
		return SL_OK;
	SL_TRY(sl_shared_identity(fd, &info));
	if (info.bytes < bytes)
		return SL_FAIL(SL_E_LOST,
			"the shared memory has %llu bytes and not %llu: it was taken "
			"away",
			(unsigned long long)info.bytes, (unsigned long long)bytes);
	if (sys_map(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd) ==
			MAP_FAILED ||
		sys_advise(at, bytes, MADV_DONTFORK))
		return no_memory(bytes);
	set_part(&w->part[k], (uint64_t)(uintptr_t)at, bytes);
	return SL_OK;
}

static sl_status check_sizes(const struct sl_window *w, uint64_t p, uint64_t lane)
{
	if (p % SL_SHARED_PAGE != 0 || lane % SL_SHARED_PAGE != 0 || p > w->most_bytes ||
		lane > w->most_bytes - p)
		return SL_FAIL(SL_E_INVALID,
			"%llu and %llu bytes do not fit a window of %llu, in pages of %u",
			(unsigned long long)p, (unsigned long long)lane,
			(unsigned long long)w->most_bytes, SL_SHARED_PAGE);
	return SL_OK;
}

sl_status sl_window_map(
	struct sl_window *w, int fd_p, uint64_t p_bytes, int fd_lane, uint64_t lane_bytes)
{
	sl_status st;

	sl_window_unmap(w);
	SL_TRY_OUT(check_sizes(w, p_bytes, lane_bytes));
	SL_TRY_OUT(map_part(w, P, fd_p, 0, p_bytes));
	SL_TRY_OUT(map_part(w, LANE, fd_lane, p_bytes, lane_bytes));
	return SL_OK;
out:
	sl_window_unmap(w);
	return st;
}

sl_status sl_window_map_lane(struct sl_window *w, int fd_lane, uint64_t lane_bytes)
{
	uint64_t p_bytes = size_of(&w->part[P]);
	sl_status st;

	set_part(&w->part[LANE], 0, 0);
	clear(w, p_bytes);
	SL_TRY_OUT(check_sizes(w, p_bytes, lane_bytes));
	SL_TRY_OUT(map_part(w, LANE, fd_lane, p_bytes, lane_bytes));
	return SL_OK;
out:
	clear(w, p_bytes);
	return st;
}

/* Before Linux 5.14. A read makes the page too, and leaves its bytes to a job that may
 * be in its turn. */
static void touch(const volatile uint8_t *at, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += SL_SHARED_PAGE)
		(void)at[i];
}

static sl_status populate(struct sl_window *w, uint8_t *at, uint64_t bytes)
{
	int r;

	if (sl_window_lost(w))
		return SL_FAIL(SL_E_LOST, "the shared memory was taken away");

	if (bytes == 0)
		return SL_OK;
	do
		r = sys_advise(at, bytes, MADV_POPULATE_WRITE);
	while (r && (errno == EINTR || errno == EAGAIN));
	if (r == 0)
		return SL_OK;
	if (errno == EFAULT)
		return SL_FAIL(SL_E_LOST, "the shared memory was taken away");
	if (errno != EINVAL)
		return SL_FAIL(SL_E_NOMEM_DEVICE,
			"the system cannot give %llu bytes of device memory: %s; give "
			"the daemon a smaller budget or end other programs",
			(unsigned long long)bytes, strerror(errno));
	touch(at, bytes);
	return SL_OK;
}

sl_status sl_window_populate_p(struct sl_window *w)
{
	return populate(w, w->base, size_of(&w->part[P]));
}

sl_status sl_window_populate_lane(struct sl_window *w)
{
	return populate(w, w->base + size_of(&w->part[P]), size_of(&w->part[LANE]));
}

sl_status sl_window_populate(struct sl_window *w)
{
	SL_TRY(sl_window_populate_p(w));
	return sl_window_populate_lane(w);
}

bool sl_window_lost(const struct sl_window *w)
{
	return sl_atom32_load(&w->part[P].state) != INTACT ||
	       sl_atom32_load(&w->part[LANE].state) != INTACT;
}

uint8_t *sl_window_base(const struct sl_window *w)
{
	return w->base;
}

uint64_t sl_window_most(const struct sl_window *w)
{
	return w->most_bytes;
}

uint64_t sl_window_p_bytes(const struct sl_window *w)
{
	return size_of(&w->part[P]);
}

uint64_t sl_window_lane_bytes(const struct sl_window *w)
{
	return size_of(&w->part[LANE]);
}
