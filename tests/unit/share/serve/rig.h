/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SERVE_RIG_H
#define SL_TESTS_SERVE_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "harness/harness.h"
#include "share/policy/policy.h"
#include "share/serve/serve.h"
#include "share/sim.h"

/* A daemon on a virtual clock, with peers at the other end of socket pairs. */
#define PAGE 4096u
#define SECOND ((sl_ns)1000000000)

struct rig {
	struct sl_serve_settings *settings;
	struct sl_serve *s;
	sl_ns now, tick; /* tick: passes with each look at the clock */
	char socket[256], log[256];
};

static inline sl_ns rig_clock(void *ctx)
{
	struct rig *r = ctx;

	r->now += r->tick;
	return r->now;
}

static inline void rig_set(struct rig *r, const char *name, const char *value)
{
	sl_assert_ok(sl_serve_settings_set(r->settings, name, value, SL_SERVE_FLAG));
}

/* Settings come before start. */
static inline void rig_init(struct rig *r, const char *budget)
{
	*r = (struct rig){.now = 1000 * SECOND};
	sl_assert_ok(sl_serve_settings_create(&r->settings));
	(void)snprintf(r->socket, sizeof(r->socket), "%s", sl_test_path("d.sock"));
	(void)snprintf(r->log, sizeof(r->log), "%s", sl_test_path("decisions"));
	(void)unlink(r->log);
	(void)unlink(sl_test_path("d.sock.journal"));
	rig_set(r, "socket", r->socket);
	rig_set(r, "log", r->log);
	rig_set(r, "budget", budget);
	sl_assert_ok(sl_fs_write(sl_test_path("sluiced.conf"), "", 0));
	rig_set(r, "config", sl_test_path("sluiced.conf"));
}

static inline sl_status rig_try_start(struct rig *r)
{
	struct sl_serve_options o = {.settings = r->settings,
		.clock = rig_clock,
		.clock_ctx = r,
		.log_fd = getenv("SERVE_LOG") ? 2 : -1};

	return sl_serve_open(&o, &r->s);
}

static inline void rig_start(struct rig *r)
{
	unsetenv("SLUICE_SOCKET");
	sl_assert_ok(sl_serve_settings_load(r->settings));
	sl_assert_ok(rig_try_start(r));
}

/* Until nothing is left to do at this moment. */
static inline void rig_turn(struct rig *r)
{
	for (int i = 0; i < 12; i++) {
		r->now += 1000;
		sl_assert_ok(sl_serve_round(r->s, false));
	}
}

static inline void rig_pass(struct rig *r, sl_ns time)
{
	r->now += time;
	rig_turn(r);
}

/* What was logged decides the same again. */
static inline void rig_replay(struct rig *r)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_log log = {0};

	sl_assert_ok(sl_fs_read(r->log, (size_t)1 << 28, &text));
	sl_assert_ok(sl_log_parse(r->log, text.data, text.len, &log));
	sl_assert_ok(sl_log_replay_with(
		&log, sl_job_policy_find(log.rules.policy), sl_job_policy_find));
	sl_log_finish(&log);
	sl_buf_finish(&text);
}

static inline void rig_stop(struct rig *r)
{
	sl_serve_close(r->s);
	r->s = NULL;
	rig_replay(r);
	sl_serve_settings_destroy(r->settings);
}

/* The daemon dies and another one starts; peers' connections end. */
static inline void rig_restart(struct rig *r)
{
	sl_serve_close(r->s);
	rig_replay(r);
	r->now += SECOND;
	sl_assert_ok(rig_try_start(r));
	rig_turn(r);
}

#endif
