/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing the command line by the tables, and what options mean together. */
#include "cli.h"

#include <limits.h>
#include <string.h>

#include "base/units.h"

#define ROW(name, value, kind, field, help) \
	{ \
		name, value, CLI_##kind, offsetof(struct cli_args, field), help \
	}
#define REAL_MAX 1e30
#define SIZE_LARGEST ((uint64_t)1 << 60)

#define ROWS(array) \
	{ \
		array, sizeof(array) / sizeof(array[0]) \
	}

static const struct cli_option model_rows[] = {
	ROW("data", "SRC", TEXT, config.data,
		"idx:DIR text:FILE csv:FILE npy:FILE synthetic:SHAPE (default: "
		"synthetic)"),
	ROW("batch", "N", COUNT, config.batch, "samples a step (default: the model's)"),
	ROW("accumulate", "N", COUNT, config.accumulate, "cut each batch into N parts"),
	ROW("steps", "N", COUNT, config.steps, "optimizer steps in all"),
	ROW("epochs", "N", COUNT, config.epochs, "passes over the data (default: 1)"),
	ROW("optim", "NAME", TEXT, config.optim,
		"sgd momentum adam adamw (default: adamw)"),
	ROW("lr", "X", POSITIVE, config.lr, "learning rate (default: 0.001)"),
	ROW("weight-decay", "X", REAL, config.weight_decay,
		"default: 0.01 for adamw, else 0"),
	ROW("clip", "X", POSITIVE, config.clip,
		"largest global gradient norm (default: none)"),
	ROW("schedule", "NAME", TEXT, schedule,
		"constant step cosine (default: constant)"),
	ROW("warmup", "N", COUNT, config.schedule.warmup, "steps of linear warm-up"),
	ROW("period", "N", COUNT, config.schedule.period,
		"steps between drops of `step`"),
	ROW("gamma", "X", REAL, config.schedule.gamma, "factor of a drop (default: 0.1)"),
	ROW("schedule-steps", "N", COUNT, config.schedule.total,
		"where cosine ends (default: the run's last step)"),
	ROW("floor", "X", REAL, config.schedule.floor, "where cosine ends (default: 0)"),
	ROW("freeze", "PREFIX", TEXT, config.freeze, "do not train parameters named so"),
	ROW("seed", "N", SEED, config.seed, "of everything random (default: 0)"),
	ROW("threads", "N", COUNT, threads, "width of running (default: all cores)"),
	ROW("no-dropout", NULL, FLAG, config.no_dropout, "dropout off"),
	ROW("augment", NULL, FLAG, config.augment, "flip and crop images by seed"),
	ROW("valid", "X", REAL, valid,
		"part of the samples to hold out (default: 0.1 of a text, else 0)"),
	ROW("eval", NULL, FLAG, config.eval, "evaluate after each epoch"),
	ROW("eval-steps", "N", COUNT, config.eval_steps, "at most N batches each time"),
	ROW("allow-nan", NULL, FLAG, config.allow_nan,
		"go on when the loss is not finite"),
	ROW("dtype", "NAME", TEXT, dtype,
		"f32, or bf16 with f32 parameters and sums (default: f32)"),
	ROW("save", "FILE", TEXT, config.save_path,
		"checkpoint (safetensors), written whole"),
	ROW("save-every", "N", COUNT, config.save_every, "also every N steps"),
	ROW("resume", "FILE", TEXT, config.resume_path, "continue from a checkpoint"),
	ROW("record", "FILE", TEXT, config.record_path, "write the step's trace"),
};
const struct cli_options cli_model_options = ROWS(model_rows);

static const struct cli_option memory_rows[] = {
	ROW("budget", "SIZE|N%", BUDGET, config.budget_bytes,
		"hard cap of device memory; N% of the unbudgeted peak (default: none)"),
	ROW("host", "SIZE", SIZE0, config.host_bytes, "host tier (default: 0)"),
	ROW("disk", "DIR[:SIZE]", TEXT, disk,
		"disk tier; `none` forbids it (default: $SLUICE_DISK, else /var/tmp)"),
	ROW("policy", "NAME", TEXT, config.policy,
		"see `sluice list policies` (default: auto: joint, without a budget "
		"keep)"),
	ROW("costs", "NAME|FILE", TEXT, config.costs,
		"cost book, see `sluice list costs` (default: $SLUICE_COSTS, else cpu)"),
	ROW("replan", "on|off|drift=X", TEXT, replan,
		"plan again when measured times drift so far (default: drift=0.3)"),
	ROW("plan", "FILE", TEXT, config.plan_path, "run this stored plan"),
	ROW("device", "NAME", TEXT, config.device,
		"see `sluice list devices` (default: cpu)"),
};
const struct cli_options cli_memory_options = ROWS(memory_rows);

