/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the daemon: flag over environment over file over default, with their
 * origin. */
#include "share/serve/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "base/units.h"
#include "share/policy/policy.h"

#define PAGE 4096u
#define FILE_MOST ((size_t)1 << 20)
#define VALUE_MOST 1024
#define SOCKET_MOST 98 /* what a socket's address holds, less ".metrics" */
#define SECOND ((sl_ns)1000000000)

enum type { TEXT, TIME, NUMBER };

struct row {
	const char *name;
	enum type type;
	const char *standard;
	bool reloads;
	const char *value, *summary;
	size_t offset; /* in struct sl_serve_config */
};

static const struct row rows[SL_SETTINGS] = {
#define SL_SETTING(field, type, standard, reloads, value, summary) \
	{#field, type, standard, reloads, value, summary, \
		offsetof(struct sl_serve_config, field)},
#include "share/serve/settings.def"
#undef SL_SETTING
};

struct sl_serve_settings {
	char *values[SL_SETTINGS];
	enum sl_serve_origin origins[SL_SETTINGS];
	struct sl_serve_config config;
};

static const char *const origins[SL_SERVE_ORIGINS] = {
	"default", "file", "environment", "flag"};

const char *sl_serve_setting_at(
	size_t i, const char **value, const char **standard, const char **summary)
{
	if (i >= SL_SETTINGS)
		return NULL;
	if (value)
		*value = rows[i].value;
	if (standard)
		*standard = rows[i].standard;
	if (summary)
		*summary = rows[i].summary;
	return rows[i].name;
}

const struct sl_serve_config *sl_serve_settings_config(const struct sl_serve_settings *s)
{
	return &s->config;
}

enum sl_serve_origin sl_serve_settings_origin(
	const struct sl_serve_settings *s, enum sl_setting_id id)
{
	return s->origins[id];
}

static sl_status apply(struct sl_serve_config *c, size_t id, const char *value)
{
	char *at = (char *)c + rows[id].offset;
	uint64_t number;
	sl_ns time;

	if (rows[id].type == TEXT) {
		memcpy(at, &value, sizeof(value));
		return SL_OK;
	}
	if (rows[id].type == TIME) {
		SL_TRY(sl_time_parse(rows[id].name, value, &time));
		memcpy(at, &time, sizeof(time));
		return SL_OK;
	}
	if (sl_u64_parse(value, &number) != SL_OK || number > 65535)
		return SL_FAIL(SL_E_USAGE, "%s: '%.40s' is no number from 0 to 65535",
			rows[id].name, value);
	memcpy(at, &number, sizeof(number));
	return SL_OK;
}

static sl_status put(struct sl_serve_settings *s, size_t id, const char *value,
	enum sl_serve_origin origin)
{
	char *copy;
	sl_status st;

	if (s->values[id] && origin < s->origins[id])
		return SL_OK;
	if (strlen(value) > VALUE_MOST)
		return SL_FAIL(SL_E_USAGE, "%s: a value has at most %d bytes",
			rows[id].name, VALUE_MOST);
	copy = sl_strdup(value);
	if (!copy)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for settings");
	st = apply(&s->config, id, copy);
	if (st != SL_OK) {
		sl_free(copy);
		return sl_fail_prefix(st, "%s", origins[origin]);
	}
	sl_free(s->values[id]);
	s->values[id] = copy;
	s->origins[id] = origin;
	return SL_OK;
}

sl_status sl_serve_settings_create(struct sl_serve_settings **out)
{
	struct sl_serve_settings *s = sl_calloc(1, sizeof(*s));
	sl_status st = SL_OK;

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for settings");
	for (size_t i = 0; st == SL_OK && i < SL_SETTINGS; i++)
		st = put(s, i, rows[i].standard, SL_SERVE_DEFAULT);
	if (st != SL_OK) {
		sl_serve_settings_destroy(s);
		return st;
	}
	*out = s;
	return SL_OK;
}

void sl_serve_settings_destroy(struct sl_serve_settings *s)
{
	for (size_t i = 0; s && i < SL_SETTINGS; i++)
		sl_free(s->values[i]);
	sl_free(s);
}

/* - and _ are the same in a name. */
static size_t find(const char *name, size_t len)
{
	size_t i, k;

	for (i = 0; i < SL_SETTINGS; i++) {
		const char *own = rows[i].name;

		for (k = 0; k < len && own[k] != '\0'; k++)
			if (own[k] != name[k] && !(own[k] == '_' && name[k] == '-'))
				break;
		if (k == len && own[k] == '\0')
			return i;
	}
	return SL_SETTINGS;
}

