/* SPDX-License-Identifier: Apache-2.0 */
/* csv: a file that opens gives finite samples and labels below its classes. */
#include "memory_file.h"

#include <math.h>

#include "base/alloc.h"
#include "sluice/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct sl_data *d)
{
	const struct sl_data_info *info = sl_data_info(d);
	int64_t n = sl_shape_count(&info->sample);
	float *x = sl_alloc((size_t)n * sizeof(float));
	int64_t y = -1;

	SL_BUG(!x);
	for (int64_t i = 0; i < info->count[SL_SPLIT_TRAIN]; i++) {
		struct sl_data_request r = {.first = i, .count = 1};
		SL_BUG(sl_data_batch(d, &r, x, &y) != SL_OK);
		SL_BUG(y < 0 || y >= info->classes);
		for (int64_t k = 0; k < n; k++)
			SL_BUG(!isfinite(x[k]));
	}
	sl_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[MEMORY_PATH];
	char spec[MEMORY_PATH + 8];
	struct sl_data *d = NULL;
	int fd = memory_file(data, size, path);

	snprintf(spec, sizeof(spec), "csv:%s", path);
	if (sl_data_open(spec, NULL, &d) == SL_OK)
		read_all(d);
	sl_data_close(d);
	close(fd);
	return 0;
}
