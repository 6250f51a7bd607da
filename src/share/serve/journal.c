/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's text: lines, printed and read by one table of fields. */
#include "share/serve/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/text.h"
#include "base/units.h"
#include "share/job.h"

#define VERSION "1"
#define MAX_ENTRIES ((size_t)1 << 16)
#define SUM_BYTES 14 /* " sum=" and 8 digits, and the line's end */

enum type { U32, I32, U64, I64 };

struct field {
	const char *key;
	enum type type;
	size_t offset;
};

#define ROW(key, type, member) \
	{ \
		key, type, offsetof(struct sl_journal_job, member) \
	}
static const struct field job_fields[] = {
	ROW("id", U32, id),
	ROW("user", U32, user),
	ROW("pid", I64, pid),
	ROW("start", U64, pid_start),
	ROW("high", U64, token_high),
	ROW("low", U64, token_low),
	ROW("row", U32, row),
	ROW("lane", U32, lane),
	ROW("told", U32, told),
	ROW("paused", U32, paused),
	ROW("parked", U32, parked),
	ROW("p", U64, persistent_bytes),
	ROW("e", U64, ephemeral_bytes),
	ROW("turns", U64, turns),
	ROW("used", U64, used_ns),
	ROW("page_dev", U64, page_device),
	ROW("page_ino", U64, page_inode),
	ROW("part_dev", U64, part_device),
	ROW("part_ino", U64, part_inode),
	ROW("kind", U32, asked.kind),
	ROW("priority", I32, asked.priority),
	ROW("deadline", I64, asked.deadline_ns),
	ROW("length", I64, asked.length_ns),
	ROW("turn", I64, asked.turn_ns),
	ROW("slowdown", U32, asked.allow_slowdown_ppm),
	ROW("channels", U32, asked.channels),
};
#undef ROW
#define ROW(key, type, member) \
	{ \
		key, type, offsetof(struct sl_journal_mem, member) \
	}
static const struct field mem_fields[] = {
	ROW("lane", U32, lane),
	ROW("user", U32, user),
	ROW("dev", U64, device),
	ROW("ino", U64, inode),
	ROW("bytes", U64, bytes),
};
#undef ROW
#define FIELDS(table) (sizeof(table) / sizeof((table)[0]))

static sl_status put_fields(
	struct sl_buf *out, const struct field *fields, size_t n, const void *from)
{
	for (size_t i = 0; i < n; i++) {
		const char *at = (const char *)from + fields[i].offset;
		uint64_t u64 = 0;
		uint32_t u32 = 0;
		int32_t i32;

		if (fields[i].type == U64 || fields[i].type == I64)
			memcpy(&u64, at, sizeof(u64));
		else
			memcpy(&u32, at, sizeof(u32));
		memcpy(&i32, &u32, sizeof(i32));
		if (fields[i].type == U64)
			SL_TRY(sl_buf_printf(
				out, " %s=%llu", fields[i].key, (unsigned long long)u64));
		else
			SL_TRY(sl_buf_printf(out, " %s=%lld", fields[i].key,
				fields[i].type == I64	? (long long)u64
				: fields[i].type == I32 ? (long long)i32
							: (long long)u32));
	}
	return SL_OK;
}

/* The checksum of what the line has from `from` on, and the line's end. */
static sl_status seal(struct sl_buf *out, size_t from)
{
	uint32_t sum = sl_crc32c(0, out->data + from, out->len - from);

	return sl_buf_printf(out, " sum=%08x\n", sum);
}

sl_status sl_journal_put_head(struct sl_buf *out, uint32_t next_job)
{
	size_t from = out->len;

	SL_TRY(sl_buf_printf(out, "journal %s next=%u", VERSION, next_job));
	return seal(out, from);
}

sl_status sl_journal_put_end(struct sl_buf *out, uint32_t id)
{
	size_t from = out->len;

	SL_TRY(sl_buf_printf(out, "end id=%u", id));
	return seal(out, from);
}

sl_status sl_journal_put_limit(struct sl_buf *out, uint32_t user, uint64_t bytes)
{
	size_t from = out->len;

	SL_TRY(sl_buf_printf(
		out, "limit user=%u bytes=%llu", user, (unsigned long long)bytes));
	return seal(out, from);
}

