/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_IMAGE_H
#define SL_DATA_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"
#include "sluice/tensor.h"

/*
 * PNG and JPEG files as pixels, and pixels as a sample. Files are hostile: the sizes that
 * a header names are checked before any pixel has memory.
 */
#define SL_IMAGE_FILE_MAX ((size_t)64 << 20)
#define SL_IMAGE_SIDE_MAX 16384
#define SL_IMAGE_PIXELS_MAX ((int64_t)1 << 25)

/* Red, green, blue, a byte each, rows from the top; the memory is kept for the next one.
 * Zeroed objects are fine. */
struct sl_image {
	int64_t width, height;
	unsigned char *rgb;
	size_t cap;
};

/*
 * Decodes a file's bytes; the signature says which format it is. Transparency is left
 * out, grey becomes three equal channels, 16 bits become 8. SL_E_FORMAT for what is
 * damaged, cut short or neither format, SL_E_LIMIT, SL_E_NOMEM; messages need the file's
 * name in front.
 */
SL_NODISCARD sl_status sl_image_decode(
	const void *data, size_t len, struct sl_image *image);
void sl_image_finish(struct sl_image *image);

/* value = (byte / 255 - mean) / deviation of the channel. */
struct sl_image_norm {
	float mean[3], deviation[3];
};

/* Floats that sl_image_fit wants for an image. */
size_t sl_image_row_floats(const struct sl_image *image);
/*
 * The largest rectangle of the sample's proportions in the image's middle, brought to the
 * sample's size [C, H, W] by linear interpolation; where it shrinks, each value is the
 * mean under a triangle as wide as two of its pixels (the "bilinear" filter of Pillow). C
 * is 3, or 1: 0.299 red + 0.587 green + 0.114 blue, under the norm's first channel.
 */
void sl_image_fit(const struct sl_image *image, const struct sl_shape *sample,
	const struct sl_image_norm *norm, float *row, float *out);

#endif