static const struct cli_option tier_rows[] = {
	ROW("link", "RATE", RATE, planner.link_bytes_per_s,
		"host link each way (default: 12GB/s)"),
	ROW("disk-rate", "RATE", RATE, planner.disk_bytes_per_s,
		"disk each way (default: 1.7GB/s)"),
	ROW("disk-size", "SIZE", SIZE, planner.disk_bytes,
		"disk tier (default: four times the unbudgeted peak)"),
	ROW("duplex", "full|half", TEXT, duplex,
		"whether both ways share a link (default: full)"),
};
const struct cli_options cli_tier_options = ROWS(tier_rows);

static const struct cli_option output_rows[] = {
	ROW("json", NULL, FLAG, json, "one JSON object a line"),
	ROW("quiet", NULL, FLAG, quiet, "no progress, results only"),
	ROW("help", NULL, FLAG, help, "this text"),
	ROW("h", NULL, FLAG, help, "the same"),
};
const struct cli_options cli_output_options = ROWS(output_rows);

static const struct cli_option *find_row(
	const struct cli_command *c, const char *name, size_t len)
{
	for (size_t g = 0; c->groups[g] != NULL; g++)
		for (size_t i = 0; i < c->groups[g]->n; i++)
			if (strlen(c->groups[g]->rows[i].name) == len &&
				strncmp(c->groups[g]->rows[i].name, name, len) == 0)
				return &c->groups[g]->rows[i];
	return NULL;
}

/* The option with the longest common beginning, for the hint; NULL: none is near. */
static const char *nearest(const struct cli_command *c, const char *name)
{
	const char *best = NULL;
	size_t best_len = 1;

	for (size_t g = 0; c->groups[g] != NULL; g++) {
		for (size_t i = 0; i < c->groups[g]->n; i++) {
			const char *row = c->groups[g]->rows[i].name;
			size_t same = 0;

			while (row[same] != '\0' && row[same] == name[same])
				same++;
			if (same > best_len) {
				best_len = same;
				best = row;
			}
		}
	}
	return best;
}

static sl_status store_count(const struct cli_option *row, const char *text, int64_t *to)
{
	int64_t count;

	if (sl_i64_parse(text, &count) != SL_OK || count < 1 || count > INT32_MAX)
		return SL_FAIL(SL_E_USAGE,
			"--%s '%s' is not a whole number of 1 or more, at most %d",
			row->name, text, INT32_MAX);
	*to = count;
	return SL_OK;
}

static sl_status store_real(const struct cli_option *row, const char *text, double *to)
{
	bool positive = row->kind == CLI_POSITIVE;
	double real;

	if (sl_f64_parse(text, &real) != SL_OK || real < 0 || real > REAL_MAX ||
		(positive && !(real > 0)))
		return SL_FAIL(SL_E_USAGE,
			"--%s '%s' is not a number %s, at most 1e30, such as 0.001",
			row->name, text, positive ? "above zero" : "of zero or more");
	*to = real;
	return SL_OK;
}

static sl_status store_size(const struct cli_option *row, const char *text, uint64_t *to)
{
	uint64_t size;

	SL_TRY(sl_size_parse(row->name, text, &size));
	if (size > SIZE_LARGEST)
		return SL_FAIL(SL_E_USAGE, "--%s %s is over 2^60 bytes (1048576 TiB)",
			row->name, text);
	if (size == 0 && row->kind != CLI_SIZE0)
		return SL_FAIL(SL_E_USAGE,
			"--%s %s leaves nothing; give a size above zero, or leave "
			"--%s out",
			row->name, text, row->name);
	*to = size;
	return SL_OK;
}

/* SIZE, or a share of the peak such as 50% */
static sl_status store_budget(
	const struct cli_option *row, const char *text, struct cli_args *args)
{
	size_t len = strlen(text);
	char number[32];
	double percent = 0;

	args->config.budget_bytes = 0;
	args->config.budget_ratio = 0;
	if (len == 0 || text[len - 1] != '%')
		return store_size(row, text, &args->config.budget_bytes);
	if (len <= sizeof(number)) {
		memcpy(number, text, len - 1);
		number[len - 1] = '\0';
	}
	if (len > sizeof(number) || sl_f64_parse(number, &percent) != SL_OK ||
		!(percent > 0) || percent > 100)
		return SL_FAIL(SL_E_USAGE,
			"--%s %s is no share of the unbudgeted peak; give one above 0%% "
			"and up to 100%%, such as 50%%",
			row->name, text);
	args->config.budget_ratio = percent / 100;
	return SL_OK;
}

