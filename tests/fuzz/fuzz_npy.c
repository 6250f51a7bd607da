/* SPDX-License-Identifier: Apache-2.0 */
/* npy: a header that is accepted describes exactly the file; samples read or say why not.
 */
#include "memory_file.h"

#include "base/alloc.h"
#include "data/npy.h"
#include "sluice/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_some(const char *path)
{
	char spec[2 * MEMORY_PATH + 8];
	struct sl_data *d = NULL;
	int64_t y = -1;

	/* The same bytes as samples and as labels: opens only if they are both. */
	snprintf(spec, sizeof(spec), "npy:%s,%s", path, path);
	if (sl_data_open(spec, NULL, &d) != SL_OK)
		return;
	float *x = sl_alloc(
		(size_t)sl_shape_count(&sl_data_info(d)->sample) * sizeof(float));
	SL_BUG(!x);
	(void)!sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, &y);
	sl_free(x);
	sl_data_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[MEMORY_PATH];
	int fd = memory_file(data, size, path);
	struct sl_npy n;

	if (sl_npy_header(fd, path, size, &n) == SL_OK)
		SL_BUG(n.base + (uint64_t)sl_shape_count(&n.shape) *
					sl_dtype_bytes(n.dtype) !=
			size);
	read_some(path);
	close(fd);
	return 0;
}
