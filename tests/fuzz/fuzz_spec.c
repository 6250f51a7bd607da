/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of the command line: model specs, sizes, rates, numbers. A spec that is taken
 * prints as one that is taken again and prints alike.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "sluice/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORD_MAX 600

static void take_model(const char *word)
{
	struct sl_model_config first, second;
	char a[SL_MODEL_SPEC_TEXT], b[SL_MODEL_SPEC_TEXT];

	if (sl_model_parse(word, &first) != SL_OK) {
		SL_BUG(sl_last_error()[0] == '\0');
		return;
	}
	sl_model_print(&first, a);
	SL_BUG(sl_model_parse(a, &second) != SL_OK);
	SL_BUG(strcmp(a, sl_model_print(&second, b)) != 0);
}

static void take_size(const char *word)
{
	char text[SL_SIZE_TEXT];
	uint64_t bytes, rate;
	int64_t count;
	double real;

	if (sl_size_parse("budget", word, &bytes) == SL_OK)
		SL_BUG(sl_size_print(bytes, text)[0] == '\0');
	if (sl_u64_parse(word, &bytes) == SL_OK && bytes <= INT64_MAX)
		SL_BUG(sl_i64_parse(word, &count) != SL_OK || count != (int64_t)bytes);
	(void)!sl_rate_parse("link", word, &rate);
	(void)!sl_f64_parse(word, &real);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char word[WORD_MAX];

	if (size >= sizeof(word))
		return 0;
	memcpy(word, data, size);
	word[size] = '\0';
	take_model(word);
	take_size(word);
	return 0;
}
