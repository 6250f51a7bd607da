/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as Prometheus text, on SOCKET.metrics and, if asked for, on the loopback: to
 * who says GET with a head of HTTP, to who just closes its side without.
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"

#define TEXT_MOST ((size_t)8 << 20)
#define SCRAPES 16 /* at a time */
#define SCRAPE_NS ((sl_ns)5 * 1000000000)

/* Who reads them. */
struct sl_srv_scrape {
	struct sl_srv_source source; /* first */
	struct sl_srv_scrape *next;
	struct sl_buf text;
	size_t at;
	sl_ns until_ns;
	bool over;
	struct sl_srv_burial burial;
};

static sl_status head(
	struct sl_buf *out, const char *name, const char *type, const char *help)
{
	return sl_buf_printf(out, "# HELP sluice_%s %s\n# TYPE sluice_%s %s\n", name,
		help, name, type);
}

static sl_status put_whole(struct sl_serve *s, struct sl_buf *out)
{
	const struct sl_lanes *v = &s->share.lanes;
	uint64_t in = s->counts.swap_in, away = s->counts.swap_out, residents = 0;
	size_t n = s->n_jobs;

	for (size_t i = 0; i < n; i++) {
		in += s->jobs[i]->rate.swap_in_bytes;
		away += s->jobs[i]->rate.swap_out_bytes;
		residents += s->jobs[i]->resident;
	}
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{"budget_bytes", "gauge", "Bytes of the device.",
			(double)v->capacity_bytes},
		{"granted_bytes", "gauge", "Persistent parts and lanes together.",
			(double)v->granted_bytes},
		{"largest_free_block_bytes", "gauge", "Bytes in one piece.",
			(double)(v->capacity_bytes - v->granted_bytes)},
		{"jobs", "gauge", "Jobs.", (double)n},
		{"residents", "gauge", "Jobs with memory.", (double)residents},
		{"lanes", "gauge", "Open lanes.", v->open},
		{"uptime_seconds", "gauge", "Since the daemon started.",
			(double)(s->now_ns - s->boot_ns) * 1e-9},
		{"journal_ok", "gauge", "1: a restart would find every job.",
			s->record.ok},
		{"iterations_total", "counter", "Iterations that jobs reported.",
			(double)s->counts.turns},
		{"switches_total", "counter", "Turns given.", (double)s->counts.switches},
		{"client_crashes_total", "counter", "Jobs that ended without saying so.",
			(double)s->counts.crashes},
		{"jobs_lost_total", "counter", "Jobs struck off the list.",
			(double)s->counts.lost},
		{"admission_rejects_total", "counter", "Jobs that can never fit.",
			(double)s->counts.rejects},
		{"messages_total", "counter", "Messages heard.",
			(double)s->counts.messages},
		{"refused_total", "counter", "Messages answered by an error.",
			(double)s->counts.refused},
		{"paused_total", "counter", "Times a connection was above its rate.",
			(double)s->counts.paused},
		{"swap_in_bytes_total", "counter", "Copied from lower tiers.",
			(double)in},
		{"swap_out_bytes_total", "counter", "Copied to lower tiers.",
			(double)away},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SL_TRY(head(out, rows[i].name, rows[i].type, rows[i].help));
		SL_TRY(sl_buf_printf(
			out, "sluice_%s %.17g\n", rows[i].name, rows[i].value));
	}
	return SL_OK;
}

static double resident_bytes(const struct sl_serve *s, const struct sl_srv_job *j)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);

	return j->resident && sj ? (double)sj->persistent_bytes : 0;
}

static double swapped_bytes(const struct sl_serve *s, const struct sl_srv_job *j)
{
	(void)s;
	return (double)j->rate.swapped_bytes;
}

static double iterations(const struct sl_serve *s, const struct sl_srv_job *j)
{
	uint64_t turns, used;

	sl_srv_totals(s, j, &turns, &used);
	return (double)turns;
}

static double used_seconds(const struct sl_serve *s, const struct sl_srv_job *j)
{
	uint64_t turns, used;

	sl_srv_totals(s, j, &turns, &used);
	return (double)used * 1e-9;
}

