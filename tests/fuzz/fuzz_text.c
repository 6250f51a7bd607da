/* SPDX-License-Identifier: Apache-2.0 */
/* The tokeniser: words lie inside the text, in order, and every line ends. */
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_line(struct sl_text *t)
{
	struct sl_word w;
	char text[16];
	uint64_t u;
	int64_t i;
	double f;
	uint32_t id;
	const char *last = t->data;

	while (sl_text_word(t, &w)) {
		const char *start = w.key ? w.key : w.value;
		SL_BUG(start < last || w.value + w.value_len > t->data + t->len);
		SL_BUG(w.key && (w.key_len == 0 || w.key[w.key_len] != '='));
		last = w.value + w.value_len;
		if (sl_word_u64(t, &w, &u) == SL_OK && u <= INT64_MAX)
			SL_BUG(sl_word_i64(t, &w, &i) != SL_OK || i != (int64_t)u);
		(void)!sl_word_f64(t, &w, &f);
		(void)!sl_word_id(t, &w, 'v', &id);
		SL_BUG((sl_word_copy(t, &w, text, sizeof(text)) == SL_OK) !=
			(w.value_len < sizeof(text)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_text t;
	bool more = true;
	int line = 0;

	sl_text_init(&t, "fuzz", (const char *)data, size);
	while (sl_text_line(&t, &more) == SL_OK && more) {
		SL_BUG(t.line <= line);
		line = t.line;
		take_line(&t);
	}
	return 0;
}
