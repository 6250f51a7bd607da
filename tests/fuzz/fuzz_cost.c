/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of cost books: what it accepts prints, parses again to the same text, and
 * predicts. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "sim/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_cost_book b, back;
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

	if (sl_cost_parse("fuzz", (const char *)data, size, &b) != SL_OK)
		return 0;
	if (sl_cost_print(&b, &first) == SL_OK) {
		SL_BUG(sl_cost_parse("again", first.data, first.len, &back) != SL_OK);
		SL_BUG(sl_cost_print(&back, &second) != SL_OK);
		SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	}
	for (uint32_t i = 0; i < b.n_ops; i++)
		SL_BUG(sl_cost_predict(&b, b.ops[i].kind, 1e9, 1e9, 1) < 1);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	return 0;
}