static sl_status store(
	const struct cli_option *row, const char *text, struct cli_args *args)
{
	void *to = (char *)args + row->offset;

	switch (row->kind) {
	case CLI_FLAG:
		*(bool *)to = true;
		return SL_OK;
	case CLI_TEXT:
		*(const char **)to = text;
		return text[0] != '\0' ? SL_OK
				       : SL_FAIL(SL_E_USAGE, "--%s is empty", row->name);
	case CLI_SIZE:
	case CLI_SIZE0:
		return store_size(row, text, to);
	case CLI_BUDGET:
		return store_budget(row, text, args);
	case CLI_RATE:
		return sl_rate_parse(row->name, text, to);
	case CLI_SEED:
		if (sl_u64_parse(text, to) != SL_OK)
			return SL_FAIL(SL_E_USAGE,
				"--%s '%s' is not a whole number from 0 to 2^64 - 1",
				row->name, text);
		return SL_OK;
	case CLI_COUNT:
		return store_count(row, text, to);
	case CLI_REAL:
	case CLI_POSITIVE:
		return store_real(row, text, to);
	}
	return SL_OK;
}

static sl_status fail_option(const struct cli_command *c, const char *word)
{
	const char *hint = nearest(c, word + (word[1] == '-' ? 2 : 1));

	return SL_FAIL(SL_E_USAGE, "%s is not an option of %s%s%s%s", word, c->name,
		hint != NULL ? "; did you mean --" : "", hint != NULL ? hint : "",
		hint != NULL ? "?" : "");
}

static sl_status parse_option(
	const struct cli_command *c, int *i, int argc, char **argv, struct cli_args *args)
{
	const char *word = argv[*i];
	const char *name = word + (word[1] == '-' ? 2 : 1);
	const char *equals = strchr(name, '=');
	size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct cli_option *row = find_row(c, name, len);

	if (row == NULL || (len == 1) != (word[1] != '-'))
		return fail_option(c, word);
	if (row->kind == CLI_FLAG) {
		if (equals != NULL)
			return SL_FAIL(SL_E_USAGE, "--%s takes no value", row->name);
		return store(row, "", args);
	}
	if (equals != NULL)
		return store(row, equals + 1, args);
	if (*i + 1 >= argc)
		return SL_FAIL(
			SL_E_USAGE, "--%s needs a value: %s", row->name, row->value);
	(*i)++;
	return store(row, argv[*i], args);
}

sl_status cli_parse(
	const struct cli_command *c, int argc, char **argv, struct cli_args *args)
{
	args->config.weight_decay = -1;
	args->config.schedule.gamma = 0.1;
	args->valid = -1;
	args->sim.max_wait_s = SL_SIM_MAX_WAIT_S;
	for (int i = 0; i < argc; i++) {
		/* -5 is a number. */
		if (argv[i][0] == '-' && argv[i][1] != '\0' &&
			strchr("0123456789", argv[i][1]) == NULL) {
			SL_TRY(parse_option(c, &i, argc, argv, args));
			continue;
		}
		if (args->n_operands == CLI_MAX_OPERANDS ||
			args->n_operands == c->max_operands)
			return SL_FAIL(SL_E_USAGE,
				"'%s' is one operand too many; usage: sluice %s %s",
				argv[i], c->name, c->operands);
		args->operands[args->n_operands++] = argv[i];
	}
	if (!args->help && args->n_operands < c->min_operands)
		return SL_FAIL(SL_E_USAGE, "an operand is missing; usage: sluice %s %s",
			c->name, c->operands);
	return SL_OK;
}

/* DIR, DIR:SIZE or none. */
static sl_status settle_disk(struct cli_args *args)
{
	static char folder[PATH_MAX];
	const char *colon = args->disk != NULL ? strrchr(args->disk, ':') : NULL;

	args->config.disk_folder = args->disk;
	if (colon == NULL)
		return SL_OK;
	SL_TRY(store_size(&(struct cli_option){.name = "disk", .kind = CLI_SIZE},
		colon + 1, &args->config.disk_bytes));
	if (colon == args->disk || (size_t)(colon - args->disk) >= sizeof(folder))
		return SL_FAIL(SL_E_USAGE, "--disk %.80s: the folder's name is %s",
			args->disk, colon == args->disk ? "empty" : "too long");
	memcpy(folder, args->disk, (size_t)(colon - args->disk));
	args->config.disk_folder = folder;
	return SL_OK;
}

