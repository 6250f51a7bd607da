/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder of frames: what it takes encodes to the same bytes and prints; the first
 * byte says how much is here. And the same bytes through a link, in two pieces. */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "share/wire/link.h"

#define PIECES_MOST 32768

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Frames one after the other; how many messages they hold. */
static int decode_all(const uint8_t *data, size_t size)
{
	struct sl_buf line = SL_BUF_INIT, again = SL_BUF_INIT;
	struct sl_msg m;
	size_t used;
	int n = 0;

	for (;; data += used, size -= used) {
		sl_status st = sl_wire_decode(data, size, &used, &m);

		SL_BUG(used > size);
		if (used == 0)
			break;
		n++;
		if (st != SL_OK)
			continue;
		sl_buf_clear(&again);
		SL_BUG(sl_wire_encode(&m, &again) != SL_OK);
		SL_BUG(again.len != used || memcmp(again.data, data, used) != 0);
		SL_BUG(sl_wire_print(&m, &line) != SL_OK);
	}
	sl_buf_finish(&line);
	sl_buf_finish(&again);
	return n;
}

static int receive_all(struct sl_link *l)
{
	struct sl_msg m;
	bool closed, any = true;
	int n = 0;

	if (sl_link_receive(l, &closed) != SL_OK)
		return 0;
	for (;; n++) {
		sl_status st = sl_link_next(l, &m, &any);

		SL_BUG(st == SL_OK && any && m.number == SL_MSG_NONE);
		if (!any)
			return n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t first = size > 0 ? data[0] : 0;
	struct sl_link *l;
	int fds[2], n;

	if (size < 1 || size > PIECES_MOST)
		return 0;
	data++;
	size--;
	first = first < size ? first : size;
	n = decode_all(data, size);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return 0;
	if (sl_link_create(fds[1], &l) == SL_OK) {
		int got = 0;

		SL_BUG(write(fds[0], data, first) != (ssize_t)first);
		got = receive_all(l);
		SL_BUG(write(fds[0], data + first, size - first) !=
			(ssize_t)(size - first));
		got += receive_all(l);
		/* Descriptors that a head announces did not come: fewer then. */
		SL_BUG(got > n);
		sl_link_destroy(l);
	}
	close(fds[0]);
	return 0;
}
