/* SPDX-License-Identifier: Apache-2.0 */
/* One thread sends on a link while another receives on it; for the thread sanitizer too.
 */
#include "harness/harness.h"

#include <pthread.h>
#include <unistd.h>

#include "harness/sockets.h"
#include "share/wire/link.h"

#define MESSAGES 2000u

struct reader {
	struct sl_link *link;
	uint32_t seen;
	uint32_t fds;
};

/* In order, and every tenth with a descriptor. */
static void *read_all(void *ctx)
{
	struct reader *r = ctx;
	struct sl_msg m;

	while (r->seen < MESSAGES && sl_link_get(r->link, &m, -1) == SL_OK &&
		m.u.attach.job == r->seen) {
		r->seen++;
		r->fds += m.n_fds;
	}
	return NULL;
}

static void each_end_sends_and_receives_at_once(void **state)
{
	struct reader r[2] = {{0}};
	pthread_t thread[2];
	int fds[2], before = sl_test_open_fds();

	(void)state;
	sl_test_sockets(fds);
	for (int i = 0; i < 2; i++) {
		sl_assert_ok(sl_link_create(fds[i], &r[i].link));
		assert_int_equal(pthread_create(&thread[i], NULL, read_all, &r[i]), 0);
	}
	for (uint32_t n = 0; n < MESSAGES; n++) {
		struct sl_msg m = {.number = SL_MSG_ATTACH,
			.fds = {STDERR_FILENO},
			.n_fds = n % 10 == 0,
			.u.attach = {.job = n}};

		sl_assert_ok(sl_link_put(r[0].link, &m, -1));
		sl_assert_ok(sl_link_put(r[1].link, &m, -1));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r[i].seen, MESSAGES);
		assert_int_equal(r[i].fds, MESSAGES / 10);
		sl_link_destroy(r[i].link);
	}
	assert_int_equal(sl_test_open_fds(), before);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_end_sends_and_receives_at_once),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
