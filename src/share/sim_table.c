/* SPDX-License-Identifier: Apache-2.0 */
/* The table of jobs of `sluice sim`. */
#include "share/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/csv.h"
#include "base/map.h"
#include "base/units.h"

#define MAX_ROWS ((size_t)1 << 20)
#define MAX_SECONDS 1e9
#define MAX_MB 1099511627776.0 /* 2^40 MiB: 2^60 bytes */
#define NUMBER_TEXT 40

enum column {
	SUBMIT,
	ARRIVAL,
	DURATION,
	ITERATIONS,
	MS,
	PERSISTENT,
	EPHEMERAL,
	ID,
	PRIORITY,
	USER,
	DEADLINE,
	DECLARED,
	COLUMNS
};

static const char *const column_names[COLUMNS] = {"submit_s", "arrival_s", "duration_s",
	"iterations", "ms_per_iteration", "persistent_mb", "ephemeral_mb", "job_id",
	"priority", "user", "deadline_s", "declared_s"};

struct parse {
	struct sl_csv csv;
	int column[COLUMNS];
	struct sl_map ids, users;
	uint32_t n_users;
};

static bool is_given(const struct parse *p, enum column c)
{
	return p->column[c] >= 0 && p->csv.fields[p->column[c]].len > 0;
}

/* A number in [low, high]; an absent or empty field leaves *out. */
static sl_status read_number(
	const struct parse *p, enum column c, double low, double high, double *out)
{
	const struct sl_csv_field *f;
	char text[NUMBER_TEXT], seen[SL_CSV_SHOWN];

	if (!is_given(p, c))
		return SL_OK;
	f = &p->csv.fields[p->column[c]];
	if (f->len < NUMBER_TEXT) {
		memcpy(text, f->text, f->len);
		text[f->len] = '\0';
		if (sl_f64_parse(text, out) == SL_OK && *out >= low && *out <= high)
			return SL_OK;
	}
	return sl_csv_fail(&p->csv, SL_E_FORMAT, "%s '%s' is not a number from %g to %g",
		column_names[c], sl_csv_shown(f, seen), low, high);
}

static sl_status read_seconds(
	const struct parse *p, enum column c, sl_ns least, sl_ns *out)
{
	double s = (double)*out * 1e-9;

	SL_TRY(read_number(p, c, 0, MAX_SECONDS, &s));
	*out = (sl_ns)llround(s * 1e9);
	if (is_given(p, c) && *out < least)
		return sl_csv_fail(&p->csv, SL_E_FORMAT, "%s is below a nanosecond",
			column_names[c]);
	return SL_OK;
}

static sl_status read_length(const struct parse *p, struct sl_jobsim_job *j)
{
	double ms = 0, iterations = 0;

	SL_TRY(read_number(p, MS, 1e-6, MAX_SECONDS, &ms));
	SL_TRY(read_number(p, ITERATIONS, 1, 1e15, &iterations));
	SL_TRY(read_seconds(p, DURATION, 1, &j->length_ns));
	if (iterations > floor(iterations))
		return sl_csv_fail(&p->csv, SL_E_FORMAT, "iterations is no whole number");
	j->turn_ns = (sl_ns)llround(ms * 1e6);
	if (ms > 0 && iterations > 0) {
		if (iterations * ms > MAX_SECONDS * 1e3)
			return sl_csv_fail(&p->csv, SL_E_LIMIT,
				"iterations x ms_per_iteration is over %g s",
				MAX_SECONDS);
		j->length_ns = j->turn_ns * (sl_ns)iterations;
	}
	if (j->length_ns == 0)
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"the job has no length: give duration_s, or iterations and "
			"ms_per_iteration");
	j->declared_ns = p->column[DECLARED] < 0 ? j->length_ns : 0;
	return read_seconds(p, DECLARED, 1, &j->declared_ns);
}

static sl_status read_bytes(const struct parse *p, enum column c, uint64_t *out)
{
	double mb = 0;

	SL_TRY(read_number(p, c, 0, MAX_MB, &mb));
	*out = (uint64_t)ceil(mb * (double)SL_MIB);
	return SL_OK;
}

/* Users are numbered as they come. */
static sl_status read_user(struct parse *p, uint32_t *out)
{
	char text[SL_CSV_LINE_BYTES + 1];
	const struct sl_csv_field *f;

	*out = 0;
	if (!is_given(p, USER))
		return SL_OK;
	f = &p->csv.fields[p->column[USER]];
	memcpy(text, f->text, f->len);
	text[f->len] = '\0';
	if (sl_map_find(&p->users, text, out))
		return SL_OK;
	*out = ++p->n_users;
	return sl_map_add(&p->users, text, *out);
}

