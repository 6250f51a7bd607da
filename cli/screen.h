/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_SCREEN_H
#define SL_CLI_SCREEN_H

#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"

/*
 * A terminal that a command has for itself: the other screen, no echo, keys as they are
 * pressed. Closing gives it back as it was; so does suspending, for as long as it lasts.
 */
struct cli_screen {
	bool open, keys; /* keys: standard input is a terminal too */
	struct termios before;
};

enum cli_key { CLI_KEY_NONE, CLI_KEY_QUIT, CLI_KEY_OTHER, CLI_KEY_STOP };

/* Whether standard output is a terminal that can be drawn on. */
bool cli_screen_is_there(void);
void cli_screen_open(struct cli_screen *s);
void cli_screen_close(struct cli_screen *s); /* any time, also twice */
void cli_screen_size(int *columns, int *lines);
/* Draws lines of text from the top, each cut to the screen; what began with "\033[" and
 * ends with 'm' takes no room. */
SL_NODISCARD sl_status cli_screen_draw(const struct cli_screen *s, const char *text);
/* Waits for a key; STOP: the program was asked to end; NONE: the time is over. */
enum cli_key cli_screen_wait(struct cli_screen *s, double seconds);

#endif
