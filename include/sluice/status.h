/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H

/*
 * Status codes, one table for codes, names, exit codes and sentences.
 *
 * Every function that can fail returns sl_status. The reason is recorded once, where it
 * happens, in a thread-local message that sl_last_error() reads. `sluice list errors`
 * prints this table.
 */

/* X(suffix, exit code of the program, sentence) */
#define SL_STATUS_TABLE(X) \
	X(OK, 0, "done") \
	X(E_NO, 1, "a check or comparison said no") \
	X(E_USAGE, 2, "wrong use of the command line or of an option") \
	X(E_INVALID, 2, "an argument is out of its range") \
	X(E_SHAPE, 2, "shapes do not fit together") \
	X(E_DTYPE, 2, "an element type does not fit") \
	X(E_UNSUPPORTED, 2, "this build cannot do that") \
	X(E_INFEASIBLE, 3, "the budget is below the least one that works") \
	X(E_NOMEM_DEVICE, 3, "the device arena cannot hold a request") \
	X(E_NOT_FOUND, 4, "an input is missing") \
	X(E_READ, 4, "an input cannot be read") \
	X(E_FORMAT, 4, "an input is malformed") \
	X(E_LIMIT, 4, "an input is larger than a stated limit") \
	X(E_LOST, 5, "the device or a peer is lost") \
	X(E_BUSY, 5, "the device or a peer is busy") \
	X(E_WRITE, 6, "an output cannot be written") \
	X(E_NOSPACE, 6, "no space is left") \
	X(E_IO, 6, "reading back or writing failed") \
	X(E_NOMEM, 6, "the host is out of memory") \
	X(E_NUMERIC, 7, "a value is NaN or infinite") \
	X(E_INTERRUPTED, 130, "interrupted")

typedef enum sl_status {
#define X(name, exit_code, text) SL_##name,
	SL_STATUS_TABLE(X)
#undef X
		SL_STATUS_COUNT
} sl_status;

#define SL_NODISCARD __attribute__((warn_unused_result))
#define SL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* "SL_E_SHAPE"; an unknown code gives "SL_E_UNKNOWN". */
const char *sl_status_name(sl_status st);
/* The table's sentence. */
const char *sl_status_text(sl_status st);
/* The program's exit code. */
int sl_status_exit_code(sl_status st);

/* The message of this thread's last failure; "" if there was none. Valid until the next
 * one. */
const char *sl_last_error(void);
/* "file.c:123" of the last failure. */
const char *sl_last_error_where(void);

/* Records a failure and returns its code; use SL_FAIL. */
sl_status sl_fail_at(sl_status st, const char *file, int line, const char *fmt, ...)
	SL_PRINTF(4, 5);
/* Puts "prefix: " before the recorded message, so that callers can say whose failure it
 * was. */
sl_status sl_fail_prefix(sl_status st, const char *fmt, ...) SL_PRINTF(2, 3);

#define SL_FAIL(code, ...) sl_fail_at((code), __FILE__, __LINE__, __VA_ARGS__)

/* Forwards a failure. */
#define SL_TRY(expr) \
	do { \
		sl_status sl_try_status = (expr); \
		if (sl_try_status != SL_OK) \
			return sl_try_status; \
	} while (0)

/* Forwards a failure through a local `st` and the label `out`. */
#define SL_TRY_OUT(expr) \
	do { \
		st = (expr); \
		if (st != SL_OK) \
			goto out; \
	} while (0)

#endif