sl_status sl_serve_settings_set(struct sl_serve_settings *s, const char *name,
	const char *value, enum sl_serve_origin origin)
{
	size_t id = find(name, strlen(name));

	if (id == SL_SETTINGS)
		return SL_FAIL(SL_E_USAGE, "there is no setting '%.40s'", name);
	return put(s, id, value, origin);
}

static void trim(const char **at, size_t *len)
{
	while (*len > 0 && strchr(" \t\r", **at)) {
		(*at)++;
		(*len)--;
	}
	while (*len > 0 && strchr(" \t\r", (*at)[*len - 1]))
		(*len)--;
}

static sl_status read_line(
	struct sl_serve_settings *s, const char *line, size_t len, bool reload)
{
	const char *equals, *value;
	char text[VALUE_MOST + 1];
	size_t id, value_len;

	trim(&line, &len);
	if (len == 0 || *line == '#')
		return SL_OK;
	equals = memchr(line, '=', len);
	if (!equals)
		return SL_FAIL(SL_E_USAGE, "'%.*s' is not key = value",
			(int)(len < 40 ? len : 40), line);
	value = equals + 1;
	value_len = len - (size_t)(value - line);
	len = (size_t)(equals - line);
	trim(&line, &len);
	trim(&value, &value_len);
	id = find(line, len);
	if (id == SL_SETTINGS || id == SL_SETTING_config)
		return SL_FAIL(SL_E_USAGE, "there is no setting '%.*s'",
			(int)(len < 40 ? len : 40), line);
	if (value_len > VALUE_MOST || memchr(value, '\0', value_len))
		return SL_FAIL(SL_E_USAGE, "%s has no such value", rows[id].name);
	memcpy(text, value, value_len);
	text[value_len] = '\0';
	return reload && !rows[id].reloads ? SL_OK : put(s, id, text, SL_SERVE_FILE);
}

static sl_status read_file(struct sl_serve_settings *s, bool reload)
{
	const char *path = s->config.config;
	struct sl_buf text = SL_BUF_MAX(FILE_MOST);
	sl_status st = sl_fs_read(path, FILE_MOST, &text);
	int line = 1;

	if (st == SL_E_NOT_FOUND && s->origins[SL_SETTING_config] == SL_SERVE_DEFAULT)
		st = SL_OK;
	for (size_t at = 0; st == SL_OK && at < text.len; line++) {
		const char *end = memchr(text.data + at, '\n', text.len - at);
		size_t len = end ? (size_t)(end - text.data) - at : text.len - at;

		st = read_line(s, text.data + at, len, reload);
		if (st != SL_OK)
			st = sl_fail_prefix(st, "%s:%d", path, line);
		at += len + 1;
	}
	sl_buf_finish(&text);
	return st;
}

static sl_status read_environment(struct sl_serve_settings *s)
{
	char name[64];
	const char *value;

	for (size_t i = 0; i < SL_SETTINGS; i++) {
		(void)snprintf(name, sizeof(name), "SLUICED_%s", rows[i].name);
		for (char *c = name; *c != '\0'; c++)
			*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
		value = getenv(name);
		if (value)
			SL_TRY(put(s, i, value, SL_SERVE_ENVIRONMENT));
	}
	return SL_OK;
}

static sl_status choose_socket(struct sl_serve_settings *s)
{
	const char *given = getenv("SLUICE_SOCKET"), *folder = getenv("XDG_RUNTIME_DIR");
	char path[VALUE_MOST];

	if (s->config.socket[0] == '\0' && given && given[0] != '\0')
		SL_TRY(put(s, SL_SETTING_socket, given, SL_SERVE_ENVIRONMENT));
	if (s->config.socket[0] == '\0') {
		if (geteuid() == 0 || !folder || folder[0] == '\0')
			folder = "/run";
		(void)snprintf(path, sizeof(path), "%s/sluice/daemon.sock", folder);
		SL_TRY(put(s, SL_SETTING_socket, path, SL_SERVE_DEFAULT));
	}
	if (strlen(s->config.socket) > SOCKET_MOST)
		return SL_FAIL(SL_E_USAGE,
			"socket: a path has at most %d bytes; choose a shorter one",
			SOCKET_MOST);
	return SL_OK;
}

static sl_status available(uint64_t *out)
{
	static const char key[] = "MemAvailable:";
	char line[128];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && kib == 0 && fgets(line, sizeof(line), f)) {
		char *at = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		at += strspn(at, " ");
		at[strspn(at, "0123456789")] = '\0';
		if (sl_u64_parse(at, &kib) != SL_OK)
			break;
	}
	if (f)
		(void)fclose(f);
	if (kib == 0)
		return SL_FAIL(SL_E_READ,
			"/proc/meminfo does not say how much memory is available; give "
			"the budget as a size");
	*out = kib * 1024;
	return SL_OK;
}

