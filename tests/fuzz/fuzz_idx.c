/* SPDX-License-Identifier: Apache-2.0 */
/* idx: the input is the images or (first byte odd) the labels of a set, plain or (second
 * bit) gzip; the other file is a good one for two images of 2 x 2. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sluice/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
	"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"};

static const uint8_t good_images[] = {
	0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8};
static const uint8_t good_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 0, 1};

static void put(const char *folder, const char *name, const uint8_t *data, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	SL_BUG(!f || fwrite(data, 1, size, f) != size || fclose(f) != 0);
}

static void read_one(const char *folder)
{
	char spec[256];
	struct sl_data *d = NULL;
	int64_t y = -1;

	snprintf(spec, sizeof(spec), "idx:%s", folder);
	if (sl_data_open(spec, NULL, &d) != SL_OK)
		return;
	float *x = sl_alloc(
		(size_t)sl_shape_count(&sl_data_info(d)->sample) * sizeof(float));
	SL_BUG(!x);
	SL_BUG(sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, &y) != SL_OK);
	SL_BUG(y < 0 || y >= sl_data_info(d)->classes);
	sl_free(x);
	sl_data_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/fuzz-idx-XXXXXX";
	char path[256];
	unsigned which = size ? data[0] & 3u : 0;

	SL_BUG(!mkdtemp(folder));
	put(folder, names[which], size ? data + 1 : data, size ? size - 1 : 0);
	if (which & 1)
		put(folder, names[0], good_images, sizeof(good_images));
	else
		put(folder, names[1], good_labels, sizeof(good_labels));
	read_one(folder);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	return 0;
}
