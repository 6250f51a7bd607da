/* SPDX-License-Identifier: Apache-2.0 */
/* PNG files by libspng, JPEG files by libjpeg-turbo, to bytes of red, green and blue. */
#include <spng.h>
#include <string.h>
#include <turbojpeg.h>

#include "base/alloc.h"
#include "data/image.h"

#define CHANNELS 3
/* A PNG's text and profiles, which nobody looks at. */
#define CHUNK_MAX ((size_t)1 << 20)
#define CHUNKS_MAX ((size_t)4 << 20)

static sl_status make_room(struct sl_image *image, int64_t width, int64_t height)
{
	if (width < 1 || height < 1)
		return SL_FAIL(SL_E_FORMAT,
			"an image of %lld x %lld pixels: mend the file or take it out of "
			"the folder",
			(long long)width, (long long)height);
	if (width > SL_IMAGE_SIDE_MAX || height > SL_IMAGE_SIDE_MAX ||
		width * height > SL_IMAGE_PIXELS_MAX)
		return SL_FAIL(SL_E_LIMIT,
			"an image of %lld x %lld pixels; at most %d a side and %lld in "
			"all: make it smaller",
			(long long)width, (long long)height, SL_IMAGE_SIDE_MAX,
			(long long)SL_IMAGE_PIXELS_MAX);
	size_t bytes = (size_t)(width * height) * CHANNELS;
	if (bytes > image->cap) {
		sl_image_finish(image);
		image->rgb = sl_alloc(bytes);
		if (!image->rgb)
			return SL_FAIL(SL_E_NOMEM,
				"no host memory for %lld x %lld pixels", (long long)width,
				(long long)height);
		image->cap = bytes;
	}
	image->width = width;
	image->height = height;
	return SL_OK;
}

void sl_image_finish(struct sl_image *image)
{
	sl_free(image->rgb);
	*image = (struct sl_image){0};
}

static sl_status fail_png(int err)
{
	if (err == SPNG_EMEM)
		return SL_FAIL(SL_E_NOMEM, "no host memory to decode a PNG image");
	return SL_FAIL(SL_E_FORMAT,
		"not a whole PNG image (%s): mend the file or take it out of the folder",
		spng_strerror(err));
}

static sl_status read_png(
	spng_ctx *png, const void *data, size_t len, struct sl_image *image)
{
	struct spng_ihdr header;
	size_t bytes = 0;
	int err = spng_set_image_limits(png, INT32_MAX, INT32_MAX);

	err = err ? err : spng_set_chunk_limits(png, CHUNK_MAX, CHUNKS_MAX);
	err = err ? err : spng_set_png_buffer(png, data, len);
	err = err ? err : spng_get_ihdr(png, &header);
	if (err)
		return fail_png(err);
	SL_TRY(make_room(image, header.width, header.height));
	err = spng_decoded_image_size(png, SPNG_FMT_RGB8, &bytes);
	if (!err && bytes != (size_t)(image->width * image->height) * CHANNELS)
		err = SPNG_EINTERNAL;
	err = err ? err : spng_decode_image(png, image->rgb, bytes, SPNG_FMT_RGB8, 0);
	return err ? fail_png(err) : SL_OK;
}

static sl_status decode_png(const void *data, size_t len, struct sl_image *image)
{
	struct spng_alloc alloc = {sl_alloc, sl_realloc, sl_calloc, sl_free};
	spng_ctx *png = spng_ctx_new2(&alloc, 0);

	if (!png)
		return SL_FAIL(SL_E_NOMEM, "no host memory to decode a PNG image");
	sl_status st = read_png(png, data, len, image);
	spng_ctx_free(png);
	return st;
}

static sl_status fail_jpeg(tjhandle jpeg)
{
	return SL_FAIL(SL_E_FORMAT,
		"not a whole JPEG image (%s): mend the file or take it out of the "
		"folder",
		tjGetErrorStr2(jpeg));
}

/* Slow scans without end and warnings, such as of a file cut short, are failures. */
static sl_status read_jpeg(
	tjhandle jpeg, const void *data, size_t len, struct sl_image *image)
{
	const int flags = TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT;
	int width = 0;
	int height = 0;
	int sampling = 0;
	int colours = 0;

	if (tjDecompressHeader3(jpeg, data, len, &width, &height, &sampling, &colours) !=
		0)
		return fail_jpeg(jpeg);
	SL_TRY(make_room(image, width, height));
	if (tjDecompress2(
		    jpeg, data, len, image->rgb, width, 0, height, TJPF_RGB, flags) != 0)
		return fail_jpeg(jpeg);
	return SL_OK;
}

static sl_status decode_jpeg(const void *data, size_t len, struct sl_image *image)
{
	tjhandle jpeg = tjInitDecompress();

	if (!jpeg)
		return SL_FAIL(SL_E_NOMEM, "no host memory to decode a JPEG image");
	sl_status st = read_jpeg(jpeg, data, len, image);
	(void)tjDestroy(jpeg);
	return st;
}

sl_status sl_image_decode(const void *data, size_t len, struct sl_image *image)
{
	static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	static const unsigned char jpeg[] = {0xff, 0xd8, 0xff};

	if (len >= sizeof(png) && memcmp(data, png, sizeof(png)) == 0)
		return decode_png(data, len, image);
	if (len >= sizeof(jpeg) && memcmp(data, jpeg, sizeof(jpeg)) == 0)
		return decode_jpeg(data, len, image);
	return SL_FAIL(SL_E_FORMAT,
		"neither a PNG nor a JPEG image, whatever its name says: mend the file "
		"or take it out of the folder");
}
