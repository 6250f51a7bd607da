/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv:FILE: rows of numbers, the last column is the label. The file is read once, line by
 * line, into a scratch file of rows [f32 x columns][i64 label]; samples are read from
 * there.
 *
 * A first line in which no field is a number is a header. Fields may stand in double
 * quotes; a line ends in LF or CR LF; empty lines are skipped. No line is longer than 1
 * MiB.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/units.h"
#include "data/source.h"
#include "data/stream.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define COLUMNS_MAX ((int64_t)1 << 17)
#define LABEL_MAX 2147483647.0
#define SHOWN 32

struct csv {
	char *path;
	int fd; /* scratch */
	int64_t columns; /* of features */
	int64_t rows;
};

/* While the file is read. */
struct parse {
	struct csv *csv;
	const struct sl_data_opts *opts;
	int64_t line;
	int64_t fields; /* of each row; 0 until the first line */
	int64_t largest;
	float *row;
	struct sl_spool spool;
};

/* What a message shows of a field: short, without control characters. */
static const char *shown(const char *text, char out[SHOWN + 1])
{
	size_t n = 0;

	for (; n < SHOWN && text[n]; n++)
		out[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
	out[n] = '\0';
	return out;
}

/* Cuts the next field off *rest: blanks and quotes around it are dropped; NULL: a quote
 * is open. */
static char *next_field(char **rest)
{
	char *field = *rest;
	char *end;

	field += strspn(field, " \t");
	if (*field == '"') {
		end = strchr(++field, '"');
		if (!end)
			return NULL;
		*end++ = '\0';
		end += strspn(end, " \t");
		if (*end && *end != ',')
			return NULL;
		*rest = *end ? end + 1 : NULL;
		return field;
	}
	end = field + strcspn(field, ",");
	*rest = *end ? end + 1 : NULL;
	*end = '\0';
	while (end > field && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return field;
}

static int64_t count_fields(const char *line)
{
	int64_t n = 1;
	bool quoted = false;

	for (; *line; line++) {
		quoted ^= *line == '"';
		n += *line == ',' && !quoted;
	}
	return n;
}

static sl_status fail_number(const struct parse *p, int64_t column, const char *field)
{
	char text[SHOWN + 1];

	if (!*field)
		return SL_FAIL(SL_E_FORMAT,
			"%s:%lld: column %lld is empty; fill it or drop the row",
			p->csv->path, (long long)p->line, (long long)column + 1);
	return SL_FAIL(SL_E_FORMAT, "%s:%lld: column %lld: '%s' is not a finite number",
		p->csv->path, (long long)p->line, (long long)column + 1,
		shown(field, text));
}

static sl_status take_label(struct parse *p, double v, int64_t *label)
{
	if (!(v >= 0 && v <= LABEL_MAX) || v != floor(v))
		return SL_FAIL(SL_E_FORMAT,
			"%s:%lld: the label (last column) is %g; expected 0, 1, 2, ...",
			p->csv->path, (long long)p->line, v);
	*label = (int64_t)v;
	if (p->opts->classes > 0 && *label >= p->opts->classes)
		return SL_FAIL(SL_E_FORMAT,
			"%s:%lld: label %lld, but the model has %lld classes; give it "
			"more (classes=, an mlp the last of sizes=)",
			p->csv->path, (long long)p->line, (long long)*label,
			(long long)p->opts->classes);
	p->largest = *label > p->largest ? *label : p->largest;
	return SL_OK;
}

static sl_status take_row(struct parse *p, char *line)
{
	int64_t label = 0;
	char *rest = line;

	for (int64_t i = 0; i < p->fields; i++) {
		double v = 0;
		char *field = rest ? next_field(&rest) : NULL;
		if (!field)
			return SL_FAIL(SL_E_FORMAT,
				"%s:%lld: column %lld: unbalanced quotes", p->csv->path,
				(long long)p->line, (long long)i + 1);
		if (sl_f64_parse(field, &v) != SL_OK || isinf((float)v))
			return fail_number(p, i, field);
		if (i < p->csv->columns)
			p->row[i] = (float)v;
		else
			SL_TRY(take_label(p, v, &label));
	}
	p->csv->rows++;
	SL_TRY(sl_spool_put(&p->spool, p->row, (size_t)p->csv->columns * sizeof(float)));
	return sl_spool_put(&p->spool, &label, sizeof(label));
}

/* Sets the number of columns; whether the line is a header goes to *header. */
static sl_status first_line(struct parse *p, const char *line, bool *header)
{
	struct sl_buf copy = SL_BUF_MAX(LINE_MAX_BYTES + 1);
	int64_t numbers = 0;
	double v;

	p->fields = count_fields(line);
	p->csv->columns = p->fields - 1;
	if (p->fields < 2 || p->fields > COLUMNS_MAX)
		return SL_FAIL(SL_E_FORMAT,
			"%s:%lld: %lld columns; expected features and a label, 2 to %lld "
			"columns "
			"separated by commas",
			p->csv->path, (long long)p->line, (long long)p->fields,
			(long long)COLUMNS_MAX);
	p->row = sl_calloc((size_t)p->csv->columns, sizeof(float));
	if (!p->row)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for a row of %lld columns",
			p->csv->path, (long long)p->fields);
	SL_TRY(sl_buf_puts(&copy, line));
	for (char *rest = copy.data; rest;) {
		char *field = next_field(&rest);
		if (!field)
			break; /* the row is looked at again and refused there */
		numbers += sl_f64_parse(field, &v) == SL_OK;
	}
	sl_buf_finish(&copy);
	*header = numbers == 0;
	return SL_OK;
}

static sl_status take_line(struct parse *p, char *line, size_t len)
{
	bool header = false;

	p->line++;
	if (len && line[len - 1] == '\r')
		line[--len] = '\0';
	if (memchr(line, '\0', len))
		return SL_FAIL(SL_E_FORMAT, "%s:%lld: a zero byte; is it a text file?",
			p->csv->path, (long long)p->line);
	if (p->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3; /* a byte order mark */
	if (!*line)
		return SL_OK;
	if (!p->fields) {
		SL_TRY(first_line(p, line, &header));
		if (header)
			return SL_OK;
	}
	int64_t fields = count_fields(line);
	if (fields != p->fields)
		return SL_FAIL(SL_E_FORMAT,
			"%s:%lld: %lld columns, the lines before have %lld", p->csv->path,
			(long long)p->line, (long long)fields, (long long)p->fields);
	return take_row(p, line);
}

/* Takes the whole lines of buf and keeps the rest. */
static sl_status take_lines(struct parse *p, struct sl_buf *buf, bool last)
{
	size_t at = 0;

	while (at < buf->len) {
		char *line = buf->data + at;
		char *end = memchr(line, '\n', buf->len - at);
		if (!end && !last)
			break;
		size_t len = end ? (size_t)(end - line) : buf->len - at;
		line[len] = '\0';
		SL_TRY(take_line(p, line, len));
		at += len + (end != NULL);
	}
	memmove(buf->data, buf->data + at, buf->len - at);
	buf->len -= at;
	return SL_OK;
}

static sl_status take_file(struct parse *p, struct sl_stream *s, struct sl_buf *buf)
{
	char piece[8192];
	size_t got = sizeof(piece);

	while (got == sizeof(piece)) {
		SL_TRY(sl_stream_read(s, piece, sizeof(piece), &got));
		if (buf->len + got > LINE_MAX_BYTES)
			return SL_FAIL(SL_E_LIMIT, "%s:%lld: a line over %zu bytes",
				p->csv->path, (long long)p->line + 1, LINE_MAX_BYTES);
		SL_TRY(sl_buf_append(buf, piece, got));
		if (buf->len)
			SL_TRY(take_lines(p, buf, got < sizeof(piece)));
	}
	return sl_spool_flush(&p->spool);
}

static sl_status read_all(struct csv *c, const struct sl_data_opts *o, int64_t *largest)
{
	sl_status st = SL_OK;
	struct sl_buf buf = SL_BUF_MAX(LINE_MAX_BYTES + 1);
	struct sl_stream *s = NULL;
	struct parse p = {.csv = c, .opts = o, .largest = -1};

	SL_TRY_OUT(sl_stream_open(c->path, false, &s));
	SL_TRY_OUT(sl_data_scratch(o, &c->fd));
	SL_TRY_OUT(sl_spool_init(&p.spool, c->fd));
	SL_TRY_OUT(take_file(&p, s, &buf));
	*largest = p.largest;
	if (!c->rows)
		st = SL_FAIL(SL_E_FORMAT, "%s: no row of numbers in %llu bytes", c->path,
			(unsigned long long)sl_stream_file_bytes(s));
out:
	sl_spool_finish(&p.spool);
	sl_free(p.row);
	sl_stream_close(s);
	sl_buf_finish(&buf);
	return st;
}

static sl_status csv_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct csv *c = sl_calloc(1, sizeof(*c));
	int64_t largest = -1;

	if (!c)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open csv:%s", arg);
	d->own = c;
	c->fd = -1;
	c->path = sl_strdup(arg);
	if (!c->path)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open csv:%s", arg);
	SL_TRY(read_all(c, o, &largest));
	SL_TRY(sl_data_set_sample(d, arg, &SL_SHAPE(c->columns)));
	sl_data_set_classes(d, o, largest);
	return sl_data_split(d, c->rows, o, 0);
}

static sl_status csv_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	const struct csv *c = d->own;
	size_t width = (size_t)c->columns * sizeof(float);
	uint64_t index = (uint64_t)p->index;

	if (p->split == SL_SPLIT_VALID)
		index += (uint64_t)d->info.count[SL_SPLIT_TRAIN];
	uint64_t at = index * (width + sizeof(int64_t));
	SL_TRY(sl_fs_pread(c->fd, c->path, x, width, at));
	return sl_fs_pread(c->fd, c->path, y, sizeof(*y), at + width);
}

static void csv_close(struct sl_data *d)
{
	struct csv *c = d->own;

	if (!c)
		return;
	sl_fs_close(c->fd);
	sl_free(c->path);
	sl_free(c);
}

const struct sl_data_source sl_data_source_csv = {
	.name = "csv",
	.help = "FILE: columns of numbers, header optional, the label last",
	.open = csv_open,
	.read = csv_read,
	.close = csv_close,
};
