/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_PICTURE_H
#define SL_TESTS_PICTURE_H

#include <spng.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#include "base/compiler.h"
#include "harness/harness.h"

/* Small image files for tests, as bytes; rgb is [h, w, 3]. Free them with free(). */
static SL_UNUSED void *picture_png(
	const unsigned char *rgb, uint32_t w, uint32_t h, size_t *len)
{
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	struct spng_ihdr header = {.width = w,
		.height = h,
		.bit_depth = 8,
		.color_type = SPNG_COLOR_TYPE_TRUECOLOR};
	int err = 0;

	assert_non_null(png);
	assert_int_equal(spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1), 0);
	assert_int_equal(spng_set_ihdr(png, &header), 0);
	assert_int_equal(spng_encode_image(png, rgb, (size_t)w * h * 3, SPNG_FMT_PNG,
				 SPNG_ENCODE_FINALIZE),
		0);
	void *data = spng_get_png_buffer(png, len, &err);
	assert_non_null(data);
	spng_ctx_free(png);
	return data;
}

static SL_UNUSED void *picture_jpeg(const unsigned char *rgb, int w, int h, size_t *len)
{
	tjhandle jpeg = tjInitCompress();
	unsigned char *data = NULL;
	unsigned long bytes = 0;

	assert_non_null(jpeg);
	assert_int_equal(tjCompress2(jpeg, rgb, w, 0, h, TJPF_RGB, &data, &bytes,
				 TJSAMP_444, 95, 0),
		0);
	void *own = malloc(bytes);
	assert_non_null(own);
	memcpy(own, data, bytes);
	tjFree(data);
	(void)tjDestroy(jpeg);
	*len = bytes;
	return own;
}

#endif
