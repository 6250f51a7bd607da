/* SPDX-License-Identifier: Apache-2.0 */
/* Results to standard output or to a file. */
#include "output.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"

static sl_status put(const struct sl_buf *text)
{
	if (fwrite(sl_buf_text(text), 1, text->len, stdout) != text->len ||
		fflush(stdout) != 0)
		return SL_FAIL(SL_E_WRITE, "cannot write to standard output");
	return SL_OK;
}

sl_status cli_write(const char *path, const struct sl_buf *text)
{
	if (strcmp(path, "-") == 0)
		return put(text);
	return sl_fs_write(path, sl_buf_text(text), text->len);
}

struct sl_json *cli_line_begin(struct cli_line *l, const char *name)
{
	*l = (struct cli_line){.text = SL_BUF_MAX(8192), .named = name != NULL};
	sl_json_begin(&l->json, &l->text);
	sl_json_open(&l->json, NULL, '{');
	if (l->named)
		sl_json_open(&l->json, name, '{');
	return &l->json;
}

sl_status cli_line_end(struct cli_line *l)
{
	sl_status st;

	if (l->named)
		sl_json_close(&l->json, '}');
	sl_json_close(&l->json, '}');
	SL_TRY_OUT(sl_json_end(&l->json));
	SL_TRY_OUT(put(&l->text));
out:
	sl_buf_finish(&l->text);
	return st;
}
