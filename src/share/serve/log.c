/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's log: a JSON object a line, rate limited. */
#include "share/serve/log.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define BURST 400.0
#define PER_SECOND 100.0
#define LINE_MOST 4096

void sl_srv_log_init(struct sl_srv_log *l, int fd)
{
	*l = (struct sl_srv_log){
		.fd = fd, .tokens = BURST, .text = SL_BUF_MAX(LINE_MOST)};
}

void sl_srv_log_finish(struct sl_srv_log *l)
{
	sl_buf_finish(&l->text);
}

struct sl_json *sl_srv_log_begin(struct sl_srv_log *l, const char *event)
{
	if (l->now_ns > l->filled_ns)
		l->tokens += (double)(l->now_ns - l->filled_ns) * 1e-9 * PER_SECOND;
	l->filled_ns = l->now_ns;
	l->tokens = l->tokens > BURST ? BURST : l->tokens;
	l->open = l->fd >= 0 && l->tokens >= 1;
	if (l->open)
		l->tokens -= 1;
	else
		l->left_out++;
	sl_buf_clear(&l->text);
	sl_json_begin(&l->json, &l->text);
	sl_json_open(&l->json, NULL, '{');
	sl_json_f64(&l->json, "t", (double)l->now_ns * 1e-9);
	sl_json_str(&l->json, "event", event);
	return &l->json;
}

void sl_srv_log_end(struct sl_srv_log *l)
{
	struct pollfd room = {.fd = l->fd, .events = POLLOUT};
	ssize_t n;

	if (l->open && l->left_out > 0)
		sl_json_u64(&l->json, "left_out", l->left_out);
	sl_json_close(&l->json, '}');
	if (sl_json_end(&l->json) != SL_OK || !l->open)
		return;
	/* A reader that is slow must not stop the daemon: a pipe that has room takes a
	 * line of at most PIPE_BUF at once. */
	if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) {
		l->left_out++;
		return;
	}
	do
		n = write(l->fd, l->text.data, l->text.len);
	while (n < 0 && errno == EINTR);
	l->left_out = 0;
}

void sl_srv_log_say(
	struct sl_srv_log *l, const char *event, uint32_t job, const char *text)
{
	struct sl_json *j = sl_srv_log_begin(l, event);

	if (job != UINT32_MAX)
		sl_json_u64(j, "job", job);
	if (text)
		sl_json_str(j, "text", text);
	sl_srv_log_end(l);
}
