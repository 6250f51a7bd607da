/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_SERVE_H
#define SLUICE_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/status.h"

/*
 * The daemon: one device for many jobs, one thread, one event loop. It admits jobs, hands
 * out lanes' memory and turns (include/sluice/job.h names the policies), and never maps a
 * job's memory. From one thread.
 */
struct sl_buf;
struct sl_serve_settings;

/* Where a setting's value is from; a later one wins. */
enum sl_serve_origin {
	SL_SERVE_DEFAULT,
	SL_SERVE_FILE,
	SL_SERVE_ENVIRONMENT,
	SL_SERVE_FLAG,
	SL_SERVE_ORIGINS
};

/* Names of settings: a flag is --max-wait, a variable SLUICED_MAX_WAIT, a key of the file
 * max_wait. NULL past the end. Borrowed for ever; all but name may be NULL. */
const char *sl_serve_setting_at(
	size_t i, const char **value, const char **standard, const char **summary);

SL_NODISCARD sl_status sl_serve_settings_create(struct sl_serve_settings **out);
/* SL_E_USAGE names the setting and what is accepted. */
SL_NODISCARD sl_status sl_serve_settings_set(struct sl_serve_settings *s,
	const char *name, const char *value, enum sl_serve_origin origin);
/* Reads the environment, then the file of the setting `config` (a missing one is an error
 * only where somebody named it), then fills in what depends on others. */
SL_NODISCARD sl_status sl_serve_settings_load(struct sl_serve_settings *s);
/* A line a setting: name = value, and where it is from. */
SL_NODISCARD sl_status sl_serve_settings_print(
	const struct sl_serve_settings *s, struct sl_buf *out);
/* The same on stdout. */
SL_NODISCARD sl_status sl_serve_settings_show(const struct sl_serve_settings *s);
void sl_serve_settings_destroy(struct sl_serve_settings *s);

/*
 * Serves until SIGTERM or SIGINT; SIGHUP reads the file again. SL_E_BUSY: another daemon
 * has the socket. Blocks those signals in the calling thread, ignores SIGPIPE and
 * SIGXFSZ.
 */
SL_NODISCARD sl_status sl_serve_run(struct sl_serve_settings *s);

/* What a daemon runs as a child of its own to plan for all jobs at once: limits its own
 * memory and time, then reads traces from and writes plans to the descriptors it got. */
SL_NODISCARD sl_status sl_serve_worker(void);

#endif
