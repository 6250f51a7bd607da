/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_PAGE_INT_H
#define SL_SESSION_PAGE_INT_H

#include "memory/replay.h"
#include "session/planner_int.h"

/* What a page shows of one plan: a steady iteration of its replay. Times from its begin.
 */
enum sl_page_origin { SL_PAGE_BORN, SL_PAGE_CAME_IN, SL_PAGE_AGAIN, SL_PAGE_WORK };

/* A stay on the device. */
struct sl_page_box {
	uint32_t id; /* value; op of a workspace */
	enum sl_page_origin origin;
	uint64_t from_ns, to_ns, offset, bytes;
};

struct sl_page {
	const struct sl_planner *planner;
	const struct sl_plan *plan;
	struct sl_replay_span *spans; /* in the order in which they ended */
	struct sl_page_box *boxes;
	uint64_t *live; /* [n_ops] bytes, if nothing ever left */
	struct sl_plan_wait *waits; /* [n_ops + 1] */
	uint32_t n_spans, n_boxes;
	size_t cap_spans, cap_boxes;
	uint64_t begin_ns; /* of the iteration, in the replay */
	uint64_t iter_ns;
};

/* SL_E_NOMEM. */
SL_NODISCARD sl_status sl_page_gather(
	const struct sl_planner *p, const struct sl_plan *plan, struct sl_page *out);
void sl_page_finish(struct sl_page *g); /* zeroed: fine */

/* Drawings, each an SVG element of its own: bytes by time, addresses by time, what the
 * device and each direction of a link do. */
SL_NODISCARD sl_status sl_page_draw_bytes(const struct sl_page *g, struct sl_buf *out);
SL_NODISCARD sl_status sl_page_draw_places(const struct sl_page *g, struct sl_buf *out);
SL_NODISCARD sl_status sl_page_draw_lanes(const struct sl_page *g, struct sl_buf *out);
/* Step time against budget; at: a budget to mark, with its step. */
SL_NODISCARD sl_status sl_page_draw_front(const struct sl_plan_report *rows, size_t n,
	const struct sl_plan_report *at, struct sl_buf *out);

#endif
