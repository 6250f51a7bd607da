/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk tier: one unlinked file, read and written past the page cache, because cached
 * pages would be memory outside the budget.
 *
 * 1. sums[b] is the CRC-32C of block b as last put, 0 if it was never put (a checksum of
 * 0 is kept as 1). One entry a 4096-byte block makes any aligned range readable and
 * writable by itself.
 * 2. Bytes at and beyond `end` were never put, and the file may stop there.
 * 3. lock[PUT] and lock[GET] let one put and one get run at a time; they touch disjoint
 * blocks.
 * 4. Never a page of the file stays cached: O_DIRECT, or dropped after each piece.
 */
#include "memory/tier/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "memory/tier/uring.h"

#define BLOCK ((size_t)SL_TIER_MAX_ALIGN)

enum { PUT, GET };

struct disk_tier {
	struct sl_tier base;
	int fd;
	char *folder;
	bool direct;
	struct sl_uring *ring[2]; /* NULL: pread and pwrite */
	pthread_mutex_t lock[2];
	pthread_mutex_t end_lock;
	uint64_t end;
	uint32_t *sums;
};

/* What a get found wrong; a put never fails here. */
struct sum_check {
	struct disk_tier *d;
	uint64_t bad_offset;
	bool bad;
};

#define SUMS 16 /* blocks at a time */

/* Checksums of n blocks, at most SUMS; 0 is kept for blocks never put. */
static void block_sums(const uint8_t *data, size_t n, uint32_t *sums)
{
	sl_crc32c_blocks(data, BLOCK, n, sums);
	for (size_t i = 0; i < n; i++)
		sums[i] = sums[i] == 0 ? 1 : sums[i];
}

static size_t some_blocks(size_t n)
{
	return n < SUMS ? n : SUMS;
}

static void seal_piece(void *ctx, const uint8_t *data, size_t len, uint64_t offset)
{
	struct sum_check *c = ctx;
	size_t n = len / BLOCK;

	for (size_t i = 0; i < n; i += SUMS)
		block_sums(data + i * BLOCK, some_blocks(n - i),
			&c->d->sums[offset / BLOCK + i]);
}

static void check_piece(void *ctx, const uint8_t *data, size_t len, uint64_t offset)
{
	struct sum_check *c = ctx;
	size_t n = len / BLOCK;
	uint32_t is[SUMS] = {0};

	for (size_t i = 0; i < n; i++) {
		uint32_t want = c->d->sums[offset / BLOCK + i];

		if (i % SUMS == 0)
			block_sums(data + i * BLOCK, some_blocks(n - i), is);
		if (want == 0 || want == is[i % SUMS] || c->bad)
			continue;
		c->bad = true;
		c->bad_offset = offset + i * BLOCK;
	}
}

static sl_status fail_errno(
	const struct disk_tier *d, const struct sl_uring_io *io, int err)
{
	bool full = err == ENOSPC || err == EDQUOT || err == EFBIG;

	return SL_FAIL(full ? SL_E_NOSPACE : SL_E_IO,
		"disk tier in %s: %s %zu bytes at %llu: %s; %s", d->folder,
		io->write ? "writing" : "reading", io->len,
		(unsigned long long)io->offset, strerror(err),
		full ? "free space there or name another folder with --disk DIR or "
		       "SLUICE_DISK"
		     : "name another disk with --disk DIR or SLUICE_DISK");
}

/* Makes the pages of a range leave the cache; dirty ones must be on disk before they can.
 */
static void drop_pages(const struct disk_tier *d, uint64_t offset, size_t len)
{
	(void)sync_file_range(d->fd, (off_t)offset, (off_t)len,
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			SYNC_FILE_RANGE_WAIT_AFTER);
	(void)posix_fadvise(d->fd, (off_t)offset, (off_t)len, POSIX_FADV_DONTNEED);
}

static sl_status run_plain_piece(
	struct disk_tier *d, const struct sl_uring_io *io, size_t at, size_t len)
{
	sl_status st;

