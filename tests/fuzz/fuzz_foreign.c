/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of other programs: what is read can be written in every form and read again with
 * the same times. The first byte says what the rest is; the two files of a pair are
 * parted by a line of '='. */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "memory/foreign/foreign.h"

#define MAX_BYTES 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sl_status parse(
	enum sl_foreign_kind kind, const char *data, size_t len, struct sl_trace *out)
{
	struct sl_foreign_text text = {"input", data, len}, second = {"input2", "", 0};

	if (kind == SL_FOREIGN_DTR)
		return sl_dtr_parse(&text, out);
	if (kind == SL_FOREIGN_BUFFERS)
		return sl_buffers_parse(&text, out);
	if (kind == SL_FOREIGN_TRACE)
		return sl_trace_parse("input", data, len, out);
	for (size_t i = 0; i + 2 < len; i++) {
		if (memcmp(data + i, "\n=\n", 3) != 0)
			continue;
		second.data = data + i + 3;
		second.len = len - i - 3;
		text.len = i + 1;
		break;
	}
	return sl_g10_parse(&text, &second, out);
}

static uint64_t sum_ns(const struct sl_trace *t)
{
	uint64_t ns = 0;

	for (uint32_t o = 0; o < t->n_ops; o++)
		ns += t->ops[o].dur_ns;
	return ns;
}

/* Of a pair, the tensors come first, as in the input. */
static void again(enum sl_foreign_kind kind, const struct sl_trace *t)
{
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT, all = SL_BUF_INIT;
	struct sl_trace back = SL_TRACE_INIT;
	sl_status st = sl_foreign_print(kind, t, &first, &second);

	SL_BUG(st != SL_OK && st != SL_E_LIMIT);
	if (st == SL_OK) {
		if (kind == SL_FOREIGN_G10)
			SL_BUG(sl_buf_printf(&all, "%s=\n", sl_buf_text(&second)) !=
				SL_OK);
		SL_BUG(sl_buf_append(&all, sl_buf_text(&first), first.len) != SL_OK);
		st = parse(kind, sl_buf_text(&all), all.len, &back);
		/* A value that is a workspace now may be one too many. */
		SL_BUG(st != SL_OK && st != SL_E_LIMIT && kind != SL_FOREIGN_DTR);
		SL_BUG(st == SL_OK && kind != SL_FOREIGN_BUFFERS &&
			sum_ns(&back) != sum_ns(t));
	}
	sl_trace_finish(&back);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	sl_buf_finish(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_trace t = SL_TRACE_INIT;
	enum sl_foreign_kind kind;
	sl_status st;

	if (size == 0 || size > MAX_BYTES)
		return 0;
	kind = (enum sl_foreign_kind)(data[0] % SL_FOREIGN_COUNT);
	(void)sl_foreign_look((const char *)data, size);
	st = parse(kind, (const char *)data + 1, size - 1, &t);
	SL_BUG(st != SL_OK && st != SL_E_FORMAT && st != SL_E_LIMIT);
	for (int k = 0; st == SL_OK && k < SL_FOREIGN_COUNT; k++)
		again((enum sl_foreign_kind)k, &t);
	sl_trace_finish(&t);
	return 0;
}
