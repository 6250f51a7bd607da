/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of foreign traces, what tells them apart, and their files. */
#include "memory/foreign/foreign.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)

static sl_status parse_own(const struct sl_foreign_text *text, struct sl_trace *out)
{
	return sl_trace_parse(text->source, text->data, text->len, out);
}

static sl_status print_own(
	const struct sl_trace *t, struct sl_buf *out, struct sl_buf *none)
{
	(void)none;
	return sl_trace_print(t, out);
}

static const struct {
	const char *name;
	const char *marks[2]; /* words that the first line has */
	const char *ends[2]; /* of files' names, when one is written */
	/* NULL: of a pair of files. */
	sl_status (*parse)(const struct sl_foreign_text *text, struct sl_trace *out);
	sl_status (*print)(
		const struct sl_trace *t, struct sl_buf *out, struct sl_buf *second);
} kind_rows[SL_FOREIGN_COUNT] = {
	[SL_FOREIGN_TRACE] = {"trace", {"trace", "trace"}, {".trace", ".trace"},
		parse_own, print_own},
	[SL_FOREIGN_G10] = {"g10", {"time_ns", "inputs"}, {"kernels.csv", "kernels.csv"},
		NULL, sl_g10_print},
	[SL_FOREIGN_DTR] = {"dtr", {"{", "INSTRUCTION"}, {".log", ".jsonl"}, sl_dtr_parse,
		sl_dtr_print},
	[SL_FOREIGN_BUFFERS] = {"buffers", {"lower", "upper"}, {".csv", ".csv"},
		sl_buffers_parse, sl_buffers_print},
};

static const char kernels_end[] = "kernels.csv", tensors_end[] = "tensors.csv";

const char *sl_foreign_name(enum sl_foreign_kind kind)
{
	return kind_rows[kind].name;
}

bool sl_foreign_find(const char *name, enum sl_foreign_kind *out)
{
	for (int i = 0; i < SL_FOREIGN_COUNT; i++) {
		*out = (enum sl_foreign_kind)i;
		if (strcmp(name, kind_rows[i].name) == 0)
			return true;
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

enum sl_foreign_kind sl_foreign_named(const char *path)
{
	for (int i = 0; i < SL_FOREIGN_COUNT; i++)
		if (ends_with(path, kind_rows[i].ends[0]) ||
			ends_with(path, kind_rows[i].ends[1]))
			return (enum sl_foreign_kind)i;
	return SL_FOREIGN_TRACE;
}

static bool has(const char *data, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(data + i, word, n) == 0)
			return true;
	return false;
}

static size_t first_line(const char *data, size_t len)
{
	const char *stop = len > 0 ? memchr(data, '\n', len) : NULL;
	size_t n = stop != NULL ? (size_t)(stop - data) : len;

	return n < 4096 ? n : 4096;
}

enum sl_foreign_kind sl_foreign_look(const char *data, size_t len)
{
	size_t line = first_line(data, len);

	if (line > 0 && data[0] == '#')
		return SL_FOREIGN_TRACE;
	for (int i = 1; i < SL_FOREIGN_COUNT; i++)
		if (has(data, line, kind_rows[i].marks[0]) &&
			has(data, line, kind_rows[i].marks[1]))
			return (enum sl_foreign_kind)i;
	return SL_FOREIGN_TRACE;
}

sl_status sl_foreign_second(enum sl_foreign_kind kind, const char *path, char **out)
{
	size_t len = strlen(path), n = sizeof(kernels_end) - 1;

	*out = NULL;
	if (kind != SL_FOREIGN_G10)
		return SL_OK;

	if (!ends_with(path, kernels_end))
		return SL_FAIL(SL_E_FORMAT,
			"%s: a trace of kernels and tensors is two files, X.%s and X.%s; "
			"this one's name ends otherwise",
			path, kernels_end, tensors_end);
	*out = sl_alloc(len - n + sizeof(tensors_end));
	if (*out == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a file's name");
	memcpy(*out, path, len - n);
	memcpy(*out + len - n, tensors_end, sizeof(tensors_end));
	return SL_OK;
}

/* Without the byte-order mark that some programs begin a text with. */
static struct sl_foreign_text text_of(const char *path, const struct sl_buf *b)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *data = sl_buf_text(b);
	size_t skip = b->len >= 3 && memcmp(data, mark, 3) == 0 ? 3 : 0;

	return (struct sl_foreign_text){path, data + skip, b->len - skip};
}

static sl_status parse_pair(const struct sl_foreign_text *kernels, struct sl_trace *out)
{
	struct sl_buf other = SL_BUF_MAX(MAX_FILE_BYTES);
	struct sl_foreign_text tensors;
	char *path = NULL;
	sl_status st;

	SL_TRY_OUT(sl_foreign_second(SL_FOREIGN_G10, kernels->source, &path));
	SL_TRY_OUT(sl_fs_read(path, MAX_FILE_BYTES, &other));
	tensors = text_of(path, &other);
	SL_TRY_OUT(sl_g10_parse(&tensors, kernels, out));
out:
	sl_free(path);
	sl_buf_finish(&other);
	return st;
}

static sl_status read_kind(
	bool look, enum sl_foreign_kind *kind, const char *path, struct sl_trace *out)
{
	struct sl_buf b = SL_BUF_MAX(MAX_FILE_BYTES);
	struct sl_foreign_text text;
	sl_status st;

	SL_TRY_OUT(sl_fs_read(path, MAX_FILE_BYTES, &b));
	text = text_of(path, &b);
	if (look)
		*kind = sl_foreign_look(text.data, text.len);
	SL_TRY_OUT(kind_rows[*kind].parse != NULL ? kind_rows[*kind].parse(&text, out)
						  : parse_pair(&text, out));
out:
	sl_buf_finish(&b);
	return st;
}

sl_status sl_foreign_read(
	const char *path, enum sl_foreign_kind *kind, struct sl_trace *out)
{
	enum sl_foreign_kind found;

	return read_kind(true, kind != NULL ? kind : &found, path, out);
}

sl_status sl_foreign_read_as(
	enum sl_foreign_kind kind, const char *path, struct sl_trace *out)
{
	return read_kind(false, &kind, path, out);
}

sl_status sl_foreign_print(enum sl_foreign_kind kind, const struct sl_trace *t,
	struct sl_buf *out, struct sl_buf *second)
{
	return kind_rows[kind].print(t, out, second);
}

sl_status sl_foreign_take(struct sl_trace *made, const char *source, struct sl_trace *out)
{
	sl_status st = sl_trace_check(made);

	if (st != SL_OK)
		return sl_fail_prefix(st, "%s", source);
	*out = *made;
	*made = SL_TRACE_INIT;
	return SL_OK;
}
