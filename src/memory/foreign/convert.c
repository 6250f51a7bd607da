/* SPDX-License-Identifier: Apache-2.0 */
/* Traces from one form to another, as files. */
#include "sluice/memory.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "memory/foreign/foreign.h"

static sl_status find(const char *option, const char *name, enum sl_foreign_kind *out)
{
	if (sl_foreign_find(name, out))
		return SL_OK;
	return SL_FAIL(SL_E_USAGE,
		"%s: no trace is of kind '%.40s'; trace, g10, dtr and buffers are",
		option, name);
}

static sl_status stage(const char *path, const struct sl_buf *text, struct sl_fs_new *f)
{
	SL_TRY(sl_fs_new_begin(path, f));
	return sl_fs_pwrite(f->fd, path, sl_buf_text(text), text->len, 0);
}

/* No file takes its place before all are written: half of a new pair beside half of an
 * old one would be read as a trace. */
static sl_status write_files(const char *path, const struct sl_buf *text,
	const char *beside, const struct sl_buf *second)
{
	struct sl_fs_new a = {.fd = -1}, b = {.fd = -1};
	sl_status st;

	SL_TRY_OUT(stage(path, text, &a));
	if (beside != NULL) {
		SL_TRY_OUT(stage(beside, second, &b));
		SL_TRY_OUT(sl_fs_new_commit(&b));
	}
	st = sl_fs_new_commit(&a);
out:
	sl_fs_new_cancel(&a);
	sl_fs_new_cancel(&b);
	return st;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* No input is written over. */
static sl_status check_apart(const struct sl_convert_config *config,
	enum sl_foreign_kind from, enum sl_foreign_kind to)
{
	char *names[2] = {NULL, NULL};
	sl_status st;

	SL_TRY_OUT(sl_foreign_second(from, config->in, &names[0]));
	SL_TRY_OUT(sl_foreign_second(to, config->out, &names[1]));
	for (int i = 0; i < 4 && st == SL_OK; i++) {
		const char *in = i & 1 ? names[0] : config->in;
		const char *out = i & 2 ? names[1] : config->out;

		if (in != NULL && out != NULL && is_same_file(in, out))
			st = SL_FAIL(SL_E_USAGE,
				"%s would be written over while it is read; give -o "
				"another name",
				in);
	}
out:
	sl_free(names[0]);
	sl_free(names[1]);
	return st;
}

static sl_status write_all(const struct sl_convert_config *config,
	enum sl_foreign_kind to, const struct sl_trace *t, struct sl_buf *out)
{
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;
	struct sl_buf *text = out != NULL ? out : &first;
	char *beside = NULL;
	sl_status st = SL_OK;

	if (out != NULL && to == SL_FOREIGN_G10) {
		st = SL_FAIL(SL_E_USAGE,
			"kernels and tensors are two files; give -o X.kernels.csv");
		goto out;
	}
	if (out == NULL)
		SL_TRY_OUT(sl_foreign_second(to, config->out, &beside));
	SL_TRY_OUT(sl_foreign_print(to, t, text, &second));
	if (out == NULL)
		st = write_files(config->out, text, beside, &second);
out:
	sl_free(beside);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	return st;
}

sl_status sl_convert_file(const struct sl_convert_config *config, struct sl_buf *text,
	struct sl_convert_report *out)
{
	enum sl_foreign_kind from = SL_FOREIGN_TRACE, to = SL_FOREIGN_TRACE;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_least_budget least;
	sl_status st;

	if (config->from != NULL)
		SL_TRY_OUT(find("--from", config->from, &from));
	if (config->to != NULL)
		SL_TRY_OUT(find("--to", config->to, &to));
	else if (config->out != NULL)
		to = sl_foreign_named(config->out);
	SL_TRY_OUT(config->from != NULL ? sl_foreign_read_as(from, config->in, &t)
					: sl_foreign_read(config->in, &from, &t));
	if (text == NULL)
		SL_TRY_OUT(check_apart(config, from, to));
	SL_TRY_OUT(sl_trace_least_budget(&t, &least));
	*out = (struct sl_convert_report){.from = sl_foreign_name(from),
		.to = sl_foreign_name(to),
		.ops = t.n_ops,
		.values = t.n_values,
		.live_peak_bytes = least.live_peak_bytes};
	for (uint32_t o = 0; o < t.n_ops; o++)
		out->ops_ns += t.ops[o].dur_ns;
	SL_TRY_OUT(write_all(config, to, &t, text));
out:
	sl_trace_finish(&t);
	return st;
}