static sl_status find_capacity(const char *budget, uint64_t *out)
{
	size_t len = strlen(budget);
	char number[32];
	uint64_t bytes, all = 0;
	double percent;

	if (len == 0)
		return SL_FAIL(SL_E_USAGE,
			"budget: how many bytes may all jobs have together? Give "
			"--budget "
			"6GiB or --budget 50%%, or set it in the file");
	if (budget[len - 1] != '%') {
		SL_TRY(sl_size_parse("budget", budget, &bytes));
	} else {
		if (len > sizeof(number))
			return SL_FAIL(
				SL_E_USAGE, "budget: '%.20s' is no percentage", budget);
		memcpy(number, budget, len - 1);
		number[len - 1] = '\0';
		if (sl_f64_parse(number, &percent) != SL_OK || !(percent > 0) ||
			percent > 100)
			return SL_FAIL(SL_E_USAGE,
				"budget: '%.20s' is not above 0%% and at most 100%%",
				budget);
		SL_TRY(available(&all));
		bytes = (uint64_t)((double)all * percent / 100);
	}
	bytes -= bytes % PAGE;
	if (bytes == 0 || bytes > (uint64_t)SL_SHARE_MOST)
		return SL_FAIL(SL_E_USAGE,
			"budget: '%.40s' is not from 4096 bytes to 2 EiB", budget);
	*out = bytes;
	return SL_OK;
}

static sl_status check(const struct sl_serve_config *c)
{
	if (!sl_job_policy_find(c->policy))
		return SL_FAIL(SL_E_USAGE,
			"policy: there is no '%.20s'; there are fair fifo pack rr srtf",
			c->policy);
	if (strcmp(c->device, "cpu") != 0)
		return SL_FAIL(SL_E_USAGE,
			"device: '%.20s' cannot be shared in this build; use cpu",
			c->device);
	if (c->turn_timeout <= 0)
		return SL_FAIL(SL_E_USAGE, "turn_timeout: it is above 0");
	if (c->messages_per_second == 0 || c->connections_per_user == 0)
		return SL_FAIL(SL_E_USAGE,
			"messages_per_second, connections_per_user: at least 1");
	return SL_OK;
}

sl_status sl_serve_settings_load(struct sl_serve_settings *s)
{
	SL_TRY(read_environment(s));
	SL_TRY(read_file(s, false));
	SL_TRY(choose_socket(s));
	SL_TRY(check(&s->config));
	return find_capacity(s->config.budget, &s->config.capacity_bytes);
}

/* What the file no longer says has its default again. */
static sl_status reload_into(struct sl_serve_settings *to)
{
	for (size_t i = 0; i < SL_SETTINGS; i++)
		if (rows[i].reloads && to->origins[i] == SL_SERVE_FILE) {
			to->origins[i] = SL_SERVE_DEFAULT;
			SL_TRY(put(to, i, rows[i].standard, SL_SERVE_DEFAULT));
		}
	SL_TRY(read_file(to, true));
	return check(&to->config);
}

sl_status sl_serve_settings_reload(struct sl_serve_settings *s)
{
	struct sl_serve_settings *fresh = NULL;
	struct sl_serve_settings old;
	sl_status st = sl_serve_settings_create(&fresh);

	for (size_t i = 0; st == SL_OK && i < SL_SETTINGS; i++)
		st = put(fresh, i, s->values[i], s->origins[i]);
	if (st == SL_OK)
		st = reload_into(fresh);
	if (st == SL_OK) {
		fresh->config.capacity_bytes = s->config.capacity_bytes;
		old = *s;
		*s = *fresh;
		*fresh = old;
	}
	sl_serve_settings_destroy(fresh);
	return st;
}

sl_status sl_serve_settings_print(const struct sl_serve_settings *s, struct sl_buf *out)
{
	for (size_t i = 0; i < SL_SETTINGS; i++)
		SL_TRY(sl_buf_printf(out, "%s = %s  # %s\n", rows[i].name, s->values[i],
			origins[s->origins[i]]));
	return SL_OK;
}

sl_status sl_serve_settings_show(const struct sl_serve_settings *s)
{
	struct sl_buf text = SL_BUF_INIT;
	sl_status st = sl_serve_settings_print(s, &text);

	if (st == SL_OK && fputs(sl_buf_text(&text), stdout) < 0)
		st = SL_FAIL(SL_E_WRITE, "the settings cannot be printed");
	sl_buf_finish(&text);
	return st;
}
