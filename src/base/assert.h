/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_ASSERT_H
#define SL_BASE_ASSERT_H

#include "base/compiler.h"

/*
 * SL_ASSERT: a contract between our own functions; checked unless NDEBUG is defined.
 * SL_BUG: continuing would corrupt data; always checked; prints, dumps the event ring,
 * aborts. Neither is for what a user, a file or a peer got wrong: that is a status.
 */
SL_NORETURN void sl_bug_at(const char *file, int line, const char *what);

/* Ends the process at once, with a text on standard error: in a signal handler, where
 * nothing else is possible. */
SL_NORETURN void sl_end_now(int code, const char *text);

#define SL_BUG(cond) \
	do { \
		if (SL_UNLIKELY(cond)) \
			sl_bug_at(__FILE__, __LINE__, #cond); \
	} while (0)

#ifdef NDEBUG
#define SL_ASSERT(cond) ((void)sizeof(cond))
#else
#define SL_ASSERT(cond) SL_BUG(!(cond))
#endif

#endif