	if (io->write)
		io->piece(io->ctx, io->data + at, len, io->offset + at);
	st = io->write
		     ? sl_fs_pwrite(d->fd, d->folder, io->data + at, len, io->offset + at)
		     : sl_fs_pread(d->fd, d->folder, io->data + at, len, io->offset + at);
	/* A failed read of our own file is a broken disk, not a missing input. */
	if (st != SL_OK)
		return sl_fail_prefix(st == SL_E_READ ? SL_E_IO : st,
			"disk tier of %llu bytes, %s %zu bytes (--disk DIR or "
			"SLUICE_DISK "
			"names another folder)",
			(unsigned long long)d->base.bytes,
			io->write ? "writing" : "reading", io->len);
	if (!io->write)
		io->piece(io->ctx, io->data + at, len, io->offset + at);
	if (!d->direct)
		drop_pages(d, io->offset + at, len);
	return SL_OK;
}

static sl_status run_io(struct disk_tier *d, const struct sl_uring_io *io)
{
	struct sl_uring *ring = d->ring[io->write ? PUT : GET];

	if (ring) {
		int err = sl_uring_run(ring, io);

		return err ? fail_errno(d, io, err) : SL_OK;
	}
	for (size_t at = 0; at < io->len; at += SL_TIER_CHUNK_BYTES) {
		size_t len = io->len - at;

		if (len > SL_TIER_CHUNK_BYTES)
			len = SL_TIER_CHUNK_BYTES;
		SL_TRY(run_plain_piece(d, io, at, len));
	}
	return SL_OK;
}

static sl_status disk_put(
	struct sl_tier *t, uint64_t offset, const void *data, size_t len)
{
	struct disk_tier *d = (struct disk_tier *)t;
	struct sum_check c = {.d = d};
	struct sl_uring_io io = {
		.fd = d->fd,
		.write = true,
		/* Written from, never to: one struct serves both directions. */
		.data = (uint8_t *)(uintptr_t)data,
		.len = len,
		.offset = offset,
		.piece = seal_piece,
		.ctx = &c,
	};
	sl_status st;

	pthread_mutex_lock(&d->lock[PUT]);
	st = run_io(d, &io);
	pthread_mutex_unlock(&d->lock[PUT]);
	if (st != SL_OK)
		return st;
	pthread_mutex_lock(&d->end_lock);
	if (offset + len > d->end)
		d->end = offset + len;
	pthread_mutex_unlock(&d->end_lock);
	return SL_OK;
}

static sl_status disk_get(struct sl_tier *t, uint64_t offset, void *data, size_t len)
{
	struct disk_tier *d = (struct disk_tier *)t;
	struct sum_check c = {.d = d};
	struct sl_uring_io io = {
		.fd = d->fd,
		.data = data,
		.offset = offset,
		.piece = check_piece,
		.ctx = &c,
	};
	sl_status st;

	pthread_mutex_lock(&d->end_lock);
	if (offset < d->end)
		io.len = len < d->end - offset ? len : (size_t)(d->end - offset);
	pthread_mutex_unlock(&d->end_lock);
	memset((uint8_t *)data + io.len, 0, len - io.len);
	pthread_mutex_lock(&d->lock[GET]);
	st = run_io(d, &io);
	pthread_mutex_unlock(&d->lock[GET]);
	if (st == SL_OK && c.bad)
		return SL_FAIL(SL_E_IO,
			"disk tier in %s: the block at %llu came back changed "
			"(checksum); "
			"name another disk with --disk DIR or SLUICE_DISK",
			d->folder, (unsigned long long)c.bad_offset);
	return st;
}

static void disk_destroy(struct sl_tier *t)
{
	struct disk_tier *d = (struct disk_tier *)t;

	for (int i = 0; i < 2; i++) {
		sl_uring_destroy(d->ring[i]);
		pthread_mutex_destroy(&d->lock[i]);
	}
	pthread_mutex_destroy(&d->end_lock);
	sl_fs_close(d->fd);
	sl_free(d->sums);
	sl_free(d->folder);
	sl_free(d);
}

