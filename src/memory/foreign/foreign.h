/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_FOREIGN_FOREIGN_H
#define SL_MEMORY_FOREIGN_FOREIGN_H

#include "memory/trace.h"

/*
 * Traces of other programs: docs/formats/foreign.md. Reading gives a trace that passed
 * sl_trace_check; a file that is wrong is SL_E_FORMAT or SL_E_LIMIT, "source:line: what".
 */
enum sl_foreign_kind {
	SL_FOREIGN_TRACE, /* our own */
	SL_FOREIGN_G10, /* X.kernels.csv beside X.tensors.csv */
	SL_FOREIGN_DTR, /* operators, one JSON object a line */
	SL_FOREIGN_BUFFERS, /* sizes and lifetimes: the table of sluice place */
	SL_FOREIGN_COUNT
};

const char *sl_foreign_name(enum sl_foreign_kind kind);
/* By name; false: there is none. */
bool sl_foreign_find(const char *name, enum sl_foreign_kind *out);
/* What a text looks like, by its first line; anything else is taken for our own. */
enum sl_foreign_kind sl_foreign_look(const char *data, size_t len);
/* What a file of this name is to hold. */
enum sl_foreign_kind sl_foreign_named(const char *path);
/* The name of the file beside it, of a pair, to be freed; else NULL. SL_E_FORMAT: the
 * name does not end as those of pairs do. */
SL_NODISCARD sl_status sl_foreign_second(
	enum sl_foreign_kind kind, const char *path, char **out);

/* Reads a file of any kind, told apart by content; kind may be NULL. Of a pair, the file
 * of kernels names both. */
SL_NODISCARD sl_status sl_foreign_read(
	const char *path, enum sl_foreign_kind *kind, struct sl_trace *out);
SL_NODISCARD sl_status sl_foreign_read_as(
	enum sl_foreign_kind kind, const char *path, struct sl_trace *out);

/* For readers: checks what they made and moves it to *out; a failure names the source. */
SL_NODISCARD sl_status sl_foreign_take(
	struct sl_trace *made, const char *source, struct sl_trace *out);

/* A text in memory and what messages call it. */
struct sl_foreign_text {
	const char *source, *data;
	size_t len;
};

/*
 * The kernels and tensors of one training iteration as G10's traces are published, with
 * its evaluation's device below them: host and disk, each with a link of its own each
 * way. An op's scope is `kN`, N its kernel. What is read before any kernel wrote it, and
 * is no weight, is born by an op `feed` of no time just before.
 */
SL_NODISCARD sl_status sl_g10_parse(const struct sl_foreign_text *tensors,
	const struct sl_foreign_text *kernels, struct sl_trace *out);
#define SL_G10_FEED "feed"

/*
 * A log of operators as DTR's simulator reads it. Constants persist; what names still
 * stand for at the end is read by a last op `output`.
 */
SL_NODISCARD sl_status sl_dtr_parse(
	const struct sl_foreign_text *text, struct sl_trace *out);
#define SL_DTR_OUTPUT "output"

/* A table of buffers: docs/formats/place.md. An op stands for each span of time between
 * two begins or ends, and cannot run again; times are nanoseconds. */
SL_NODISCARD sl_status sl_buffers_parse(
	const struct sl_foreign_text *text, struct sl_trace *out);

/*
 * The trace in another form, appended; the second text is of a pair: its tensors. What
 * the form does not have is left out (docs/formats/foreign.md says what). SL_E_LIMIT: a
 * line would be longer than its readers take.
 */
SL_NODISCARD sl_status sl_foreign_print(enum sl_foreign_kind kind,
	const struct sl_trace *t, struct sl_buf *out, struct sl_buf *second);
SL_NODISCARD sl_status sl_g10_print(
	const struct sl_trace *t, struct sl_buf *kernels, struct sl_buf *tensors);
SL_NODISCARD sl_status sl_dtr_print(
	const struct sl_trace *t, struct sl_buf *out, struct sl_buf *none);
SL_NODISCARD sl_status sl_buffers_print(
	const struct sl_trace *t, struct sl_buf *out, struct sl_buf *none);

#endif
