/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over a socket: in order, in pieces, above limits, after the end. */
#include "harness/harness.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/sockets.h"
#include "share/wire/link.h"

struct pair {
	struct sl_link *a, *b;
};

static struct pair open_pair(void)
{
	struct pair p;
	int fds[2];

	sl_test_sockets(fds);
	sl_assert_ok(sl_link_create(fds[0], &p.a));
	sl_assert_ok(sl_link_create(fds[1], &p.b));
	return p;
}

static void close_pair(struct pair p)
{
	sl_link_destroy(p.a);
	sl_link_destroy(p.b);
}

static struct sl_msg pause_job(uint32_t job)
{
	return (struct sl_msg){
		.number = SL_MSG_PAUSE, .seq = job, .u.pause = {.job = job}};
}

static void messages_cross_both_ways_in_order(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m;
	bool empty, closed, any;

	(void)state;
	for (uint32_t i = 1; i <= 100; i++) {
		m = pause_job(i);
		sl_assert_ok(sl_link_send(p.a, &m));
		sl_assert_ok(sl_link_send(p.b, &m));
	}
	sl_assert_ok(sl_link_flush(p.a, &empty));
	assert_true(empty);
	sl_assert_ok(sl_link_flush(p.b, &empty));
	sl_assert_ok(sl_link_receive(p.a, &closed));
	sl_assert_ok(sl_link_receive(p.b, &closed));
	assert_false(closed);
	for (uint32_t i = 1; i <= 100; i++) {
		sl_assert_ok(sl_link_next(p.b, &m, &any));
		assert_true(any);
		assert_int_equal(m.u.pause.job, i);
		sl_assert_ok(sl_link_next(p.a, &m, &any));
		assert_int_equal(m.seq, i);
	}
	sl_assert_ok(sl_link_next(p.b, &m, &any));
	assert_false(any);
	close_pair(p);
}

static void a_message_may_come_byte_by_byte(void **state)
{
	struct pair p = open_pair();
	struct sl_buf b = SL_BUF_INIT;
	struct sl_msg m = pause_job(5);
	bool closed, any = false;

	(void)state;
	sl_assert_ok(sl_wire_encode(&m, &b));
	for (size_t i = 0; i < b.len; i++) {
		assert_false(any);
		sl_test_send_raw(sl_link_fd(p.a), b.data + i, 1, -1, 0);
		sl_assert_ok(sl_link_receive(p.b, &closed));
		sl_assert_ok(sl_link_next(p.b, &m, &any));
	}
	assert_true(any);
	assert_int_equal(m.u.pause.job, 5);
	sl_buf_finish(&b);
	close_pair(p);
}

static uint8_t large[1 << 20];

