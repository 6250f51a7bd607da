/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_DAEMON_H
#define SL_CLI_DAEMON_H

#include "cli.h"
#include "output.h"
#include "sluice/client.h"

/* What the commands about the daemon share. */

#define CLI_SCHEMA 1 /* of their JSON lines; grows when a member changes its meaning */
#define CLI_USER_TEXT 33
#define CLI_TIME_TEXT 16

extern const struct cli_options cli_daemon_options; /* --socket */

/* The name of a user, or the number. */
void cli_user_text(uint32_t user, char text[CLI_USER_TEXT]);
SL_NODISCARD sl_status cli_user_parse(const char *text, uint32_t *out);
SL_NODISCARD sl_status cli_job_parse(const char *text, uint32_t *out);
/* "1h02m", "3m04s", "5.6s" */
void cli_time_text(double s, char text[CLI_TIME_TEXT]);
/* Begins a JSON line with the schema. */
struct sl_json *cli_schema_line(struct cli_line *l, const char *name);

/* What is there at a moment; zeroed: nothing yet. */
struct cli_picture {
	struct sl_daemon_state state;
	struct sl_job_row *jobs;
	size_t n_jobs, cap_jobs;
	struct sl_lane_row *lanes; /* by address */
	size_t n_lanes, cap_lanes;
};
SL_NODISCARD sl_status cli_picture_take(
	struct cli_picture *p, struct sl_daemon *d, bool all);
void cli_picture_finish(struct cli_picture *p);

/* The members of a job and of the whole, in JSON. */
void cli_job_members(struct sl_json *j, const struct sl_job_row *r);
void cli_state_members(struct sl_json *j, const struct sl_daemon_state *s);

/* Waits; false: the program was asked to end. */
bool cli_rest(double s);

#endif
