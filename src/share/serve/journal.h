/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_JOURNAL_H
#define SL_SHARE_SERVE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "share/wire/proto.h"

/*
 * What a daemon that starts again must know: a text beside the socket, a line for each
 * thing that changed, the last line about a thing counts. Each line ends with a checksum.
 * Written without fsync: it is to outlive the daemon, not the machine, for no job does.
 */
struct sl_journal_job {
	uint32_t id, user, row, lane; /* lane: SL_LANE_NONE unless resident */
	int64_t pid;
	uint64_t pid_start, token_high, token_low;
	uint32_t told, paused, parked;
	uint64_t persistent_bytes, ephemeral_bytes;
	uint64_t turns, used_ns;
	uint64_t page_device, page_inode, part_device, part_inode;
	struct sl_msg_reg asked;
};

struct sl_journal_mem {
	uint32_t lane, user;
	uint64_t device, inode, bytes; /* bytes 0: there is none any more */
};

struct sl_journal_limit {
	uint32_t user;
	uint64_t bytes;
};

struct sl_journal_book {
	char policy[16]; /* that somebody chose while it ran; "": none */
	uint32_t next_job;
	struct sl_journal_job *jobs; /* ids ascending */
	struct sl_journal_mem *mems;
	struct sl_journal_limit *limits;
	size_t n_jobs, n_mems, n_limits, cap_jobs, cap_mems, cap_limits;
	bool torn; /* its last line was not whole, and does not count */
};

/* Lines, whole with their ends. */
SL_NODISCARD sl_status sl_journal_put_head(struct sl_buf *out, uint32_t next_job);
SL_NODISCARD sl_status sl_journal_put_job(
	struct sl_buf *out, const struct sl_journal_job *j);
SL_NODISCARD sl_status sl_journal_put_end(struct sl_buf *out, uint32_t id);
SL_NODISCARD sl_status sl_journal_put_mem(
	struct sl_buf *out, const struct sl_journal_mem *m);
SL_NODISCARD sl_status sl_journal_put_limit(
	struct sl_buf *out, uint32_t user, uint64_t bytes);
SL_NODISCARD sl_status sl_journal_put_policy(struct sl_buf *out, const char *name);

/* SL_E_FORMAT "source:line: what" for anything but such lines; *out is then empty. A
 * last line without its end is what a killed writer leaves: out->torn. */
SL_NODISCARD sl_status sl_journal_parse(
	const char *source, const char *data, size_t len, struct sl_journal_book *out);
void sl_journal_finish(struct sl_journal_book *b);

#endif