static double waited_seconds(const struct sl_serve *s, const struct sl_srv_job *j)
{
	return (double)(j->waited_ns < 0 ? s->now_ns - j->arrived_ns : j->waited_ns) *
	       1e-9;
}

static sl_status put_jobs(struct sl_serve *s, struct sl_buf *out)
{
	static const struct {
		const char *name, *type, *help;
		double (*value)(const struct sl_serve *s, const struct sl_srv_job *j);
	} rows[] = {
		{"job_resident_bytes", "gauge", "Persistent part in the device.",
			resident_bytes},
		{"job_swapped_bytes", "gauge", "Bytes in lower tiers.", swapped_bytes},
		{"job_iterations_total", "counter", "Iterations.", iterations},
		{"job_used_seconds_total", "counter", "Service had.", used_seconds},
		{"job_queue_wait_seconds", "gauge", "From its coming to its memory.",
			waited_seconds},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SL_TRY(head(out, rows[i].name, rows[i].type, rows[i].help));
		for (size_t k = 0; k < s->n_jobs; k++)
			SL_TRY(sl_buf_printf(out,
				"sluice_%s{job=\"%u\",user=\"%u\"} %.17g\n", rows[i].name,
				s->jobs[k]->id, s->jobs[k]->user,
				rows[i].value(s, s->jobs[k])));
	}
	return SL_OK;
}

static sl_status put_histogram(struct sl_buf *out, const char *name, const char *help,
	const struct sl_srv_hist *h)
{
	static const double bounds[SL_SRV_BUCKETS] = SL_SRV_BOUNDS;
	uint64_t sum = 0;

	SL_TRY(head(out, name, "histogram", help));
	for (size_t i = 0; i < SL_SRV_BUCKETS; i++) {
		sum += h->counts[i];
		SL_TRY(sl_buf_printf(out, "sluice_%s_bucket{le=\"%g\"} %llu\n", name,
			bounds[i], (unsigned long long)sum));
	}
	sum += h->counts[SL_SRV_BUCKETS];
	return sl_buf_printf(out,
		"sluice_%s_bucket{le=\"+Inf\"} %llu\nsluice_%s_sum "
		"%.17g\nsluice_%s_count "
		"%llu\n",
		name, (unsigned long long)sum, name, h->sum, name,
		(unsigned long long)sum);
}

void sl_srv_observe(struct sl_srv_hist *h, double seconds, uint64_t times)
{
	static const double bounds[SL_SRV_BUCKETS] = SL_SRV_BOUNDS;
	size_t i = 0;

	while (i < SL_SRV_BUCKETS && seconds > bounds[i])
		i++;
	h->counts[i] += times;
	h->sum += seconds * (double)times;
}

sl_status sl_srv_metrics_print(struct sl_serve *s, struct sl_buf *out)
{
	SL_TRY(put_whole(s, out));
	SL_TRY(put_jobs(s, out));
	SL_TRY(put_histogram(out, "iteration_seconds",
		"Length of iterations, the mean of each report.", &s->iterations));
	return put_histogram(out, "queue_wait_seconds",
		"From a job's coming to its memory.", &s->waits);
}

static void finish(struct sl_serve *s, struct sl_srv_scrape *x)
{
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, x->source.fd, NULL);
	x->burial.fds[x->burial.n_fds++] = x->source.fd;
	x->over = true;
}

/* What it says; descriptors that come with it are kept until the end. */
static ssize_t read_request(struct sl_srv_scrape *x, char *text, size_t most)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE((SL_SRV_BURIED - 1) * sizeof(int))];
	} control;
	struct iovec piece = {text, most};
	struct msghdr h = {.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(x->source.fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&h);

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		memcpy(x->burial.fds, CMSG_DATA(c), bytes);
		x->burial.n_fds = (uint32_t)(bytes / sizeof(int));
	}
	return n;
}

