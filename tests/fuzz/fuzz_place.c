/* SPDX-License-Identifier: Apache-2.0 */
/* place: a table that is read is placed soundly, and what is written is read again the
 * same. */
#include "memory_file.h"

#include <string.h>

#include "base/buf.h"
#include "memory/place_csv.h"
#include "sluice/memory.h"

#define MAX_BYTES 4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The table with its offsets holds the same rows, all given, all apart. */
static void check_written(const char *csv, size_t len, const struct sl_place_report *r)
{
	char path[MEMORY_PATH];
	int fd = memory_file((const uint8_t *)csv, len, path);
	struct sl_place_config check = {.validate = true};
	struct sl_place_report again;

	SL_BUG(sl_place_file(path, &check, &again, NULL, NULL) != SL_OK);
	SL_BUG(again.buffers != r->buffers || again.load_bytes != r->load_bytes);
	SL_BUG(again.fixed != r->buffers || again.height_bytes > r->height_bytes);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[MEMORY_PATH];
	int fd = memory_file(data, size < MAX_BYTES ? size : MAX_BYTES, path);
	struct sl_place_config config = {.fast = size % 2 == 0,
		.base_bytes = size % 3 * 64,
		.threads = 1,
		.nodes = 2000};
	struct sl_place_report r;
	struct sl_buf csv = SL_BUF_INIT, svg = SL_BUF_INIT;
	sl_status st = sl_place_file(path, &config, &r, &csv, &svg);

	if (st == SL_OK) {
		SL_BUG(r.bound_bytes > r.height_bytes);
		SL_BUG(r.fixed == 0 && r.height_bytes < config.base_bytes + r.load_bytes);
		check_written(sl_buf_text(&csv), csv.len, &r);
	} else {
		/* A base above what lies fixed is the caller's mistake. */
		SL_BUG(st == SL_E_USAGE && config.base_bytes == 0);
		SL_BUG(st != SL_E_FORMAT && st != SL_E_LIMIT && st != SL_E_NO &&
			st != SL_E_USAGE);
	}
	sl_buf_finish(&svg);
	sl_buf_finish(&csv);
	close(fd);
	return 0;
}
