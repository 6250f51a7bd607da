/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_CONFIG_H
#define SL_SHARE_SERVE_CONFIG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "sluice/serve.h"

enum sl_setting_id {
#define SL_SETTING(field, ...) SL_SETTING_##field,
#include "share/serve/settings.def"
#undef SL_SETTING
	SL_SETTINGS
};

/* Texts, times in nanoseconds, numbers; checked. */
struct sl_serve_config {
	const char *config, *socket, *device, *budget, *policy, *log,
		*group; /* borrowed */
	sl_ns max_wait, quantum, turn_timeout, grace;
	uint64_t lanes, metrics_port, connections_per_user, jobs_per_user,
		messages_per_second;
	uint64_t capacity_bytes; /* of budget; a whole number of pages */
};

const struct sl_serve_config *sl_serve_settings_config(const struct sl_serve_settings *s);
/* The file anew, for the settings that may change while running. On failure all are as
 * before. */
SL_NODISCARD sl_status sl_serve_settings_reload(struct sl_serve_settings *s);
enum sl_serve_origin sl_serve_settings_origin(
	const struct sl_serve_settings *s, enum sl_setting_id id);

#endif
