/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SOCKETS_H
#define SL_TESTS_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

/* Two connected stream sockets; the test fails if there are none. */
void sl_test_sockets(int fds[2]);
/* Open descriptors of this process. */
int sl_test_open_fds(void);
/* Sends bytes as they are, with n copies of fd beside them. */
void sl_test_send_raw(int to, const void *data, size_t len, int fd, uint32_t n);

#endif
