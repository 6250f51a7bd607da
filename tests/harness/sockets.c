/* SPDX-License-Identifier: Apache-2.0 */
/* Socket pairs, and what a hostile peer puts on one. */
#include "harness/sockets.h"

#include "harness/harness.h"

#include <dirent.h>
#include <string.h>
#include <sys/socket.h>

#define MOST 16

void sl_test_sockets(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

int sl_test_open_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n - 3; /* . and .. and the folder itself */
}

void sl_test_send_raw(int to, const void *data, size_t len, int fd, uint32_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MOST * sizeof(int))];
	} control = {0};
	union {
		const void *in;
		void *out;
	} u = {.in = data};
	struct iovec piece = {u.out, len};
	struct msghdr h = {.msg_iov = &piece, .msg_iovlen = 1};
	int fds[MOST];

	assert_in_range(n, 0, MOST);
	for (uint32_t i = 0; i < n; i++)
		fds[i] = fd;
	if (n > 0) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(n * sizeof(int))};
		memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	}
	assert_int_equal(sendmsg(to, &h, MSG_NOSIGNAL), len);
}