static const struct sl_tier_impl disk_impl = {
	.name = "disk",
	.align = SL_TIER_MAX_ALIGN,
	.put = disk_put,
	.get = disk_get,
	.destroy = disk_destroy,
};

/*
 * Whether the file takes O_DIRECT with our alignment. Some file systems take the flag and
 * refuse the write, so one block is tried; other errors of that write belong to the first
 * put.
 */
static bool enable_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	void *block = sl_alloc_aligned(BLOCK, BLOCK);
	bool ok = false;

	if (block && flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0) {
		memset(block, 0, BLOCK);
		ok = pwrite(fd, block, BLOCK, 0) >= 0 || errno != EINVAL;
		if (!ok)
			(void)fcntl(fd, F_SETFL, flags);
	}
	sl_free_aligned(block);
	return ok;
}

static sl_status refuse_ram(const char *folder)
{
	bool ram = false;

	if (!sl_fs_is_folder(folder))
		return SL_FAIL(SL_E_NOT_FOUND,
			"the disk tier's folder '%s' is not there or is no folder; make "
			"it or name another one with --disk DIR or SLUICE_DISK",
			folder);
	SL_TRY(sl_fs_is_ram(folder, &ram));
	if (ram)
		return SL_FAIL(SL_E_USAGE,
			"the disk tier cannot lie in %s: that is a RAM file system, so "
			"its bytes "
			"would be memory outside the budget; name a folder on a disk "
			"with --disk "
			"DIR or SLUICE_DISK",
			folder);
	return SL_OK;
}

/* Fills d; on failure d is good for disk_destroy. */
static sl_status open_file(struct disk_tier *d, const char *folder, unsigned flags)
{
	sl_status st;

	SL_TRY(refuse_ram(folder));
	d->folder = sl_strdup(folder);
	/* + 1: a table for a tier of no blocks is still a table. */
	d->sums = sl_calloc((size_t)(d->base.bytes / BLOCK) + 1, sizeof(*d->sums));
	if (!d->folder || !d->sums)
		return SL_FAIL(SL_E_NOMEM,
			"disk tier: no memory for the checksums of %llu bytes",
			(unsigned long long)d->base.bytes);
	st = sl_fs_scratch(folder, &d->fd);
	if (st != SL_OK)
		return sl_fail_prefix(st,
			"the disk tier's file (--disk DIR or SLUICE_DISK names another "
			"folder)");
	d->direct = !(flags & SL_TIER_DISK_BUFFERED) && enable_direct(d->fd);
	if (!d->direct) {
		d->base.warning =
			"the disk folder refuses O_DIRECT: the disk tier writes buffered "
			"and drops the pages at once, which is slower";
		(void)posix_fadvise(d->fd, 0, 0, POSIX_FADV_RANDOM);
	}
	if (d->direct && !(flags & SL_TIER_DISK_NO_URING)) {
		d->ring[PUT] = sl_uring_create();
		d->ring[GET] = sl_uring_create();
	}
	return SL_OK;
}

sl_status sl_tier_disk_create_forced(
	const char *folder, uint64_t bytes, unsigned flags, struct sl_tier **out)
{
	struct disk_tier *d = sl_calloc(1, sizeof(*d));
	sl_status st;

	if (!d)
		return SL_FAIL(SL_E_NOMEM, "disk tier: no memory for its table");
	d->base = (struct sl_tier){
		.impl = &disk_impl, .bytes = bytes & ~((uint64_t)BLOCK - 1)};
	d->fd = -1;
	/* Default mutexes cannot fail to initialise on Linux. */
	(void)pthread_mutex_init(&d->lock[PUT], NULL);
	(void)pthread_mutex_init(&d->lock[GET], NULL);
	(void)pthread_mutex_init(&d->end_lock, NULL);
	st = open_file(d, folder, flags);
	if (st != SL_OK) {
		disk_destroy(&d->base);
		return st;
	}
	*out = &d->base;
	return SL_OK;
}

sl_status sl_tier_disk_create(const char *folder, uint64_t bytes, struct sl_tier **out)
{
	return sl_tier_disk_create_forced(folder, bytes, 0, out);
}
