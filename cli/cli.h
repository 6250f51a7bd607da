/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_CLI_H
#define SL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sluice/job.h"
#include "sluice/memory.h"
#include "sluice/session.h"

/*
 * The command line: one file and one row of commands.def a command; options are rows too,
 * so that parsing, --help, the man page and shell completion come from the same tables.
 */
#define SLUICE_VERSION "0.1.0"
#define CLI_MAX_OPERANDS 8

struct cli_args {
	struct sl_session_config config;
	const char *operands[CLI_MAX_OPERANDS];
	int n_operands;
	bool json, help, quiet, pareto, bash, man;
	const char *output; /* -o */
	const char *input; /* --input */
	const char *schedule;
	const char *replan; /* on, off, drift=X */
	const char *dtype;
	int64_t threads, nodes;
	const char *disk; /* DIR[:SIZE] */
	double valid; /* negative: not given */
	struct sl_planner_device planner;
	struct sl_place_config place;
	struct sl_convert_config convert;
	const char *svg, *html;
	/* shared.c */
	int64_t priority;
	const char *deadline, *allow_slowdown, *daemon_timeout;
	/* calibrate */
	bool quick;
	const char *table; /* of repro salus */
	const char *traces; /* of repro g10 */
	int64_t n_jobs; /* of repro tensile */
	const char *folder;
	/* profile; its trace is events */
	const char *by;
	int64_t top, warmup;
	bool infer;
	/* replay */
	const char *phases, *events, *timeline;
	int64_t iterations;
	bool own_compute, joint;
	const char *duplex;
	/* sim */
	struct sl_sim_config sim;
	const char *record, *decisions;
	/* of the daemon; its socket is config.socket */
	bool all, once, follow;
	double watch_s;
	int64_t last;
	/* ask */
	int64_t count, clients, context, vocab;
	double rate, within_s;
	const char *within;
};

/* REAL and SIZE0 take zero, POSITIVE and SIZE do not: there zero would mean a default. */
enum cli_kind {
	CLI_FLAG,
	CLI_TEXT,
	CLI_COUNT,
	CLI_REAL,
	CLI_POSITIVE,
	CLI_SIZE,
	CLI_SIZE0,
	CLI_BUDGET, /* a size, or a share of the unbudgeted peak */
	CLI_RATE,
	CLI_SEED
};

struct cli_option {
	const char *name; /* without the dashes; one letter means -x */
	const char *value; /* how --help calls its value; NULL for flags */
	enum cli_kind kind;
	size_t offset; /* in struct cli_args */
	const char *help;
};

struct cli_options {
	const struct cli_option *rows;
	size_t n;
};

struct cli_command {
	const char *name;
	const char *operands; /* "MODEL" */
	int min_operands, max_operands;
	const char *summary;
	const char *examples; /* lines, each a command with its meaning after '#' */
	const struct cli_options *const *groups; /* NULL-terminated */
	bool ends_softly; /* the first signal asks for a clean end; else it ends at once
			   */
	sl_status (*run)(struct cli_args *args);
};

#define CLI_COMMAND(name) extern const struct cli_command cli_command_##name;
#include "commands.def"
#undef CLI_COMMAND

const struct cli_command *cli_command_at(size_t i); /* NULL past the end */
const struct cli_command *cli_command_find(const char *name);

/* Option groups shared by commands. */
extern const struct cli_options cli_model_options; /* model, data, optimizer */
extern const struct cli_options cli_memory_options; /* budget, tiers, policy */
extern const struct cli_options
	cli_tier_options; /* rates and sizes of tiers that are not there */
extern const struct cli_options cli_shared_options; /* of jobs with --shared */
extern const struct cli_options cli_output_options; /* --json --quiet --help */

/* Fills args from argv; SL_E_USAGE names the word, and the nearest option there is. */
SL_NODISCARD sl_status cli_parse(
	const struct cli_command *c, int argc, char **argv, struct cli_args *args);
/* What several options together mean: --disk DIR:SIZE, --schedule, conflicts. */
SL_NODISCARD sl_status cli_settle(struct cli_args *args);
/* Of cli_shared_options. */
SL_NODISCARD sl_status cli_settle_shared(struct cli_args *args);
/* "90s", as seconds into *to; nothing for NULL. SL_E_USAGE names the option. */
SL_NODISCARD sl_status cli_time_store(const char *option, const char *text, double *to);
void cli_help(const struct cli_command *c, FILE *out);
void cli_help_all(FILE *out);
/* The whole manual as a roff page, and a bash completion script, from the same tables. */
void cli_man(FILE *out);
void cli_completion(FILE *out);

/* Progress of long work: a line that renews itself for people, plain lines for pipes,
 * JSON lines. */
struct cli_progress {
	bool json, quiet, tty;
	bool open_line; /* the cursor stands behind a line that will be renewed */
	FILE *out;
	int64_t first_step; /* of this run; 0: none yet */
	double started_ms, last_ms; /* when training began and a line was last printed */
	char reason[160]; /* for a wait, as printed last */
};
void cli_progress_init(struct cli_progress *p, const struct cli_args *args);
/* Lines for people go to standard error: standard output holds results. */
void cli_progress_apart(struct cli_progress *p);
struct sl_session_events cli_progress_events(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p); /* ends an open progress line */

/* Set by SIGINT and SIGTERM: end after this step. */
extern volatile sig_atomic_t cli_stop;

#endif
