/* SPDX-License-Identifier: Apache-2.0 */
/* image: whatever the bytes, an image that is taken lies within the limits and makes a
 * sample of finite numbers. */
#include <math.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "data/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sl_image_norm norm = {
		{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 0.25f}};
	struct sl_image image = {0};
	float out[3 * 5 * 7];

	if (sl_image_decode(data, size, &image) == SL_OK) {
		float *row = sl_alloc(sl_image_row_floats(&image) * sizeof(*row));
		SL_BUG(!row);
		SL_BUG(image.width < 1 || image.width > SL_IMAGE_SIDE_MAX ||
			image.height < 1 || image.height > SL_IMAGE_SIDE_MAX ||
			image.width * image.height > SL_IMAGE_PIXELS_MAX);
		sl_image_fit(&image, &SL_SHAPE(3, 5, 7), &norm, row, out);
		for (int i = 0; i < 3 * 5 * 7; i++)
			SL_BUG(!isfinite(out[i]) || fabsf(out[i]) > 2.001f);
		sl_free(row);
	}
	sl_image_finish(&image);
	return 0;
}
