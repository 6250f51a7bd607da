/* SPDX-License-Identifier: Apache-2.0 */
/* Results to standard output or to a file. */
#include "cli.h"

#include <string.h>

#include "base/fs.h"

sl_status cli_put(const struct sl_buf *text)
{
	if (fwrite(sl_buf_text(text), 1, text->len, stdout) != text->len ||
		fflush(stdout) != 0)
		return SL_FAIL(SL_E_WRITE, "cannot write to standard output");
	return SL_OK;
}

sl_status cli_write(const char *path, const struct sl_buf *text)
{
	if (path == NULL || strcmp(path, "-") == 0)
		return cli_put(text);
	return sl_fs_write(path, sl_buf_text(text), text->len);
}
