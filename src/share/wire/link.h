/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_WIRE_LINK_H
#define SL_SHARE_WIRE_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "share/wire/proto.h"

/*
 * One end of a stream socket (AF_UNIX) that carries messages: a descriptor with a buffer
 * each way, both with a most. No call but sl_link_wait() blocks.
 *
 * 1. Descriptors that came belong to the frame whose head counts them. Those of the
 * latest message stay the link's until taken; the next call of sl_link_next() and destroy
 *    close them. More or fewer than the heads say is the end of the stream.
 * 2. After SL_E_LOST, SL_E_LIMIT or a failure that sl_link_next() says is final the link
 *    is only good for destroying; what was received before can still be read.
 * 3. One thread may send and flush while another receives; else one thread uses a link.
 */
struct sl_link;

#define SL_LINK_MOST (SL_WIRE_MOST + SL_WIRE_HEAD)
#define SL_LINK_FRAMES_WITH_FDS 256 /* most queued frames that carry descriptors */

/* Takes fd (also when it fails). Until sl_link_limit() both buffers hold SL_LINK_MOST. */
SL_NODISCARD sl_status sl_link_create(int fd, struct sl_link **out);
void sl_link_destroy(struct sl_link *l); /* closes everything; NULL is fine */
/* Most bytes of a frame that is received, its head included, and of what may wait to be
 * sent. A frame above in_most is SL_E_LIMIT as soon as its head is here. */
void sl_link_limit(struct sl_link *l, size_t in_most, size_t out_most);
/* Descriptors that are not shared memory end the stream. */
void sl_link_take_memory_only(struct sl_link *l);
/* Whether destroying it may wait for others: a descriptor that came, or lies unread, may
 * be of a socket that lingers or of a file system whose server does not answer. */
bool sl_link_may_block(const struct sl_link *l);
int sl_link_fd(const struct sl_link *l); /* borrowed, for poll */

/*
 * Queues a message; its descriptors are duplicated, the caller keeps its own. Nothing is
 * queued after a failure: SL_E_LIMIT when the peer does not read and the buffer is full,
 * the codes of sl_wire_encode(), SL_E_NOMEM (also: no descriptor is free).
 */
SL_NODISCARD sl_status sl_link_send(struct sl_link *l, const struct sl_msg *m);
/* Sends what the socket takes; *out_empty: nothing is left. SL_E_LOST: the peer is gone;
 * SL_E_BUSY: too many descriptors are in flight, try again later. */
SL_NODISCARD sl_status sl_link_flush(struct sl_link *l, bool *out_empty);
size_t sl_link_queued(const struct sl_link *l); /* bytes that wait to be sent */
size_t sl_link_kept(const struct sl_link *l); /* bytes of both buffers */

/* Reads what is there, as far as the buffer goes. *out_closed: the peer hung up; what
 * came before it can still be read. */
SL_NODISCARD sl_status sl_link_receive(struct sl_link *l, bool *out_closed);
/*
 * The next whole message; *out_any false: there is none yet. What out borrows lives until
 * the next call of this or of sl_link_receive().
 *
 * A failure with *out_any true is of that message alone (codes, and what of out is
 * filled: sl_wire_decode()), and the next call goes on behind it. With *out_any false it
 * is final.
 */
SL_NODISCARD sl_status sl_link_next(struct sl_link *l, struct sl_msg *out, bool *out_any);
/* The i-th descriptor of the latest message, the caller's from now on; -1: none. */
int sl_link_take(struct sl_link *l, uint32_t i);

/* Waits until something can be received, or also sent if something is queued, or the
 * peer is gone; SL_E_BUSY after timeout_ns (negative: never). SL_E_INTERRUPTED by a
 * signal. */
SL_NODISCARD sl_status sl_link_wait(struct sl_link *l, sl_ns timeout_ns);
/* Blocking conveniences of one thread. The message is sent whole, */
SL_NODISCARD sl_status sl_link_put(
	struct sl_link *l, const struct sl_msg *m, sl_ns timeout_ns);
/* and the next one awaited: SL_E_LOST when the peer is gone, SL_E_BUSY after the time. */
SL_NODISCARD sl_status sl_link_get(
	struct sl_link *l, struct sl_msg *out, sl_ns timeout_ns);

#endif
