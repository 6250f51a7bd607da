/* SPDX-License-Identifier: Apache-2.0 */
/* sluice: picks the command, maps its status to the exit code, prints its error once. */
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_stop;

static const struct cli_command *const commands[] = {
#define CLI_COMMAND(name) &cli_command_##name,
#include "commands.def"
#undef CLI_COMMAND
};

const struct cli_command *cli_command_at(size_t i)
{
	return i < sizeof(commands) / sizeof(commands[0]) ? commands[i] : NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; cli_command_at(i) != NULL; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* The first signal asks for a clean end, the second one ends at once. */
static void on_signal(int sig)
{
	if (cli_stop != 0)
		_exit(128 + sig);
	cli_stop = 1;
}

/* Nothing would be lost: there is no clean end to wait for. */
static void on_signal_at_once(int sig)
{
	(void)sig;
	_exit(sl_status_exit_code(SL_E_INTERRUPTED));
}

static void catch_signals(bool softly)
{
	/* Without SA_RESTART a line to a slow reader would be torn. */
	struct sigaction action = {
		.sa_handler = softly ? on_signal : on_signal_at_once,
		.sa_flags = SA_RESTART,
	};
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* A closed terminal, unless nohup said that it does not matter. */
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

/* A descriptor that the caller closed would be given to the next file, and text for
 * people would be printed into it. */
static void keep_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			_exit(sl_status_exit_code(SL_E_IO));
}

static int finish(const struct cli_command *c, sl_status st)
{
	bool lost = fflush(stdout) != 0 || ferror(stdout) != 0;

	if (st == SL_OK && lost)
		st = SL_FAIL(SL_E_WRITE, "cannot write to standard output");
	if (st == SL_OK)
		return 0;
	if (st != SL_E_INTERRUPTED || sl_last_error()[0] != '\0')
		fprintf(stderr, "sluice%s%s: %s\n", c != NULL ? " " : "",
			c != NULL ? c->name : "", sl_last_error());
	if (st == SL_E_USAGE && c != NULL)
		fprintf(stderr, "Try `sluice %s --help`.\n", c->name);
	return sl_status_exit_code(st);
}

static sl_status run(const struct cli_command *c, int argc, char **argv)
{
	static struct cli_args args; /* large; zeroed */

	SL_TRY(cli_parse(c, argc, argv, &args));
	if (args.help) {
		cli_help(c, stdout);
		return SL_OK;
	}
	SL_TRY(cli_settle(&args));
	args.config.stop = &cli_stop;
	return c->run(&args);
}

int main(int argc, char **argv)
{
	const struct cli_command *c;

	keep_standard_files();
	catch_signals(false);
	if (argc < 2) {
		cli_help_all(stderr);
		return sl_status_exit_code(SL_E_USAGE);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("sluice " SLUICE_VERSION);
		return finish(NULL, SL_OK);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		cli_help_all(stdout);
		return finish(NULL, SL_OK);
	}
	c = cli_command_find(argv[1]);
	if (c == NULL)
		return finish(NULL,
			SL_FAIL(SL_E_USAGE,
				"there is no command '%s'; `sluice help` lists them",
				argv[1]));
	catch_signals(c->ends_softly);
	return finish(c, run(c, argc - 2, argv + 2));
}
