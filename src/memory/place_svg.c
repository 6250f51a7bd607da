/* SPDX-License-Identifier: Apache-2.0 */
/* A placement as a picture: time to the right, addresses upwards, a box a buffer. */
#include "memory/place_csv.h"

#define WIDTH 1200.0
#define HEIGHT 720.0
#define MARGIN 48.0
#define NAMED_WIDTH 7.0 /* of a letter */
#define NAMED_HEIGHT 12.0

struct scale {
	uint32_t from; /* the first time */
	double x, y; /* pixels a time, an address */
};

static double x_of(const struct scale *s, uint64_t time)
{
	return MARGIN + (double)(time - s->from) * s->x;
}

static double y_of(const struct scale *s, uint64_t address)
{
	return MARGIN + HEIGHT - (double)address * s->y;
}

static struct scale make_scale(const struct sl_place_table *t, uint64_t top)
{
	struct scale s = {.from = UINT32_MAX};
	uint32_t to = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct sl_place_item *it = &t->items[i];

		s.from = it->first < s.from ? it->first : s.from;
		to = it->last > to ? it->last : to;
		top = it->offset + it->bytes > top ? it->offset + it->bytes : top;
	}
	if (t->n == 0)
		s.from = 0;
	s.x = WIDTH / ((double)to - s.from + 1);
	s.y = HEIGHT / (top > 0 ? (double)top : 1);
	return s;
}

/* A piece of a life, from `from` to before `to`. */
static sl_status put_piece(const struct sl_place_table *t, const struct scale *s,
	size_t i, uint64_t from, uint64_t to, struct sl_buf *out)
{
	const struct sl_place_item *it = &t->items[i];
	double x = x_of(s, from), w = x_of(s, to) - x;
	double y = y_of(s, it->offset + it->bytes), h = y_of(s, it->offset) - y;

	/* Neighbours in the file differ most: steps of the golden angle. */
	return sl_buf_printf(out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
		"fill=\"hsl(%zu,55%%,%d%%)\"%s/>",
		x, y, w, h, i * 137 % 360, it->fixed ? 45 : 68,
		w > 3 && h > 3 ? " stroke=\"#333\" stroke-width=\"0.5\"" : "");
}

static sl_status put_pieces(const struct sl_place_table *t, const struct scale *s,
	size_t i, struct sl_buf *out)
{
	const struct sl_place_item *it = &t->items[i];
	uint64_t from = it->first;

	for (uint32_t g = 0; g < it->n_gaps; g++) {
		if (it->gaps[g].first > from)
			SL_TRY(put_piece(t, s, i, from, it->gaps[g].first, out));
		from = (uint64_t)it->gaps[g].last + 1;
	}
	return from <= it->last ? put_piece(t, s, i, from, (uint64_t)it->last + 1, out)
				: SL_OK;
}

static sl_status put_box(const struct sl_place_table *t, const struct scale *s, size_t i,
	struct sl_buf *out)
{
	const struct sl_place_item *it = &t->items[i];
	const struct sl_place_row *r = &t->rows[i];
	double x = x_of(s, it->first), w = x_of(s, (uint64_t)it->last + 1) - x;
	double y = y_of(s, it->offset + it->bytes), h = y_of(s, it->offset) - y;
	char id[SL_PLACE_ID_TEXT];
	size_t letters = 0;

	sl_place_table_id(t, i, id);
	while (id[letters])
		letters++;
	SL_TRY(sl_buf_puts(out, "<g>"));
	SL_TRY(put_pieces(t, s, i, out));
	SL_TRY(sl_buf_puts(out, "<title>"));
	SL_TRY(sl_buf_xml(out, id));
	SL_TRY(sl_buf_printf(out, ": %llu bytes at %llu, live [%llu, %llu)%s</title>",
		(unsigned long long)it->bytes, (unsigned long long)it->offset,
		(unsigned long long)r->lower, (unsigned long long)r->upper,
		it->fixed ? ", fixed" : ""));
	if (w > NAMED_WIDTH * (double)letters && h > NAMED_HEIGHT) {
		SL_TRY(sl_buf_printf(out,
			"<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">", x + w / 2,
			y + h / 2 + 4));
		SL_TRY(sl_buf_xml(out, id));
		SL_TRY(sl_buf_puts(out, "</text>"));
	}
	return sl_buf_puts(out, "</g>\n");
}

static sl_status put_level(const struct scale *s, const char *name, uint64_t address,
	const char *colour, struct sl_buf *out)
{
	double y = y_of(s, address);

	return sl_buf_printf(out,
		"<path d=\"M%.0f %.2fH%.0f\" stroke=\"%s\" stroke-dasharray=\"6 4\"/>"
		"<text x=\"%.0f\" y=\"%.2f\" fill=\"%s\">%s %llu</text>\n",
		MARGIN, y, MARGIN + WIDTH, colour, MARGIN + 4, y - 4, colour, name,
		(unsigned long long)address);
}

sl_status sl_place_svg(const struct sl_place_table *t, uint64_t load, uint64_t capacity,
	struct sl_buf *out)
{
	struct scale s = make_scale(t, capacity > load ? capacity : load);

	SL_TRY(sl_buf_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN));
	for (size_t i = 0; i < t->n; i++)
		SL_TRY(put_box(t, &s, i, out));
	SL_TRY(put_level(&s, "load", load, "#06c", out));
	if (capacity > 0)
		SL_TRY(put_level(&s, "capacity", capacity, "#c00", out));
	return sl_buf_printf(out,
		"<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#000\"/>\n"
		"<text x=\"%.0f\" y=\"%.0f\">time</text>\n"
		"<text x=\"%.0f\" y=\"%.0f\">address</text>\n</svg>\n",
		MARGIN, MARGIN, MARGIN + HEIGHT, MARGIN + WIDTH, MARGIN + WIDTH - 24,
		MARGIN + HEIGHT + 16, 4.0, MARGIN - 8);
}