static sl_status read_name(struct parse *p, size_t row, struct sl_jobsim_job *j)
{
	char number[SL_JOBSIM_NAME];
	struct sl_csv_field f;
	struct sl_buf text = SL_BUF_INIT;
	uint32_t other;

	if (is_given(p, ID)) {
		f = p->csv.fields[p->column[ID]];
	} else {
		SL_TRY(sl_buf_printf(&text, "%zu", row));
		memcpy(number, sl_buf_text(&text), text.len + 1);
		f = (struct sl_csv_field){number, text.len};
		sl_buf_finish(&text);
	}
	if (f.len >= SL_JOBSIM_NAME)
		return sl_csv_fail(&p->csv, SL_E_LIMIT, "job_id has over %d bytes",
			SL_JOBSIM_NAME - 1);
	sl_csv_shown(&f, j->name);
	if (sl_map_find(&p->ids, j->name, &other))
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"the job_id '%s' is taken by line %u", j->name, other);
	return sl_map_add(&p->ids, j->name, p->csv.line);
}

static sl_status read_job(struct parse *p, size_t row, struct sl_jobsim_job *j)
{
	double priority = SL_JOB_PRIORITY;

	*j = (struct sl_jobsim_job){.line = p->csv.line, .first_ns = -1, .yield_ns = -1};
	if (!is_given(p, SUBMIT) && !is_given(p, ARRIVAL))
		return sl_csv_fail(&p->csv, SL_E_FORMAT, "submit_s is empty");
	SL_TRY(read_seconds(p, ARRIVAL, 0, &j->submit_ns));
	SL_TRY(read_seconds(p, SUBMIT, 0, &j->submit_ns));
	SL_TRY(read_length(p, j));
	SL_TRY(read_bytes(p, PERSISTENT, &j->persistent_bytes));
	SL_TRY(read_bytes(p, EPHEMERAL, &j->ephemeral_bytes));
	SL_TRY(read_number(p, PRIORITY, -1e6, 1e6, &priority));
	j->priority = (int32_t)priority;
	SL_TRY(read_seconds(p, DEADLINE, 1, &j->deadline_ns));
	SL_TRY(read_user(p, &j->user));
	return read_name(p, row, j);
}

static sl_status read_columns(struct parse *p)
{
	for (int c = 0; c < COLUMNS; c++)
		SL_TRY(sl_csv_column(&p->csv, column_names[c], &p->column[c]));
	if (p->column[SUBMIT] < 0 && p->column[ARRIVAL] < 0)
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"no column is called submit_s or arrival_s");
	if (p->column[DURATION] < 0 && (p->column[ITERATIONS] < 0 || p->column[MS] < 0))
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"no column is called duration_s, and not both iterations and "
			"ms_per_iteration are there");
	return SL_OK;
}

static int by_submission(const void *a, const void *b)
{
	const struct sl_jobsim_job *x = a, *y = b;

	if (x->submit_ns != y->submit_ns)
		return x->submit_ns < y->submit_ns ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* All ends lie within the times that there are. */
static sl_status check_sum(const struct parse *p, const struct sl_jobsim_table *t)
{
	double sum = 0, last = 0;

	for (size_t i = 0; i < t->n; i++) {
		sum += (double)t->jobs[i].length_ns;
		last = fmax(last, (double)t->jobs[i].submit_ns);
	}
	if (sum + last > (double)SL_SHARE_MOST)
		return SL_FAIL(SL_E_LIMIT, "%s: the jobs take over %.0f years",
			p->csv.source, (double)SL_SHARE_MOST / 1e9 / 86400 / 365);
	return SL_OK;
}

sl_status sl_jobsim_table_parse(
	struct sl_jobsim_table *t, const char *source, const char *data, size_t len)
{
	sl_status st;
	struct parse p = {0};
	bool more;

	SL_TRY_OUT(sl_csv_begin(&p.csv, source, data, len, "submit_s,duration_s"));
	SL_TRY_OUT(read_columns(&p));
	for (;;) {
		SL_TRY_OUT(sl_csv_row(&p.csv, &more));
		if (!more)
			break;
		if (t->n == MAX_ROWS) {
			st = sl_csv_fail(&p.csv, SL_E_LIMIT, "over %zu jobs", MAX_ROWS);
			goto out;
		}
		if (sl_grow((void **)&t->jobs, &t->cap, t->n + 1, sizeof(*t->jobs),
			    MAX_ROWS)) {
			st = SL_FAIL(
				SL_E_NOMEM, "no host memory left for %zu jobs", t->n + 1);
			goto out;
		}
		SL_TRY_OUT(read_job(&p, t->n, &t->jobs[t->n]));
		t->n++;
	}
	SL_TRY_OUT(check_sum(&p, t));
	if (t->n > 0)
		qsort(t->jobs, t->n, sizeof(*t->jobs), by_submission);
	t->no_memory = p.column[PERSISTENT] < 0 && p.column[EPHEMERAL] < 0;
out:
	sl_map_finish(&p.ids);
	sl_map_finish(&p.users);
	return st;
}

void sl_jobsim_table_finish(struct sl_jobsim_table *t)
{
	sl_free(t->jobs);
	*t = (struct sl_jobsim_table){0};
}
