/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors over a link: each has one owner, and none is left behind. */
#include "harness/harness.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/sockets.h"
#include "share/wire/link.h"

struct rig {
	struct sl_link *a, *b;
	int raw; /* a's socket */
	int pipe[2]; /* something to send */
	int before;
};

static void open_rig(struct rig *r)
{
	int fds[2];

	r->before = sl_test_open_fds();
	sl_test_sockets(fds);
	r->raw = fds[0];
	sl_assert_ok(sl_link_create(fds[0], &r->a));
	sl_assert_ok(sl_link_create(fds[1], &r->b));
	assert_int_equal(pipe2(r->pipe, O_CLOEXEC), 0);
}

static void close_rig(struct rig *r)
{
	sl_link_destroy(r->a);
	sl_link_destroy(r->b);
	close(r->pipe[0]);
	close(r->pipe[1]);
	assert_int_equal(sl_test_open_fds(), r->before);
}

static struct sl_msg attach(const struct rig *r, uint32_t job, uint32_t n)
{
	return (struct sl_msg){.number = SL_MSG_ATTACH,
		.fds = {r->pipe[0], r->pipe[1], r->pipe[1]},
		.n_fds = n,
		.u.attach = {.job = job}};
}

/* The head of a frame of DONE or ADMITTED with a count of descriptors. */
static size_t frame(enum sl_msg_number number, uint32_t n_fds, uint8_t out[64])
{
	uint32_t size = number == SL_MSG_DONE ? 4 : 40;
	uint16_t words[2] = {(uint16_t)number, SL_WIRE_VERSION};

	memset(out, 0, 64);
	memcpy(out, &size, 4);
	memcpy(out + 4, words, 4);
	memcpy(out + 12, &n_fds, 4);
	return SL_WIRE_HEAD + size;
}

static void a_descriptor_that_is_taken_works(void **state)
{
	struct rig r;
	struct sl_msg m;
	char c = 0;
	int in, out;

	(void)state;
	open_rig(&r);
	m = attach(&r, 4, 2);
	sl_assert_ok(sl_link_put(r.a, &m, 0));
	sl_assert_ok(sl_link_get(r.b, &m, 0));
	assert_int_equal(m.n_fds, 2);
	in = sl_link_take(r.b, 0);
	out = sl_link_take(r.b, 1);
	assert_int_equal(in, m.fds[0]);
	assert_int_equal(sl_link_take(r.b, 0), -1);
	assert_int_equal(sl_link_take(r.b, 2), -1);
	assert_int_equal(sl_link_take(r.b, 99), -1);
	assert_int_equal(write(out, "x", 1), 1);
	assert_int_equal(read(in, &c, 1), 1);
	assert_int_equal(c, 'x');
	/* A child that is started by others does not inherit it. */
	assert_int_equal(fcntl(in, F_GETFD), FD_CLOEXEC);
	close(in);
	close(out);
	close_rig(&r);
}

static void what_nobody_takes_is_closed(void **state)
{
	struct rig r;
	struct sl_msg m;
	bool any;
	int now;

	(void)state;
	open_rig(&r);
	now = sl_test_open_fds();
	m = attach(&r, 4, 3);
	sl_assert_ok(sl_link_put(r.a, &m, 0));
	sl_assert_ok(sl_link_get(r.b, &m, 0));
	assert_int_equal(sl_test_open_fds(), now + 3);
	sl_assert_ok(sl_link_next(r.b, &m, &any));
	assert_int_equal(sl_test_open_fds(), now);
	/* Those of a message that is never looked at go with the link. */
	m = attach(&r, 4, 3);
	sl_assert_ok(sl_link_put(r.a, &m, 0));
	sl_assert_ok(sl_link_receive(r.b, &any));
	close_rig(&r);
}

static void what_was_not_sent_is_closed_too(void **state)
{
	struct rig r;
	struct sl_msg m;

	(void)state;
	open_rig(&r);
	m = attach(&r, 1, 3);
	for (int i = 0; i < 10; i++)
		sl_assert_ok(sl_link_send(r.a, &m));
	assert_true(sl_test_open_fds() > r.before + 30);
	close_rig(&r);
}

/* Messages with and without descriptors queued together: each gets its own. */
static void descriptors_find_their_messages(void **state)
{
	struct sl_msg m;
	struct rig r;
	bool empty = false, any;

	(void)state;
	open_rig(&r);
	for (uint32_t i = 0; i < 60; i++) {
		m = attach(&r, i, i % 4);
		sl_assert_ok(sl_link_send(r.a, &m));
	}
	for (uint32_t i = 0; i < 60;) {
		if (!empty)
			sl_assert_ok(sl_link_flush(r.a, &empty));
		sl_assert_ok(sl_link_receive(r.b, &any));
		sl_assert_ok(sl_link_next(r.b, &m, &any));
		for (; any; i++) {
			assert_int_equal(m.u.attach.job, i);
			assert_int_equal(m.n_fds, i % 4);
			for (uint32_t k = 0; k < m.n_fds; k++)
				assert_true(fcntl(m.fds[k], F_GETFD) >= 0);
			sl_assert_ok(sl_link_next(r.b, &m, &any));
		}
	}
	close_rig(&r);
}

