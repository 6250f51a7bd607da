/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_LOG_H
#define SL_SHARE_SERVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"

/*
 * What happens, one JSON object a line on a descriptor, at most some a second: what is
 * left out is counted and said with the next line. Never fails its caller.
 */
struct sl_srv_log {
	int fd; /* -1: nowhere */
	sl_ns now_ns, filled_ns; /* the caller keeps now */
	double tokens;
	uint64_t left_out;
	struct sl_buf text;
	struct sl_json json;
	bool open; /* the line under way is to be written */
};

void sl_srv_log_init(struct sl_srv_log *l, int fd);
void sl_srv_log_finish(struct sl_srv_log *l);
/* Fields go into l->json between the two calls. */
struct sl_json *sl_srv_log_begin(struct sl_srv_log *l, const char *event);
void sl_srv_log_end(struct sl_srv_log *l);
/* A line with a job (UINT32_MAX: none) and a text (NULL: none). */
void sl_srv_log_say(
	struct sl_srv_log *l, const char *event, uint32_t job, const char *text);

#endif
