/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns by a shared page.
 *
 * The futex word is a set of bits, so that neither side overwrites what the other says:
 * the hander-out sets TURN and GONE, the job clears TURN and sets NUDGE. A job sleeps
 * only on a word that has none of them, and each of them changes it: no wake is missed.
 * A woken job needs no message: what was written before the grant is there.
 */
#include "share/turn.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fs.h"
#include "base/futex.h"
#include "base/memfd.h"

#define TURN 1u
#define GONE 2u
#define NUDGE 4u

#define LINE 64 /* each side's words have cache lines of their own */

struct sl_turn_page {
	struct sl_atom32 word;
	char pad0[LINE - 4];
	/* Written by the hander-out. */
	struct sl_atom32 ask;
	char pad1[LINE - 4];
	/* Written by the job. */
	struct sl_atom64 turns, used_ns, began_ns;
	struct sl_atom32 yielded;
	char pad2[LINE - 28];
};

_Static_assert(sizeof(struct sl_turn_page) <= SL_TURN_PAGE_BYTES, "the page holds it");

static sl_status map_page(int fd, struct sl_turn_page **out)
{
	void *p = MAP_FAILED;

	if (!sl_fs_injected())
		p = mmap(NULL, SL_TURN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	if (p == MAP_FAILED)
		return SL_FAIL(
			SL_E_NOMEM, "cannot map a page of turns: %s", strerror(errno));
	*out = p;
	return SL_OK;
}

sl_status sl_turn_map(int fd, struct sl_turn_page **out)
{
	struct sl_memfd_info info;

	SL_TRY(sl_memfd_check(fd, SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_SEAL,
		SL_MEMFD_WRITE, &info));
	if (info.bytes != SL_TURN_PAGE_BYTES)
		return SL_FAIL(SL_E_INVALID, "a page of turns has %u bytes and not %llu",
			SL_TURN_PAGE_BYTES, (unsigned long long)info.bytes);
	return map_page(fd, out);
}

void sl_turn_unmap(struct sl_turn_page *page)
{
	if (page)
		(void)munmap(page, SL_TURN_PAGE_BYTES);
}

sl_status sl_turn_create(int *out_fd, struct sl_turn_page **out)
{
	sl_status st;
	int fd = -1;

	SL_TRY(sl_memfd_create("sluice-turn", SL_TURN_PAGE_BYTES, &fd));
	SL_TRY_OUT(sl_memfd_seal(fd, SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_SEAL));
	SL_TRY_OUT(map_page(fd, out));
	*out_fd = fd;
	return SL_OK;
out:
	sl_fs_close(fd);
	return st;
}

bool sl_turn_try(const struct sl_turn_page *page)
{
	return (sl_atom32_load(&page->word) & (TURN | GONE)) == TURN;
}

bool sl_turn_revoked(const struct sl_turn_page *page)
{
	return (sl_atom32_load(&page->word) & GONE) != 0;
}

sl_status sl_turn_wait(struct sl_turn_page *page, sl_ns timeout_ns, bool *out_got)
{
	uint32_t word = sl_atom32_load(&page->word);

	if (!(word & (TURN | GONE | NUDGE))) {
		SL_TRY(sl_futex_wait(&page->word, word, timeout_ns));
		word = sl_atom32_load(&page->word);
	}
	if (word & GONE)
		return SL_FAIL(SL_E_LOST, "the job was struck off the list of turns");
	if (word & NUDGE)
		(void)sl_atom32_and(&page->word, ~NUDGE);
	*out_got = (word & TURN) != 0;
	return SL_OK;
}

void sl_turn_nudge(struct sl_turn_page *page)
{
	(void)sl_atom32_or(&page->word, NUDGE);
	(void)sl_futex_wake(&page->word, 1);
}

void sl_turn_begin(struct sl_turn_page *page, sl_ns now_ns)
{
	sl_atom32_store(&page->yielded, 0);
	sl_atom64_store(&page->began_ns, (uint64_t)now_ns);
}

void sl_turn_count(struct sl_turn_page *page, sl_ns used_ns)
{
	sl_atom64_store(
		&page->used_ns, sl_atom64_load(&page->used_ns) + (uint64_t)used_ns);
	sl_atom64_store(&page->turns, sl_atom64_load(&page->turns) + 1);
}

bool sl_turn_asked(const struct sl_turn_page *page)
{
	return sl_atom32_load(&page->ask) != 0;
}

void sl_turn_yield(struct sl_turn_page *page)
{
	sl_atom64_store(&page->began_ns, 0);
	sl_atom32_store(&page->yielded, 1);
	(void)sl_atom32_and(&page->word, ~TURN);
}

static void grant(struct sl_turn_page *page, uint32_t ask)
{
	sl_atom32_store(&page->ask, ask);
	(void)sl_atom32_or(&page->word, TURN);
	(void)sl_futex_wake(&page->word, 1);
}

void sl_turn_grant(struct sl_turn_page *page)
{
	grant(page, 0);
}

void sl_turn_grant_one(struct sl_turn_page *page)
{
	grant(page, 1);
}

void sl_turn_ask(struct sl_turn_page *page)
{
	sl_atom32_store(&page->ask, 1);
}

void sl_turn_unask(struct sl_turn_page *page)
{
	sl_atom32_store(&page->ask, 0);
}

void sl_turn_revoke(struct sl_turn_page *page)
{
	(void)sl_atom32_or(&page->word, GONE);
	(void)sl_futex_wake(&page->word, INT32_MAX);
}

void sl_turn_look(const struct sl_turn_page *page, struct sl_turn_seen *out)
{
	/* First: who finds the turn given back also finds all that was counted in it. */
	out->has = sl_turn_try(page);
	out->turns = sl_atom64_load(&page->turns);
	out->used_ns = sl_atom64_load(&page->used_ns);
	out->began_ns = (sl_ns)sl_atom64_load(&page->began_ns);
	out->yielded = sl_atom32_load(&page->yielded) != 0;
}

uint64_t sl_turn_turns(const struct sl_turn_page *page)
{
	return sl_atom64_load(&page->turns);
}
