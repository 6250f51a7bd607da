/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal for one command alone, in the sequences that all terminals know. */
#include "screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli.h"
#include "output.h"

#define COLUMNS 100 /* where nobody says */
#define LINES 40
#define SLICE_MS 200

static volatile sig_atomic_t suspend_asked;

static void on_suspend(int sig)
{
	(void)sig;
	suspend_asked = 1;
}

static void on_resize(int sig)
{
	(void)sig; /* it ends the wait: that is all */
}

static void put(const char *text)
{
	fputs(text, stdout);
	(void)fflush(stdout);
}

bool cli_screen_is_there(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDOUT_FILENO) != 0 && kind != NULL && kind[0] != '\0' &&
	       strcmp(kind, "dumb") != 0;
}

void cli_screen_open(struct cli_screen *s)
{
	struct sigaction suspend = {.sa_handler = on_suspend},
			 resize = {.sa_handler = on_resize};

	sigaction(SIGTSTP, &suspend, NULL);
	sigaction(SIGWINCH, &resize, NULL);
	s->keys = tcgetattr(STDIN_FILENO, &s->before) == 0;
	if (s->keys) {
		struct termios raw = s->before;

		/* Ctrl-C and its kin stay signals. */
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	}
	put("\033[?1049h\033[?25l");
	s->open = true;
}

void cli_screen_close(struct cli_screen *s)
{
	if (!s->open)
		return;
	put("\033[0m\033[?25h\033[?1049l");
	if (s->keys)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &s->before);
	s->open = false;
}

void cli_screen_size(int *columns, int *lines)
{
	struct winsize size = {0};
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
		     size.ws_row > 0;

	*columns = known ? size.ws_col : COLUMNS;
	*lines = known ? size.ws_row : LINES;
}

/* One line, cut; returns where the next one begins. */
static sl_status draw_line(const char **text, int columns, struct sl_buf *out)
{
	const char *at = *text;
	int room = columns;

	while (*at != '\0' && *at != '\n') {
		size_t n = 1;
		bool style = at[0] == '\033';

		if (style)
			n = strcspn(at, "m\n") + 1;
		while (!style && ((unsigned char)at[n] & 0xc0) == 0x80)
			n++;
		if (style || room > 0)
			SL_TRY(sl_buf_append(out, at, n));
		room -= !style;
		at += n;
	}
	*text = *at == '\n' ? at + 1 : at;
	return sl_buf_puts(out, "\033[0m\033[K");
}

sl_status cli_screen_draw(const struct cli_screen *s, const char *text)
{
	struct sl_buf out = SL_BUF_INIT;
	sl_status st = SL_OK;
	int columns, lines;

	cli_screen_size(&columns, &lines);
	if (!s->open)
		return SL_OK;
	SL_TRY_OUT(sl_buf_puts(&out, "\033[H"));
	for (int i = 0; i < lines && *text != '\0'; i++) {
		SL_TRY_OUT(sl_buf_puts(&out, i > 0 ? "\r\n" : ""));
		SL_TRY_OUT(draw_line(&text, columns, &out));
	}
	SL_TRY_OUT(sl_buf_puts(&out, "\033[J"));
	SL_TRY_OUT(cli_write("-", &out));
out:
	sl_buf_finish(&out);
	return st;
}

static void suspend(struct cli_screen *s)
{
	suspend_asked = 0;
	cli_screen_close(s);
	(void)raise(SIGSTOP);
	cli_screen_open(s);
}

static enum cli_key read_key(void)
{
	char key = 0;

	if (read(STDIN_FILENO, &key, 1) != 1)
		return CLI_KEY_QUIT; /* the terminal went */
	return key == 'q' || key == 'Q' || key == 4 ? CLI_KEY_QUIT : CLI_KEY_OTHER;
}

enum cli_key cli_screen_wait(struct cli_screen *s, double seconds)
{
	sl_ns end = sl_clock_now() + (sl_ns)((seconds < 1e6 ? seconds : 1e6) * 1e9);
	struct pollfd p = {.fd = s->keys ? STDIN_FILENO : -1, .events = POLLIN};

	for (;;) {
		sl_ns left = end - sl_clock_now();
		int n;

		if (cli_stop != 0)
			return CLI_KEY_STOP;
		if (suspend_asked != 0) {
			suspend(s);
			return CLI_KEY_OTHER;
		}
		if (left <= 0)
			return CLI_KEY_NONE;
		/* In slices: a signal may come just before the wait. */
		n = poll(&p, 1, left < 200000000 ? (int)(left / 1000000) + 1 : SLICE_MS);
		if (n > 0)
			return read_key();
		if (n < 0)
			return cli_stop != 0 ? CLI_KEY_STOP : CLI_KEY_OTHER;
	}
}
