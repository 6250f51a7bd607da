/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a program whose own contracts are broken. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "sluice/status.h"

void sl_bug_at(const char *file, int line, const char *what)
{
	fprintf(stderr, "sluice: bug at %s:%d: %s\n", file, line, what);
	if (sl_last_error()[0])
		fprintf(stderr, "sluice: last error: %s (%s)\n", sl_last_error(),
			sl_last_error_where());
	sl_event_dump();
	fprintf(stderr,
		"sluice: this is a fault of the program, please report it with the "
		"lines above\n");
	abort();
}

void sl_end_now(int code, const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		code = code == 0 ? 1 : code;
	_exit(code);
}
