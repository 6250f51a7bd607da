/* SPDX-License-Identifier: Apache-2.0 */
/* The torture loops: the n-th allocation or system call fails, n = 1, 2, 3, ... */
#include "harness/harness.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

#define RUNS_MAX 200000
#define STALE "a stale message, from before the run"

struct torture {
	sl_torture_fn fn;
	void *ctx;
	bool files; /* system calls instead of allocations */
	int err;
};

static void arm(const struct torture *t, long n)
{
	if (t->files)
		sl_fs_fail_at(n, t->err);
	else
		sl_alloc_fail_at(n);
}

/* One run; true if the failure was delivered. */
static bool run(const struct torture *t, long n)
{
	const char *what = t->files ? "system call" : "allocation";
	long before = sl_alloc_live();

	(void)SL_FAIL(SL_E_NO, STALE);
	arm(t, n);
	sl_status st = t->fn(t->ctx);
	bool delivered = t->files ? sl_fs_failed() : sl_alloc_failed();
	arm(t, 0);
	if (sl_alloc_live() != before)
		fail_msg("with %s %ld failing, %ld allocations leak (%s)", what, n,
			sl_alloc_live() - before, sl_status_name(st));
	if ((unsigned)st >= SL_STATUS_COUNT)
		fail_msg("with %s %ld failing, the status is %d", what, n, (int)st);
	if (st != SL_OK && strcmp(sl_last_error(), STALE) == 0)
		fail_msg("with %s %ld failing, %s comes without a message", what, n,
			sl_status_name(st));
	if (!delivered && st != SL_OK)
		fail_msg("without any failure: %s: %s", sl_status_name(st),
			sl_last_error());
	return delivered;
}

static long torture(const struct torture *t)
{
	for (long n = 1; n <= RUNS_MAX; n++)
		if (!run(t, n))
			return n - 1;
	fail_msg("no end after %d runs", RUNS_MAX);
	return RUNS_MAX;
}

long sl_torture(sl_torture_fn fn, void *ctx)
{
	return torture(&(struct torture){.fn = fn, .ctx = ctx});
}

long sl_torture_fs(sl_torture_fn fn, void *ctx, int err)
{
	return torture(
		&(struct torture){.fn = fn, .ctx = ctx, .files = true, .err = err});
}
