/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image's middle as a sample of a model's size. Source rows are added up for a row of
 * the result first, then columns of that row: no more than one row of sums is held,
 * however large the image.
 */
#include <math.h>
#include <string.h>

#include "data/image.h"

#define CHANNELS 3

/* The part of one side that is used, and its size in the result. */
struct side {
	double begin, scale; /* of the source, pixels of it a pixel of the result */
	int64_t source, result;
};

/* Source pixels [first, end) that pixel i of the result is made of, around `centre`. */
struct reach {
	int64_t first, end;
	double centre, radius;
};

static struct reach reach_of(const struct side *s, int64_t i)
{
	struct reach r = {.centre = s->begin + ((double)i + 0.5) * s->scale,
		.radius = s->scale > 1 ? s->scale : 1};

	r.first = (int64_t)floor(r.centre - r.radius + 0.5);
	r.end = (int64_t)floor(r.centre + r.radius + 0.5);
	r.first = r.first < 0 ? 0 : r.first;
	r.first = r.first < s->source ? r.first : s->source - 1;
	r.end = r.end < s->source ? r.end : s->source;
	r.end = r.end > r.first ? r.end : r.first + 1;
	return r;
}

static float weight(const struct reach *r, int64_t i)
{
	double w = 1 - fabs((double)i + 0.5 - r->centre) / r->radius;

	return w > 0 ? (float)w : 0.0f;
}

/* Source rows under a pixel of the result, weighted; columns [from, to). */
static void add_rows(const struct sl_image *image, const struct reach *r, int64_t from,
	int64_t to, float *row)
{
	float total = 0;

	memset(row + from * CHANNELS, 0, (size_t)((to - from) * CHANNELS) * sizeof(*row));
	for (int64_t y = r->first; y < r->end; y++) {
		const unsigned char *rgb = image->rgb + y * image->width * CHANNELS;
		float w = weight(r, y);
		for (int64_t i = from * CHANNELS; i < to * CHANNELS; i++)
			row[i] += w * (float)rgb[i];
		total += w;
	}
	for (int64_t i = from * CHANNELS; i < to * CHANNELS; i++)
		row[i] /= total;
}

static void add_columns(const float *row, const struct reach *r, float rgb[CHANNELS])
{
	float total = 0;

	rgb[0] = rgb[1] = rgb[2] = 0;
	for (int64_t x = r->first; x < r->end; x++) {
		float w = weight(r, x);
		for (int k = 0; k < CHANNELS; k++)
			rgb[k] += w * row[x * CHANNELS + k];
		total += w;
	}
	for (int k = 0; k < CHANNELS; k++)
		rgb[k] /= total * 255;
}

size_t sl_image_row_floats(const struct sl_image *image)
{
	return (size_t)image->width * CHANNELS;
}

/* The sides of the crop: the one that is relatively shorter is used whole. */
static void crop(const struct sl_image *image, const struct sl_shape *sample,
	struct side *across, struct side *down)
{
	double w = (double)image->width;
	double h = (double)image->height;
	double scale = fmin(w / (double)sample->dim[2], h / (double)sample->dim[1]);

	*across = (struct side){.source = image->width, .result = sample->dim[2]};
	*down = (struct side){.source = image->height, .result = sample->dim[1]};
	across->scale = down->scale = scale;
	across->begin = (w - scale * (double)sample->dim[2]) / 2;
	down->begin = (h - scale * (double)sample->dim[1]) / 2;
}

void sl_image_fit(const struct sl_image *image, const struct sl_shape *sample,
	const struct sl_image_norm *norm, float *row, float *out)
{
	int64_t plane = sample->dim[1] * sample->dim[2];
	struct side across, down;

	crop(image, sample, &across, &down);
	int64_t from = reach_of(&across, 0).first;
	int64_t to = reach_of(&across, across.result - 1).end;
	for (int64_t i = 0; i < plane; i++) {
		int64_t x = i % across.result;
		float rgb[CHANNELS];
		struct reach r = reach_of(&down, i / across.result);
		if (x == 0)
			add_rows(image, &r, from, to, row);
		r = reach_of(&across, x);
		add_columns(row, &r, rgb);
		if (sample->dim[0] == 1)
			rgb[0] = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
		for (int64_t k = 0; k < sample->dim[0]; k++)
			out[k * plane + i] =
				(rgb[k] - norm->mean[k]) / norm->deviation[k];
	}
}