/* Larger than any socket buffer: sent and received in parts, by turns. */
static void what_the_socket_does_not_take_waits(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m = {.number = SL_MSG_ASK, .u.ask.input = {large, sizeof(large)}};
	bool empty = false, closed, any = false;
	int small = 4096, rounds = 0;

	(void)state;
	setsockopt(sl_link_fd(p.a), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (uint8_t)(i * 7 + (i >> 8));
	sl_assert_ok(sl_link_send(p.a, &m));
	while (!any) {
		sl_assert_ok(sl_link_flush(p.a, &empty));
		assert_true(empty == (sl_link_queued(p.a) == 0));
		sl_assert_ok(sl_link_receive(p.b, &closed));
		sl_assert_ok(sl_link_next(p.b, &m, &any));
		assert_true(rounds++ < 100000);
	}
	assert_true(rounds > 3);
	assert_true(empty);
	assert_int_equal(m.u.ask.input.size, sizeof(large));
	assert_memory_equal(m.u.ask.input.data, large, sizeof(large));
	close_pair(p);
}

static void a_peer_that_does_not_read_fills_the_buffer_and_no_more(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m = pause_job(1);
	size_t queued;

	(void)state;
	sl_link_limit(p.a, SL_LINK_MOST, 100);
	for (int i = 0; i < 5; i++)
		sl_assert_ok(sl_link_send(p.a, &m));
	queued = sl_link_queued(p.a);
	sl_assert_fails(sl_link_send(p.a, &m), SL_E_LIMIT, "limit of 100");
	assert_int_equal(sl_link_queued(p.a), queued);
	close_pair(p);
}

static void large_messages_are_refused_while_the_limit_is_small(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m = {.number = SL_MSG_ASK, .u.ask.input = {large, 1000}};
	bool empty, closed, any;

	(void)state;
	sl_link_limit(p.b, 256, 256);
	sl_assert_ok(sl_link_send(p.a, &m));
	sl_assert_ok(sl_link_flush(p.a, &empty));
	sl_assert_ok(sl_link_receive(p.b, &closed));
	sl_assert_fails(sl_link_next(p.b, &m, &any), SL_E_LIMIT, "most of 256 here");
	assert_false(any);
	sl_assert_fails(sl_link_next(p.b, &m, &any), SL_E_LOST, "broke");
	sl_assert_fails(sl_link_receive(p.b, &closed), SL_E_LOST, "broke");
	close_pair(p);
}

static void a_head_of_4_gib_ends_the_stream(void **state)
{
	static const uint8_t head[] = {
		0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0};
	struct pair p = open_pair();
	struct sl_msg m;
	bool closed, any;

	(void)state;
	sl_test_send_raw(sl_link_fd(p.a), head, sizeof(head), -1, 0);
	sl_assert_ok(sl_link_receive(p.b, &closed));
	sl_assert_fails(sl_link_next(p.b, &m, &any), SL_E_LIMIT, "4294967311");
	assert_false(any);
	close_pair(p);
}

static void a_message_that_is_none_is_stepped_over(void **state)
{
	static const uint8_t bad[] = {
		2, 0, 0, 0, SL_MSG_STOP, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0};
	struct pair p = open_pair();
	struct sl_msg m = pause_job(3);
	bool closed, any;

	(void)state;
	sl_test_send_raw(sl_link_fd(p.a), bad, sizeof(bad), -1, 0);
	sl_assert_ok(sl_link_put(p.a, &m, 0));
	sl_assert_ok(sl_link_receive(p.b, &closed));
	sl_assert_fails(sl_link_next(p.b, &m, &any), SL_E_FORMAT, "STOP.text");
	assert_true(any);
	assert_int_equal(m.seq, 9);
	sl_assert_ok(sl_link_next(p.b, &m, &any));
	assert_true(any);
	assert_int_equal(m.u.pause.job, 3);
	close_pair(p);
}

static void what_came_before_the_hang_up_is_read(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m = pause_job(8);
	bool closed, empty;

	(void)state;
	sl_assert_ok(sl_link_put(p.a, &m, 0));
	sl_link_destroy(p.a);
	sl_assert_ok(sl_link_receive(p.b, &closed));
	assert_true(closed);
	sl_assert_ok(sl_link_get(p.b, &m, 0));
	assert_int_equal(m.u.pause.job, 8);
	sl_assert_fails(sl_link_get(p.b, &m, 0), SL_E_LOST, "hung up");
	m = pause_job(9);
	sl_assert_ok(sl_link_send(p.b, &m));
	sl_assert_fails(sl_link_flush(p.b, &empty), SL_E_LOST, "gone");
	sl_link_destroy(p.b);
}

static void waiting_ends_with_its_time(void **state)
{
	struct pair p = open_pair();
	struct sl_msg m;

	(void)state;
	sl_assert_fails(sl_link_wait(p.a, 0), SL_E_BUSY, "in time");
	sl_assert_fails(sl_link_get(p.a, &m, 1000), SL_E_BUSY, "in time");
	m = pause_job(1);
	sl_assert_ok(sl_link_put(p.b, &m, 0));
	sl_assert_ok(sl_link_wait(p.a, -1));
	sl_assert_ok(sl_link_get(p.a, &m, -1));
	close_pair(p);
}

static sl_status talk(void *ctx)
{
	struct sl_link *a = NULL, *b = NULL;
	struct sl_msg m = {.number = SL_MSG_ASK, .u.ask.input = {large, 10000}};
	struct sl_msg with = {
		.number = SL_MSG_REGISTERED, .fds = {STDERR_FILENO}, .n_fds = 1};
	int fds[2], before = sl_test_open_fds();
	sl_status st;

	(void)ctx;
	sl_test_sockets(fds);
	st = sl_link_create(fds[0], &a);
	if (st != SL_OK) {
		close(fds[1]);
		return st;
	}
	SL_TRY_OUT(sl_link_create(fds[1], &b));
	SL_TRY_OUT(sl_link_put(a, &m, 0));
	SL_TRY_OUT(sl_link_put(a, &with, 0));
	SL_TRY_OUT(sl_link_get(b, &m, 0));
	SL_TRY_OUT(sl_link_get(b, &m, 0));
out:
	sl_link_destroy(a);
	sl_link_destroy(b);
	assert_int_equal(sl_test_open_fds(), before);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_in_range(sl_torture(talk, NULL), 5, 40);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(messages_cross_both_ways_in_order),
		SL_TEST(a_message_may_come_byte_by_byte),
		SL_TEST(what_the_socket_does_not_take_waits),
		SL_TEST(a_peer_that_does_not_read_fills_the_buffer_and_no_more),
		SL_TEST(large_messages_are_refused_while_the_limit_is_small),
		SL_TEST(a_head_of_4_gib_ends_the_stream),
		SL_TEST(a_message_that_is_none_is_stepped_over),
		SL_TEST(what_came_before_the_hang_up_is_read),
		SL_TEST(waiting_ends_with_its_time),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