static void write_on(struct sl_serve *s, struct sl_srv_scrape *x)
{
	while (x->at < x->text.len) {
		ssize_t n = send(x->source.fd, x->text.data + x->at, x->text.len - x->at,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		x->at += (size_t)n;
	}
	finish(s, x);
}

static void begin(struct sl_serve *s, struct sl_srv_scrape *x, bool http)
{
	struct epoll_event e = {.events = EPOLLOUT, .data.ptr = &x->source};

	x->text.max = TEXT_MOST;
	if ((http && sl_buf_puts(&x->text,
			     "HTTP/1.0 200 OK\r\nContent-Type: text/plain; "
			     "version=0.0.4\r\nConnection: close\r\n\r\n") != SL_OK) ||
		sl_srv_metrics_print(s, &x->text) != SL_OK) {
		finish(s, x);
		return;
	}
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, x->source.fd, &e);
	write_on(s, x);
}

static void on_scrape(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct sl_srv_scrape *x = (struct sl_srv_scrape *)source;
	char text[2048];
	ssize_t n;

	(void)events;
	if (x->over)
		return;
	if (x->text.len > 0) {
		write_on(s, x);
		return;
	}
	n = read_request(x, text, sizeof(text));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		finish(s, x);
	else
		begin(s, x, n >= 4 && memcmp(text, "GET ", 4) == 0);
}

static void on_listen(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct sl_srv_scrape *x, *oldest = NULL;
	size_t n = 0;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	for (x = s->scrapes; x; x = x->next)
		if (!x->over) {
			n++;
			oldest = x;
		}
	x = sl_calloc(1, sizeof(*x));
	if (!x) {
		(void)close(fd);
		return;
	}
	x->source = (struct sl_srv_source){.fd = fd, .on = on_scrape};
	x->until_ns = s->now_ns + SCRAPE_NS;
	x->next = s->scrapes;
	s->scrapes = x;
	/* Who comes and says nothing makes room for who comes after it. */
	if (n >= SCRAPES && oldest)
		finish(s, oldest);
	if (sl_srv_watch(s, &x->source, EPOLLIN) != SL_OK)
		finish(s, x);
}

void sl_srv_metrics_round(struct sl_serve *s)
{
	struct sl_srv_scrape **at = &s->scrapes;

	while (*at) {
		struct sl_srv_scrape *x = *at;

		if (!x->over && s->now_ns >= x->until_ns)
			finish(s, x);
		if (!x->over || !sl_srv_bury(s, &x->burial)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		sl_buf_finish(&x->text);
		sl_free(x);
	}
}

sl_ns sl_srv_metrics_due(const struct sl_serve *s)
{
	sl_ns due = -1;

	for (const struct sl_srv_scrape *x = s->scrapes; x; x = x->next)
		if (!x->over && (due < 0 || x->until_ns < due))
			due = x->until_ns;
	return due;
}

static sl_status listen_on_loopback(struct sl_serve *s, int *out_fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)s->config->metrics_port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, SCRAPES)) {
		sl_status st = SL_FAIL(SL_E_WRITE, "metrics_port %llu: %s",
			(unsigned long long)s->config->metrics_port, strerror(errno));

		sl_fs_close(fd);
		return st;
	}
	*out_fd = fd;
	return SL_OK;
}

sl_status sl_srv_metrics_open(struct sl_serve *s)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s.metrics", s->config->socket);
	s->metrics[0].on = s->metrics[1].on = on_listen;
	SL_TRY(sl_srv_sock_bind(s, path, &s->metrics[0].fd));
	SL_TRY(sl_srv_watch(s, &s->metrics[0], EPOLLIN));
	if (s->config->metrics_port == 0)
		return SL_OK;
	SL_TRY(listen_on_loopback(s, &s->metrics[1].fd));
	return sl_srv_watch(s, &s->metrics[1], EPOLLIN);
}

void sl_srv_metrics_close(struct sl_serve *s)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s.metrics", s->config->socket);
	if (s->metrics[0].fd >= 0)
		(void)unlink(path);
	sl_srv_unwatch(s, &s->metrics[0]);
	sl_srv_unwatch(s, &s->metrics[1]);
	while (s->scrapes) {
		struct sl_srv_scrape *x = s->scrapes;

		s->scrapes = x->next;
		if (!x->over)
			finish(s, x);
		sl_buf_finish(&x->text);
		if (sl_srv_bury_last(&x->burial))
			sl_free(x);
	}
}
