/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced: reads its settings and serves one device to many jobs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/serve.h"

#define VERSION "0.1.0"

static void help(void)
{
	const char *value, *standard, *summary, *name;
	char flag[64];

	(void)puts("Usage: sluiced --budget SIZE|PERCENT [settings]\n\n"
		   "Shares one device among jobs that `sluice train --shared` and others "
		   "start.\n");
	for (size_t i = 0;
		(name = sl_serve_setting_at(i, &value, &standard, &summary)) != NULL;
		i++) {
		(void)snprintf(flag, sizeof(flag), "--%s %s", name, value);
		for (char *c = flag; *c != '\0'; c++)
			if (*c == '_')
				*c = '-';
		(void)printf("  %-30s %s%s%s%s\n", flag, summary,
			standard[0] != '\0' ? " (" : "", standard,
			standard[0] != '\0' ? ")" : "");
	}
	(void)puts("  --check-config                 print each setting and where it is "
		   "from, "
		   "and end\n"
		   "  --help, --version\n\n"
		   "A flag wins over SLUICED_NAME in the environment, that over name = "
		   "value "
		   "in the\nfile, that over the default. SIGHUP reads the file again; "
		   "SIGTERM "
		   "ends, and jobs wait\nfor the next daemon.\n\n"
		   "Examples:\n"
		   "  sluiced --budget 6GiB\n"
		   "  sluiced --budget 50% --policy srtf --socket /tmp/s.sock\n"
		   "  sluiced --budget 1GiB --log decisions.txt; sluice sim --decisions "
		   "decisions.txt");
}

static int fail(sl_status st)
{
	(void)fprintf(stderr, "sluiced: %s\n", sl_last_error());
	return sl_status_exit_code(st);
}

struct flags {
	bool help, version, check, worker;
};

/* "--name value" and "--name=value". */
static sl_status read_setting(struct sl_serve_settings *s, char **argv, int *i)
{
	char name[64];
	const char *at = argv[*i] + 2, *equals = strchr(at, '=');
	size_t len = equals ? (size_t)(equals - at) : strlen(at);

	if (strncmp(argv[*i], "--", 2) != 0 || len >= sizeof(name))
		return SL_FAIL(
			SL_E_USAGE, "'%.40s' is no flag; see sluiced --help", argv[*i]);
	memcpy(name, at, len);
	name[len] = '\0';
	if (!equals && !argv[*i + 1])
		return SL_FAIL(SL_E_USAGE, "--%s wants a value", name);
	return sl_serve_settings_set(
		s, name, equals ? equals + 1 : argv[++*i], SL_SERVE_FLAG);
}

static sl_status read_flags(struct sl_serve_settings *s, char **argv, struct flags *f)
{
	const struct {
		const char *name;
		bool *on;
	} own[] = {{"--help", &f->help}, {"-h", &f->help}, {"--version", &f->version},
		{"--check-config", &f->check}, {"--worker", &f->worker}};

	for (int i = 1; argv[i]; i++) {
		size_t k = 0;

		while (k < sizeof(own) / sizeof(own[0]) &&
			strcmp(argv[i], own[k].name) != 0)
			k++;
		if (k < sizeof(own) / sizeof(own[0]))
			*own[k].on = true;
		else
			SL_TRY(read_setting(s, argv, &i));
	}
	return SL_OK;
}

static sl_status run(struct sl_serve_settings *s, char **argv)
{
	struct flags f = {0};

	SL_TRY(read_flags(s, argv, &f));
	if (f.help) {
		help();
		return SL_OK;
	}
	if (f.version) {
		(void)puts("sluiced " VERSION);
		return SL_OK;
	}
	if (f.worker)
		return sl_serve_worker();
	SL_TRY(sl_serve_settings_load(s));
	return f.check ? sl_serve_settings_show(s) : sl_serve_run(s);
}

int main(int argc, char **argv)
{
	struct sl_serve_settings *s = NULL;
	sl_status st;

	(void)argc;
	/* A descriptor that the caller closed would be given to the socket. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return sl_status_exit_code(SL_E_IO);
	st = sl_serve_settings_create(&s);
	if (st == SL_OK)
		st = run(s, argv);
	sl_serve_settings_destroy(s);
	if (st != SL_OK)
		return fail(st);
	return fflush(stdout) ? sl_status_exit_code(SL_E_WRITE) : 0;
}