sl_status sl_journal_put_policy(struct sl_buf *out, const char *name)
{
	size_t from = out->len;

	SL_TRY(sl_buf_printf(out, "policy name=%s", name));
	return seal(out, from);
}

sl_status sl_journal_put_mem(struct sl_buf *out, const struct sl_journal_mem *m)
{
	size_t from = out->len;

	SL_TRY(sl_buf_puts(out, "mem"));
	SL_TRY(put_fields(out, mem_fields, FIELDS(mem_fields), m));
	return seal(out, from);
}

/* Bytes that could end a word, as %xx. */
static sl_status put_name(struct sl_buf *out, const char *name)
{
	SL_TRY(sl_buf_puts(out, " name="));
	for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
		SL_TRY(sl_buf_printf(
			out, *c <= ' ' || *c == '%' || *c >= 127 ? "%%%02x" : "%c", *c));
	return SL_OK;
}

sl_status sl_journal_put_job(struct sl_buf *out, const struct sl_journal_job *j)
{
	const struct sl_wire_menu *menu = &j->asked.menu;
	size_t from = out->len;

	SL_TRY(sl_buf_puts(out, "job"));
	SL_TRY(put_fields(out, job_fields, FIELDS(job_fields), j));
	for (uint32_t i = 0; i < menu->n; i++)
		SL_TRY(sl_buf_printf(out, " option=%llu/%llu/%llu",
			(unsigned long long)menu->rows[i].persistent_bytes,
			(unsigned long long)menu->rows[i].ephemeral_bytes,
			(unsigned long long)menu->rows[i].turn_ns));
	SL_TRY(put_name(out, j->asked.name));
	return seal(out, from);
}

static sl_status read_field(
	const struct sl_text *t, const struct sl_word *w, const struct field *f, void *to)
{
	uint64_t u64;
	int64_t i64;
	uint32_t low;

	if (f->type == U64) {
		SL_TRY(sl_word_u64(t, w, &u64));
		memcpy((char *)to + f->offset, &u64, sizeof(u64));
		return SL_OK;
	}
	SL_TRY(sl_word_i64(t, w, &i64));
	if (f->type == I64) {
		memcpy((char *)to + f->offset, &i64, sizeof(i64));
		return SL_OK;
	}
	if (i64 < (f->type == I32 ? INT32_MIN : 0) ||
		i64 > (f->type == I32 ? INT32_MAX : (int64_t)UINT32_MAX))
		return sl_text_fail(t, "%s is out of range", f->key);
	low = (uint32_t)i64;
	memcpy((char *)to + f->offset, &low, sizeof(low));
	return SL_OK;
}