static void descriptors_that_no_message_has_are_an_error(void **state)
{
	uint8_t bytes[64];
	struct sl_msg m;
	struct rig r;
	bool any;

	(void)state;
	for (uint32_t part = 1; part <= 20; part += 19) {
		open_rig(&r);
		frame(SL_MSG_DONE, 0, bytes);
		sl_test_send_raw(r.raw, bytes, part, r.pipe[0], 2 + 2 * (part == 1));
		sl_assert_ok(sl_link_receive(r.b, &any));
		/* With the whole message: it is given, and then the surplus found. */
		if (part == 20)
			sl_assert_ok(sl_link_next(r.b, &m, &any));
		sl_assert_fails(sl_link_next(r.b, &m, &any), SL_E_FORMAT, "no message");
		assert_false(any);
		close_rig(&r);
	}
}

static void more_than_can_be_is_refused_as_it_comes(void **state)
{
	uint8_t bytes[64];
	struct rig r;
	bool closed;

	(void)state;
	open_rig(&r);
	frame(SL_MSG_DONE, 0, bytes);
	sl_test_send_raw(r.raw, bytes, 1, r.pipe[0], 16);
	sl_assert_fails(sl_link_receive(r.b, &closed), SL_E_FORMAT, "do not have");
	close_rig(&r);
	/* Few at a time, on and on. */
	open_rig(&r);
	for (int i = 0; i < 3; i++)
		sl_test_send_raw(r.raw, bytes, 1, r.pipe[0], 4);
	sl_assert_ok(sl_link_receive(r.b, &closed));
	sl_assert_ok(sl_link_receive(r.b, &closed));
	sl_assert_fails(sl_link_receive(r.b, &closed), SL_E_FORMAT, "do not have");
	close_rig(&r);
}

static void descriptors_that_did_not_come_are_an_error(void **state)
{
	uint8_t bytes[64];
	size_t len = frame(SL_MSG_ADMITTED, 2, bytes);
	struct sl_msg m;
	struct rig r;
	bool any;

	(void)state;
	open_rig(&r);
	sl_test_send_raw(r.raw, bytes, len, r.pipe[0], 1);
	sl_assert_ok(sl_link_receive(r.b, &any));
	sl_assert_fails(sl_link_next(r.b, &m, &any), SL_E_FORMAT, "1 came");
	assert_false(any);
	close_rig(&r);
}

static void a_bad_message_takes_its_descriptors_with_it(void **state)
{
	uint8_t bytes[64];
	size_t len = frame(SL_MSG_DONE, 2, bytes);
	struct sl_msg m;
	struct rig r;
	bool any;

	(void)state;
	open_rig(&r);
	sl_test_send_raw(r.raw, bytes, len, r.pipe[0], 2);
	m = attach(&r, 6, 1);
	sl_assert_ok(sl_link_put(r.a, &m, 0));
	sl_assert_fails(sl_link_get(r.b, &m, 0), SL_E_FORMAT, "DONE carries 0");
	sl_assert_ok(sl_link_get(r.b, &m, 0));
	assert_int_equal(m.u.attach.job, 6);
	sl_assert_ok(sl_link_next(r.b, &m, &any));
	close_rig(&r);
}

static void what_is_not_open_cannot_be_sent(void **state)
{
	struct sl_msg m;
	struct rig r;

	(void)state;
	open_rig(&r);
	m = attach(&r, 6, 3);
	m.fds[2] = 1 << 20;
	sl_assert_fails(sl_link_send(r.a, &m), SL_E_INVALID, "descriptor");
	assert_int_equal(sl_link_queued(r.a), 0);
	m.n_fds = 4;
	sl_assert_fails(sl_link_send(r.a, &m), SL_E_INVALID, "too many");
	close_rig(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_descriptor_that_is_taken_works),
		SL_TEST(what_nobody_takes_is_closed),
		SL_TEST(what_was_not_sent_is_closed_too),
		SL_TEST(descriptors_find_their_messages),
		SL_TEST(descriptors_that_no_message_has_are_an_error),
		SL_TEST(more_than_can_be_is_refused_as_it_comes),
		SL_TEST(descriptors_that_did_not_come_are_an_error),
		SL_TEST(a_bad_message_takes_its_descriptors_with_it),
		SL_TEST(what_is_not_open_cannot_be_sent),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
