/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and the thread-local message of the last failure. */
#include "sluice/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

#define MESSAGE_BYTES 1024
#define WHERE_BYTES 96

struct row {
	const char *name;
	int exit_code;
	const char *text;
};

static const struct row rows[SL_STATUS_COUNT] = {
#define X(name, exit_code, text) {"SL_" #name, exit_code, text},
	SL_STATUS_TABLE(X)
#undef X
};

static SL_THREAD char message[MESSAGE_BYTES];
static SL_THREAD char where[WHERE_BYTES];

static const struct row *row_of(sl_status st)
{
	static const struct row unknown = {"SL_E_UNKNOWN", 6, "an unknown failure"};

	if ((unsigned)st >= SL_STATUS_COUNT)
		return &unknown;
	return &rows[st];
}

const char *sl_status_name(sl_status st)
{
	return row_of(st)->name;
}

const char *sl_status_text(sl_status st)
{
	return row_of(st)->text;
}

int sl_status_exit_code(sl_status st)
{
	return row_of(st)->exit_code;
}

const char *sl_last_error(void)
{
	return message;
}

const char *sl_last_error_where(void)
{
	return where;
}

/* A message that did not fit ends in "..." so that nobody takes it for the whole. */
static void mark_cut(char text[MESSAGE_BYTES], int wanted)
{
	if (wanted >= MESSAGE_BYTES)
		memcpy(text + MESSAGE_BYTES - 4, "...", 4);
}

/* Messages quote files and command lines; their control characters would command a
 * terminal. */
static void disarm(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

sl_status sl_fail_at(sl_status st, const char *file, int line, const char *fmt, ...)
{
	/* Formatted aside first: the arguments may quote sl_last_error(). */
	char text[MESSAGE_BYTES];
	const char *base = strrchr(file, '/');
	va_list args;

	va_start(args, fmt);
	int wanted = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (wanted < 0)
		text[0] = '\0';
	mark_cut(text, wanted);
	disarm(text);
	memcpy(message, text, sizeof(message));
	snprintf(where, sizeof(where), "%s:%d", base ? base + 1 : file, line);
	return st;
}

sl_status sl_fail_prefix(sl_status st, const char *fmt, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;

	va_start(args, fmt);
	int used = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (used < 0)
		return st;
	if (used < MESSAGE_BYTES)
		used += snprintf(
			text + used, sizeof(text) - (size_t)used, ": %s", message);
	mark_cut(text, used);
	disarm(text);
	memcpy(message, text, sizeof(message));
	return st;
}
