/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequential reading of plain and gzip files, and writing of scratch files. The only file
 * that includes zlib; zlib's memory comes from base/alloc.h, so that running out of it is
 * tested too.
 */
#include "data/stream.h"

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/fs.h"

#define CHUNK ((size_t)64 << 10)
#define GZIP_WINDOW (16 + MAX_WBITS) /* zlib: expect a gzip header */

struct sl_stream {
	char *path;
	int fd;
	uint64_t size;
	uint64_t pos; /* in the file */
	bool gz;
	bool inflating; /* z was initialised */
	bool ended; /* a gzip member ended and no other follows */
	z_stream z;
	unsigned char in[CHUNK];
};

static void *zlib_alloc(void *ctx, unsigned items, unsigned size)
{
	(void)ctx;
	return sl_calloc(items, size);
}

static void zlib_free(void *ctx, void *p)
{
	(void)ctx;
	sl_free(p);
}

sl_status sl_stream_open(const char *path, bool gz, struct sl_stream **out)
{
	sl_status st = SL_OK;
	struct sl_stream *s = sl_calloc(1, sizeof(*s));

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to read it", path);
	s->fd = -1;
	s->gz = gz;
	s->path = sl_strdup(path);
	if (!s->path) {
		st = SL_FAIL(SL_E_NOMEM, "%s: no host memory to read it", path);
		goto out;
	}
	SL_TRY_OUT(sl_fs_open(path, &s->fd, &s->size));
	if (gz) {
		s->z.zalloc = zlib_alloc;
		s->z.zfree = zlib_free;
		if (inflateInit2(&s->z, GZIP_WINDOW) != Z_OK) {
			st = SL_FAIL(SL_E_NOMEM, "%s: no host memory to gunzip it", path);
			goto out;
		}
		s->inflating = true;
	}
	*out = s;
	return SL_OK;
out:
	sl_stream_close(s);
	return st;
}

void sl_stream_close(struct sl_stream *s)
{
	if (!s)
		return;
	if (s->inflating)
		inflateEnd(&s->z);
	sl_fs_close(s->fd);
	sl_free(s->path);
	sl_free(s);
}

uint64_t sl_stream_file_bytes(const struct sl_stream *s)
{
	return s->size;
}

static sl_status refill(struct sl_stream *s)
{
	uint64_t left = s->size - s->pos;
	size_t len = left < CHUNK ? (size_t)left : CHUNK;

	if (!len)
		return SL_FAIL(SL_E_FORMAT,
			"%s: the gzip data ends early, at byte %llu; fetch the file "
			"again",
			s->path, (unsigned long long)s->size);
	SL_TRY(sl_fs_pread(s->fd, s->path, s->in, len, s->pos));
	s->pos += len;
	s->z.next_in = s->in;
	s->z.avail_in = (unsigned)len;
	return SL_OK;
}

/* A gzip file is one member or several after each other. */
static sl_status next_member(struct sl_stream *s)
{
	if (!s->z.avail_in && s->pos == s->size) {
		s->ended = true;
		return SL_OK;
	}
	inflateReset(&s->z);
	return SL_OK;
}

static sl_status inflate_some(struct sl_stream *s)
{
	if (!s->z.avail_in)
		SL_TRY(refill(s));
	int code = inflate(&s->z, Z_NO_FLUSH);
	if (code == Z_STREAM_END)
		return next_member(s);
	if (code == Z_MEM_ERROR)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to gunzip it", s->path);
	if (code != Z_OK && code != Z_BUF_ERROR)
		return SL_FAIL(SL_E_FORMAT,
			"%s: damaged gzip data before byte %llu (%s); fetch the file "
			"again",
			s->path, (unsigned long long)(s->pos - s->z.avail_in),
			s->z.msg ? s->z.msg : "no detail");
	return SL_OK;
}

sl_status sl_stream_read(struct sl_stream *s, void *data, size_t len, size_t *got)
{
	if (!s->gz) {
		uint64_t left = s->size - s->pos;
		size_t take = left < len ? (size_t)left : len;
		SL_TRY(sl_fs_pread(s->fd, s->path, data, take, s->pos));
		s->pos += take;
		*got = take;
		return SL_OK;
	}
	size_t done = 0;
	while (done < len && !s->ended) {
		size_t want = len - done < CHUNK ? len - done : CHUNK;
		s->z.next_out = (unsigned char *)data + done;
		s->z.avail_out = (unsigned)want;
		SL_TRY(inflate_some(s));
		done += want - s->z.avail_out;
	}
	*got = done;
	return SL_OK;
}

sl_status sl_spool_init(struct sl_spool *s, int fd)
{
	*s = (struct sl_spool){.fd = fd, .buf = sl_alloc(CHUNK)};
	if (!s->buf)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for a buffer of %zu bytes", CHUNK);
	return SL_OK;
}

sl_status sl_spool_flush(struct sl_spool *s)
{
	SL_TRY(sl_fs_pwrite(s->fd,
		"scratch file of the data set (--disk DIR or SLUICE_DISK)", s->buf,
		s->used, s->at));
	s->at += s->used;
	s->used = 0;
	return SL_OK;
}

sl_status sl_spool_put(struct sl_spool *s, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		size_t take = CHUNK - s->used < len ? CHUNK - s->used : len;
		memcpy(s->buf + s->used, p, take);
		s->used += take;
		p += take;
		len -= take;
		if (s->used == CHUNK)
			SL_TRY(sl_spool_flush(s));
	}
	return SL_OK;
}

void sl_spool_finish(struct sl_spool *s)
{
	sl_free(s->buf);
	s->buf = NULL;
}
