/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_STREAM_H
#define SL_DATA_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/* Reading a file from its beginning, gunzipped on the way if it is a gzip file. */
struct sl_stream;
SL_NODISCARD sl_status sl_stream_open(const char *path, bool gz, struct sl_stream **out);
/* Fills data unless the file ends: then *got is less than len. Damaged or cut gzip data
 * is SL_E_FORMAT with the place. */
SL_NODISCARD sl_status sl_stream_read(
	struct sl_stream *s, void *data, size_t len, size_t *got);
uint64_t sl_stream_file_bytes(const struct sl_stream *s); /* as stored */
void sl_stream_close(struct sl_stream *s);

/* Appending to a scratch file in large pieces. The descriptor stays the caller's. */
struct sl_spool {
	int fd;
	uint64_t at; /* bytes written */
	size_t used; /* bytes waiting in buf */
	char *buf;
};
SL_NODISCARD sl_status sl_spool_init(struct sl_spool *s, int fd);
SL_NODISCARD sl_status sl_spool_put(struct sl_spool *s, const void *data, size_t len);
SL_NODISCARD sl_status sl_spool_flush(struct sl_spool *s);
void sl_spool_finish(struct sl_spool *s); /* zeroed objects are fine */

#endif