static sl_status settle_schedule(struct cli_args *args)
{
	static const char *const names[] = {"constant", "step", "cosine"};
	struct sl_schedule_attr *s = &args->config.schedule;

	for (int i = 0; args->schedule != NULL && i < 3; i++)
		if (strcmp(args->schedule, names[i]) == 0)
			s->kind = i;
	if (args->schedule != NULL && strcmp(args->schedule, names[s->kind]) != 0)
		return SL_FAIL(SL_E_USAGE,
			"--schedule %s is unknown; there are constant, step, cosine",
			args->schedule);
	if (s->kind == SL_SCHEDULE_STEP && s->period == 0)
		return SL_FAIL(SL_E_USAGE,
			"--schedule step needs --period N, the steps between drops");
	return SL_OK;
}

/* on, off, drift=X */
static sl_status settle_replan(struct cli_args *args)
{
	const char *text = args->replan;
	double drift = 0;

	if (text == NULL || strcmp(text, "on") == 0)
		return SL_OK;
	args->config.no_replan = strcmp(text, "off") == 0;
	if (args->config.no_replan)
		return SL_OK;
	if (strncmp(text, "drift=", 6) != 0 || sl_f64_parse(text + 6, &drift) != SL_OK ||
		!(drift > 0) || drift > REAL_MAX)
		return SL_FAIL(SL_E_USAGE,
			"--replan %s: there are on, off and drift=X with X above zero, "
			"such as drift=0.3",
			text);
	args->config.replan_drift = drift;
	return SL_OK;
}

static sl_status settle_duplex(struct cli_args *args)
{
	if (args->duplex == NULL || strcmp(args->duplex, "full") == 0)
		return SL_OK;
	args->planner.half_duplex = true;
	return strcmp(args->duplex, "half") == 0
		       ? SL_OK
		       : SL_FAIL(SL_E_USAGE, "--duplex %s: there are full and half",
				 args->duplex);
}

static sl_status settle_dtype(struct cli_args *args)
{
	if (args->dtype == NULL || strcmp(args->dtype, "f32") == 0)
		return SL_OK;
	if (strcmp(args->dtype, "bf16") != 0)
		return SL_FAIL(SL_E_USAGE,
			"--dtype %s is not in this build; there are f32 and bf16",
			args->dtype);
	args->config.dtype = SL_BF16;
	return SL_OK;
}

static sl_status check_device(const char *name)
{
	const char *known = "cpu";

	for (size_t i = 0; name != NULL && known != NULL; i++) {
		known = sl_device_name_at(i, NULL);
		if (known != NULL && strcmp(name, known) == 0)
			return SL_OK;
	}
	return name == NULL
		       ? SL_OK
		       : SL_FAIL(SL_E_USAGE,
				 "--device %s is unknown; `sluice list devices` lists "
				 "them",
				 name);
}

static sl_status check_tiers(const struct cli_args *args)
{
	const struct sl_session_config *c = &args->config;

	/* A shared job may be given less than it asks for, or be parked. */
	if (c->budget_bytes > 0 || c->budget_ratio > 0 || c->plan_path != NULL ||
		c->shared || (c->host_bytes == 0 && args->disk == NULL))
		return SL_OK;
	return SL_FAIL(SL_E_USAGE, "--host and --disk need a --budget; without "
				   "one nothing leaves the device");
}

sl_status cli_settle(struct cli_args *args)
{
	struct sl_session_config *c = &args->config;

	SL_TRY(settle_disk(args));
	SL_TRY(settle_schedule(args));
	SL_TRY(settle_duplex(args));
	SL_TRY(settle_replan(args));
	SL_TRY(check_device(c->device));
	SL_TRY(settle_dtype(args));
	c->threads = (int)args->threads;
	if (c->steps > 0 && c->epochs > 0)
		return SL_FAIL(
			SL_E_USAGE, "--steps and --epochs exclude each other; give one");
	if (c->save_every > 0 && c->save_path == NULL)
		return SL_FAIL(SL_E_USAGE, "--save-every needs --save FILE");
	if (c->plan_path != NULL && c->policy != NULL)
		return SL_FAIL(
			SL_E_USAGE, "--plan FILE brings its policy; leave --policy out");
	SL_TRY(check_tiers(args));
	if (args->valid >= 1)
		return SL_FAIL(SL_E_USAGE,
			"--valid %g holds everything out; give less than 1", args->valid);
	/* In a session 0 is the default and a negative share is none. */
	c->valid_ratio = args->valid < 0 ? 0 : args->valid > 0 ? args->valid : -1;
	return SL_OK;
}
