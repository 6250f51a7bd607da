/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's journal: lines get their checksums here, so that what is behind them is
 * read; what is read prints to a text that reads the same. */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "share/serve/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct sl_journal_book *b, struct sl_buf *out)
{
	SL_BUG(sl_journal_put_head(out, b->next_job) != SL_OK);
	if (b->policy[0] != '\0')
		SL_BUG(sl_journal_put_policy(out, b->policy) != SL_OK);
	for (size_t i = 0; i < b->n_limits; i++)
		SL_BUG(sl_journal_put_limit(out, b->limits[i].user, b->limits[i].bytes) !=
			SL_OK);
	for (size_t i = 0; i < b->n_jobs; i++)
		SL_BUG(sl_journal_put_job(out, &b->jobs[i]) != SL_OK);
	for (size_t i = 0; i < b->n_mems; i++)
		SL_BUG(sl_journal_put_mem(out, &b->mems[i]) != SL_OK);
}

static void round_trip(const struct sl_journal_book *b)
{
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;
	struct sl_journal_book back = {0};

	print(b, &first);
	SL_BUG(sl_journal_parse("again", first.data, first.len, &back) != SL_OK);
	print(&back, &second);
	SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	sl_journal_finish(&back);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_journal_book b = {0};
	sl_status st = sl_journal_parse("fuzz", (const char *)data, size, &b);

	SL_BUG(st != SL_OK && st != SL_E_FORMAT);
	sl_journal_finish(&b);
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		SL_BUG(sl_buf_append(&text, data + at, len) != SL_OK);
		SL_BUG(sl_buf_printf(&text, " sum=%08x\n",
			       sl_crc32c(0, data + at, len)) != SL_OK);
		at += len + 1;
	}
	st = sl_journal_parse("fuzz", sl_buf_text(&text), text.len, &b);
	SL_BUG(st != SL_OK && st != SL_E_FORMAT);
	if (st == SL_OK)
		round_trip(&b);
	sl_journal_finish(&b);
	sl_buf_finish(&text);
	return 0;
}