static sl_status read_option(
	const struct sl_text *t, const struct sl_word *w, struct sl_wire_menu *menu)
{
	uint64_t v[3];
	const char *at = w->value, *end = w->value + w->value_len;

	for (int i = 0; i < 3; i++) {
		const char *stop = memchr(at, '/', (size_t)(end - at));
		char number[24];
		size_t len = (size_t)((stop ? stop : end) - at);

		if (len == 0 || len >= sizeof(number) || (i < 2) != (stop != NULL))
			return sl_text_fail(t, "an option is three numbers");
		memcpy(number, at, len);
		number[len] = '\0';
		if (sl_u64_parse(number, &v[i]) != SL_OK || v[i] > (uint64_t)1 << 61)
			return sl_text_fail(t, "an option is three numbers");
		at += len + (i < 2);
	}
	if (menu->n == SL_WIRE_MENU)
		return sl_text_fail(t, "a menu has at most %d options", SL_WIRE_MENU);
	menu->rows[menu->n++] = (struct sl_wire_option){v[0], v[1], v[2]};
	return SL_OK;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static sl_status read_name(
	const struct sl_text *t, const struct sl_word *w, char *to, size_t most)
{
	char text[256];
	size_t n = 0;

	for (size_t i = 0; i < w->value_len; i++) {
		char c = w->value[i];

		if (c == '%') {
			bool whole = w->value_len - i > 2;
			int high = whole ? digit(w->value[i + 1]) : -1;
			int low = whole ? digit(w->value[i + 2]) : -1;

			if (low < 0 || high < 0)
				return sl_text_fail(t, "a name has a bad escape");
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (n + 1 >= sizeof(text))
			return sl_text_fail(t, "a name is too long");
		text[n++] = c;
	}
	text[n] = '\0';
	sl_wire_text(to, most, text);
	return SL_OK;
}

/* Reads fields by a table; each must be there once. A job has options and a name too. */
static sl_status read_fields(struct sl_text *t, const struct field *fields, size_t n,
	struct sl_journal_job *job, void *to)
{
	struct sl_word w;
	uint64_t seen = 0;

	while (sl_text_word(t, &w)) {
		size_t i = 0;

		while (i < n && !sl_word_key_is(&w, fields[i].key))
			i++;
		if (i < n && !(seen >> i & 1)) {
			SL_TRY(read_field(t, &w, &fields[i], to));
			seen |= (uint64_t)1 << i;
		} else if (job && sl_word_key_is(&w, "option")) {
			SL_TRY(read_option(t, &w, &job->asked.menu));
		} else if (job && sl_word_key_is(&w, "name")) {
			SL_TRY(read_name(
				t, &w, job->asked.name, sizeof(job->asked.name)));
		} else if (!sl_word_key_is(&w, "sum")) {
			return sl_text_fail(t, "an unknown word, or one twice");
		}
	}
	if (seen != ((uint64_t)1 << n) - 1)
		return sl_text_fail(t, "the line lacks a field");
	return SL_OK;
}

static size_t place_of(const struct sl_journal_book *b, uint32_t id)
{
	size_t i = 0;

	while (i < b->n_jobs && b->jobs[i].id < id)
		i++;
	return i;
}

static sl_status read_job(struct sl_text *t, struct sl_journal_book *b)
{
	struct sl_journal_job j = {0};
	size_t i;

	SL_TRY(read_fields(t, job_fields, FIELDS(job_fields), &j, &j));
	if (j.asked.menu.n == 0 || j.row >= j.asked.menu.n || j.id == UINT32_MAX ||
		j.asked.kind >= SL_WIRE_KINDS ||
		(j.lane != SL_LANE_NONE && j.lane > 65535))
		return sl_text_fail(t, "no job is like that");
	i = place_of(b, j.id);
	if (i == b->n_jobs || b->jobs[i].id != j.id) {
		if (sl_grow((void **)&b->jobs, &b->cap_jobs, b->n_jobs + 1,
			    sizeof(*b->jobs), MAX_ENTRIES))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for a journal");
		memmove(&b->jobs[i + 1], &b->jobs[i], (b->n_jobs - i) * sizeof(*b->jobs));
		b->n_jobs++;
	}
	b->jobs[i] = j;
	if (j.id >= b->next_job)
		b->next_job = j.id + 1;
	return SL_OK;
}

static sl_status read_end(struct sl_text *t, struct sl_journal_book *b)
{
	static const struct field fields[] = {{"id", U32, 0}};
	uint32_t id;
	size_t i;

	SL_TRY(read_fields(t, fields, 1, NULL, &id));
	i = place_of(b, id);
	if (i == b->n_jobs || b->jobs[i].id != id)
		return SL_OK;
	b->n_jobs--;
	memmove(&b->jobs[i], &b->jobs[i + 1], (b->n_jobs - i) * sizeof(*b->jobs));
	return SL_OK;
}

static sl_status read_mem(struct sl_text *t, struct sl_journal_book *b)
{
	struct sl_journal_mem m = {0};
	size_t i = 0;

	SL_TRY(read_fields(t, mem_fields, FIELDS(mem_fields), NULL, &m));
	while (i < b->n_mems && !(b->mems[i].lane == m.lane && b->mems[i].user == m.user))
		i++;
	if (i == b->n_mems) {
		if (sl_grow((void **)&b->mems, &b->cap_mems, i + 1, sizeof(*b->mems),
			    MAX_ENTRIES))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for a journal");
		b->n_mems++;
	}
	b->mems[i] = m;
	if (m.bytes == 0)
		b->mems[i] = b->mems[--b->n_mems];
	return SL_OK;
}

static sl_status read_limit(struct sl_text *t, struct sl_journal_book *b)
{
	static const struct field fields[] = {
		{"user", U32, offsetof(struct sl_journal_limit, user)},
		{"bytes", U64, offsetof(struct sl_journal_limit, bytes)}};
	struct sl_journal_limit l = {0};
	size_t i = 0;

	SL_TRY(read_fields(t, fields, 2, NULL, &l));
	if (l.bytes > (uint64_t)1 << 61)
		return sl_text_fail(t, "a limit is at most 2^61");
	while (i < b->n_limits && b->limits[i].user != l.user)
		i++;
	if (i == b->n_limits) {
		if (sl_grow((void **)&b->limits, &b->cap_limits, i + 1,
			    sizeof(*b->limits), MAX_ENTRIES))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for a journal");
		b->n_limits++;
	}
	b->limits[i] = l;
	return SL_OK;
}

static sl_status read_policy(struct sl_text *t, struct sl_journal_book *b)
{
	struct sl_word w;

	if (!sl_text_word(t, &w) || !sl_word_key_is(&w, "name"))
		return sl_text_fail(t, "a policy has a name");
	return sl_word_copy(t, &w, b->policy, sizeof(b->policy));
}

static sl_status read_head(struct sl_text *t, struct sl_journal_book *b)
{
	static const struct field fields[] = {{"next", U32, 0}};
	struct sl_word w;

	if (!sl_text_word(t, &w) || !sl_word_is(&w, VERSION))
		return sl_text_fail(t, "a journal begins with 'journal " VERSION "'");
	return read_fields(t, fields, 1, NULL, &b->next_job);
}

static sl_status read_line(struct sl_text *t, bool first, struct sl_journal_book *b)
{
	static const struct {
		const char *name;
		sl_status (*read)(struct sl_text *t, struct sl_journal_book *b);
	} kinds[] = {{"journal", read_head}, {"job", read_job}, {"end", read_end},
		{"mem", read_mem}, {"limit", read_limit}, {"policy", read_policy}};
	struct sl_word w;
	size_t i = 0;

	if (!sl_text_word(t, &w))
		return sl_text_fail(t, "an empty line");
	while (i < FIELDS(kinds) && !sl_word_is(&w, kinds[i].name))
		i++;
	if (i == FIELDS(kinds) || (i == 0) != first)
		return sl_text_fail(t, "a line of no kind that belongs here");
	return kinds[i].read(t, b);
}

static bool sum_is_right(const char *line, size_t len)
{
	char want[SUM_BYTES + 8];

	if (len < SUM_BYTES)
		return false;
	(void)snprintf(
		want, sizeof(want), " sum=%08x", sl_crc32c(0, line, len - SUM_BYTES + 1));
	return memcmp(line + len - SUM_BYTES + 1, want, SUM_BYTES - 1) == 0;
}

sl_status sl_journal_parse(
	const char *source, const char *data, size_t len, struct sl_journal_book *out)
{
	struct sl_journal_book b = {.next_job = 1};
	struct sl_text t;
	sl_status st = SL_OK;
	bool more = true;
	size_t whole = len;

	while (whole > 0 && data[whole - 1] != '\n')
		whole--;
	b.torn = whole < len;
	for (size_t at = 0; at < whole;) {
		size_t n = (size_t)((const char *)memchr(data + at, '\n', whole - at) -
				    (data + at));

		if (!sum_is_right(data + at, n)) {
			st = SL_FAIL(SL_E_FORMAT,
				"%s: the line at byte %zu has a wrong checksum", source,
				at);
			goto out;
		}
		at += n + 1;
	}
	sl_text_init(&t, source, data, whole);
	for (bool first = true;; first = false) {
		SL_TRY_OUT(sl_text_line(&t, &more));
		if (!more)
			break;
		SL_TRY_OUT(read_line(&t, first, &b));
	}
	*out = b;
	b = (struct sl_journal_book){0};
out:
	sl_journal_finish(&b);
	return st;
}

void sl_journal_finish(struct sl_journal_book *b)
{
	sl_free(b->jobs);
	sl_free(b->mems);
	sl_free(b->limits);
	*b = (struct sl_journal_book){0};
}
