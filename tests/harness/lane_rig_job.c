/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of the lane rig: what it computes, and how it waits for its turns.
 *
 * Each iteration fills the lane from P and changes P by what it reads there, so that
 * neither a lost byte of P nor a foreign byte in the lane goes unseen. Each word of a
 * lane has the user's number in its top byte.
 */
#include "harness/lane_rig_int.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "device/shared.h"

#define FACTOR 6364136223846793005ull
#define TAG 56

static void compute(uint8_t *p, uint64_t p_bytes, uint8_t *e, uint64_t e_bytes,
	const struct rig_job *j, uint64_t round)
{
	uint64_t np = p_bytes / 8, ne = e_bytes / 8;
	uint64_t *ps = (uint64_t *)(void *)p, *es = (uint64_t *)(void *)e;
	uint64_t tag = (uint64_t)(j->user + 1) << TAG;

	for (uint64_t i = 0; i < ne; i++)
		es[i] = ((ps[i % np] + i + round + j->id) * FACTOR >> 8) | tag;
	for (uint64_t i = 0; i < np; i++)
		ps[i] = ps[i] * FACTOR + es[(i * 7 + round) % ne] + 1;
}

static uint64_t digest_of(const uint8_t *p, uint64_t p_bytes)
{
	const uint64_t *ps = (const uint64_t *)(const void *)p;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < p_bytes / 8; i++)
		sum = (sum ^ ps[i]) * FACTOR + i;
	return sum;
}

static bool has_foreign(const struct rig_job *j, const uint8_t *e, uint64_t e_bytes)
{
	const uint64_t *es = (const uint64_t *)(const void *)e;

	for (uint64_t i = 0; i < e_bytes / 8; i++)
		if (es[i] >> TAG != 0 && es[i] >> TAG != j->user + 1)
			return true;
	return false;
}

static bool resizes_before(const struct rig_job *j, uint64_t round)
{
	return j->resize_at > 0 && round == j->resize_at;
}

uint64_t rig_alone(const struct rig_job *j)
{
	uint64_t most_p = j->p_bytes > j->new_p_bytes ? j->p_bytes : j->new_p_bytes;
	uint64_t most_e = j->e_bytes > j->new_e_bytes ? j->e_bytes : j->new_e_bytes;
	uint64_t p_bytes = j->p_bytes, e_bytes = j->e_bytes, digest;
	uint8_t *p = sl_calloc(1, most_p), *e = sl_calloc(1, most_e);

	assert_true(p && e);
	for (uint64_t i = 0; i < j->rounds; i++) {
		if (resizes_before(j, i)) {
			p_bytes = j->new_p_bytes;
			e_bytes = j->new_e_bytes;
			memset(p + p_bytes, 0, most_p - p_bytes);
		}
		compute(p, p_bytes, e, e_bytes, j, i);
	}
	digest = digest_of(p, p_bytes);
	sl_free(p);
	sl_free(e);
	return digest;
}

static void say(struct rig_job *j, enum rig_what what)
{
	struct rig_note note = {.job = j->id, .what = what};

	if (write(j->rig->wire[1], &note, sizeof(note)) != sizeof(note))
		j->result = SL_E_IO;
}

static sl_status hear(struct rig_job *j, struct rig_mail *mail)
{
	if (read(j->mail[0], mail, sizeof(*mail)) != sizeof(*mail))
		return SL_FAIL(SL_E_READ, "no mail");
	return mail->st == SL_OK ? SL_OK : SL_FAIL(mail->st, "refused");
}

static sl_status map_mail(
	struct rig_job *j, const struct rig_mail *mail, uint64_t p, uint64_t e)
{
	sl_status st = sl_window_map(j->window, mail->fd_p, p, mail->fd_lane, e);

	j->maps++;
	sl_fs_close(mail->fd_p);
	sl_fs_close(mail->fd_lane);
	return st == SL_OK ? sl_window_populate_p(j->window) : st;
}

static sl_status join(struct rig_job *j)
{
	uint64_t most_p = j->p_bytes > j->new_p_bytes ? j->p_bytes : j->new_p_bytes;
	uint64_t most_e = j->e_bytes > j->new_e_bytes ? j->e_bytes : j->new_e_bytes;
	struct rig_mail mail;

	SL_TRY(hear(j, &mail));
	SL_TRY(sl_window_create(most_p + most_e, &j->window));
	return map_mail(j, &mail, j->p_bytes, j->e_bytes);
}

/* P goes over page by page, and each is given up behind. */
static sl_status change_size(struct rig_job *j)
{
	uint64_t keep = j->p_bytes < j->new_p_bytes ? j->p_bytes : j->new_p_bytes;
	uint8_t *base = sl_window_base(j->window), *to;
	struct rig_mail mail;

	say(j, RIG_HOLD);
	/* What is to go goes before it stops being charged. */
	if (keep < j->p_bytes && madvise(base + keep, j->p_bytes - keep, MADV_REMOVE))
		return SL_FAIL(SL_E_IO, "cannot give pages up");
	sl_turn_yield(j->mine);
	say(j, RIG_RESIZE);
	SL_TRY(hear(j, &mail));
	to = mmap(NULL, keep, PROT_READ | PROT_WRITE, MAP_SHARED, mail.fd_p, 0);
	if (to == MAP_FAILED)
		return SL_FAIL(SL_E_NOMEM, "no addresses");
	for (uint64_t i = 0; i < keep; i += SL_SHARED_PAGE) {
		memcpy(to + i, base + i, SL_SHARED_PAGE);
		if (madvise(base + i, SL_SHARED_PAGE, MADV_REMOVE))
			return SL_FAIL(SL_E_IO, "cannot give a page up");
	}
	(void)munmap(to, keep);
	return map_mail(j, &mail, j->new_p_bytes, j->new_e_bytes);
}

static sl_status wait_for_turn(struct rig_job *j)
{
	bool got = sl_turn_try(j->mine);

	while (!got)
		SL_TRY(sl_turn_wait(j->mine, -1, &got));
	return SL_OK;
}

static sl_status take_turn(struct rig_job *j, uint64_t round)
{
	uint64_t p_bytes = sl_window_p_bytes(j->window);
	uint64_t e_bytes = sl_window_lane_bytes(j->window);
	uint8_t *base = sl_window_base(j->window);
	sl_ns from;

	SL_TRY(wait_for_turn(j));
	from = sl_clock_now();
	sl_turn_begin(j->mine, from);
	j->foreign = j->foreign || has_foreign(j, base + p_bytes, e_bytes);
	if (j->in_turn)
		j->in_turn(j, round);
	compute(base, p_bytes, base + p_bytes, e_bytes, j, round);
	if (sl_window_lost(j->window))
		return SL_FAIL(SL_E_LOST, "its memory was taken away");
	sl_turn_count(j->mine, sl_clock_now() - from);
	if (resizes_before(j, round + 1))
		return change_size(j);
	/* The last turn is given back by the end. */
	if (sl_turn_asked(j->mine) && round + 1 < j->rounds) {
		sl_turn_yield(j->mine);
		say(j, RIG_REPORT);
	}
	return SL_OK;
}

static sl_status live(struct rig_job *j)
{
	SL_TRY(join(j));
	for (uint64_t i = 0; i < j->rounds; i++)
		SL_TRY(take_turn(j, i));
	j->digest = digest_of(sl_window_base(j->window), sl_window_p_bytes(j->window));
	return SL_OK;
}

void *rig_job_main(void *job)
{
	struct rig_job *j = job;
	sl_status st = live(j);

	j->result = st;
	sl_window_destroy(j->window);
	say(j, RIG_END);
	return NULL;
}
