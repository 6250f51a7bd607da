/* SPDX-License-Identifier: Apache-2.0 */
/* Who may say what, how much of it, and what is asked of services. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

static void the_first_message_is_hello_of_the_same_version(void **state)
{
	struct rig r;
	struct peer p = {.page_fd = -1, .p_fd = -1, .lane_fd = -1};
	struct sl_msg m = {.number = SL_MSG_HELLO,
		.u.hello = {.magic = SL_WIRE_MAGIC, .version = 99}};

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_open_as(&r, &p, A, getpid());
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_LIST});
	peer_want_error(&p, SL_E_INVALID, "hello");
	sl_link_destroy(p.link);
	peer_open_as(&r, &p, A, getpid());
	peer_send(&r, &p, m);
	peer_want_error(&p, SL_E_UNSUPPORTED, "version");
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void others_jobs_and_limits_are_the_owners_to_rule(void **state)
{
	const struct sl_msg words[] = {
		{.number = SL_MSG_PAUSE, .u.pause = {.job = 1}},
		{.number = SL_MSG_RESUME, .u.resume = {.job = 1}},
		{.number = SL_MSG_CANCEL, .u.cancel = {.job = 1}},
		{.number = SL_MSG_PRIORITY, .u.priority = {.job = 1, .priority = 1}},
		{.number = SL_MSG_LIMIT, .u.limit = {.user = B, .bytes = 0}},
		{.number = SL_MSG_POLICY, .u.policy = {.name = "fifo"}},
	};
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 1));
	assert_int_equal(p.job, 1);
	peer_hello(&r, &q, B);
	for (size_t i = 0; i < SL_COUNT(words); i++) {
		peer_send(&r, &q, words[i]);
		peer_want_error(&q, SL_E_NO, "");
	}
	peer_send(
		&r, &q, (struct sl_msg){.number = SL_MSG_PAUSE, .u.pause = {.job = 44}});
	peer_want_error(&q, SL_E_NOT_FOUND, "no job 44");
	peer_send(&r, &q, (struct sl_msg){.number = SL_MSG_END});
	peer_want_error(&q, SL_E_INVALID, "no job");
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_user_has_so_many_connections_and_jobs(void **state)
{
	struct rig r;
	struct peer p[4];

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "connections_per_user", "3");
	rig_set(&r, "jobs_per_user", "2");
	rig_start(&r);
	for (int i = 0; i < 3; i++)
		peer_hello(&r, &p[i], A);
	for (int i = 0; i < 2; i++) {
		peer_send(&r, &p[i], job_of(1, 1));
		peer_registered(&p[i]);
	}
	peer_send(&r, &p[2], job_of(1, 1));
	peer_want_error(&p[2], SL_E_LIMIT, "jobs_per_user");
	peer_send(&r, &p[0], job_of(1, 1));
	peer_want(&p[0], SL_MSG_ADMITTED);
	peer_want_error(&p[0], SL_E_BUSY, "open another one");
	{
		struct ucred who = {.uid = A};
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		sl_assert_fails(sl_serve_adopt(r.s, ends[1], &who), SL_E_LIMIT,
			"connections_per_user");
		sl_assert_ok(sl_link_create(ends[0], &p[3].link));
		peer_want_error(&p[3], SL_E_LIMIT, "connections_per_user");
		sl_link_destroy(p[3].link);
	}
	for (int i = 0; i < 3; i++)
		peer_close(&p[i]);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_flood_is_slowed_and_the_others_are_served(void **state)
{
	struct sl_msg list = {.number = SL_MSG_POLICY};
	struct rig r;
	struct peer p, q;
	bool empty;
	int n = 0;

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "messages_per_second", "50");
	rig_start(&r);
	peer_hello(&r, &p, A);
	peer_hello(&r, &q, B);
	for (int i = 0; i < 200; i++)
		sl_assert_ok(sl_link_send(p.link, &list));
	sl_assert_ok(sl_link_flush(p.link, &empty));
	rig_turn(&r);
	while (peer_next(&p))
		n++;
	assert_in_range(n, 40, 60);
	peer_send(&r, &q, list);
	peer_want(&q, SL_MSG_WORDS);
	for (int i = 0; i < 50; i++)
		rig_pass(&r, SECOND / 10);
	while (peer_next(&p))
		n++;
	assert_int_equal(n, 200);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void who_does_not_read_is_cut_off(void **state)
{
	struct sl_msg config = {.number = SL_MSG_CONFIG};
	struct rig r;
	struct peer p, q;
	bool empty;
	uint64_t jobs = 0;

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "messages_per_second", "60000");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 1));
	peer_hello(&r, &q, B);
	for (int i = 0; i < 12000; i++) {
		if (sl_link_send(p.link, &config) != SL_OK)
			break;
		if (i % 200 == 0 && sl_link_flush(p.link, &empty) != SL_OK)
			break;
		if (i % 200 == 0)
			rig_turn(&r);
	}
	peer_send(&r, &q, (struct sl_msg){.number = SL_MSG_LIST});
	while (peer_next(&q) && q.last.number != SL_MSG_DONE)
		jobs++;
	assert_int_equal(jobs, 0);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_length_of_4_gib_ends_the_connection_alone(void **state)
{
	const uint8_t head[16] = {0xff, 0xff, 0xff, 0xff, 40, 0, 1, 0, 7};
	struct rig r;
	struct peer p, q;
	bool closed;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &q, A, job_of(1, 1));
	peer_hello(&r, &p, B);
	assert_int_equal(write(sl_link_fd(p.link), head, sizeof(head)), sizeof(head));
	rig_turn(&r);
	peer_want_error(&p, SL_E_LIMIT, "");
	sl_assert_ok(sl_link_receive(p.link, &closed));
	assert_true(closed);
	assert_true(sl_turn_try(q.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void requests_go_to_the_service_and_back(void **state)
{
	struct sl_msg service = job_of(1, 1);
	struct sl_msg ask = {.number = SL_MSG_ASK,
		.u.ask = {.service = "net",
			.within_ns = 5,
			.input = {(const uint8_t *)"four", 4}}};
	struct sl_msg answer = {.number = SL_MSG_ANSWER,
		.u.answer = {.batch = 2, .output = {(const uint8_t *)"out", 3}}};
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_hello(&r, &q, B);
	peer_send(&r, &q, ask);
	peer_want_error(&q, SL_E_NOT_FOUND, "'net'");
	service.u.reg.kind = SL_WIRE_SERVICE;
	(void)snprintf(service.u.reg.name, sizeof(service.u.reg.name), "net");
	peer_join(&r, &p, A, service);
	peer_send(&r, &q, ask);
	peer_want(&p, SL_MSG_QUERY);
	assert_memory_equal(p.last.u.query.input.data, "four", 4);
	answer.u.answer.id = p.last.u.query.id;
	peer_send(&r, &p, answer);
	peer_want(&q, SL_MSG_ANSWER);
	assert_int_equal(q.last.seq, q.seq);
	assert_memory_equal(q.last.u.answer.output.data, "out", 3);
	/* An answer that nobody waits for is nobody's harm. */
	peer_send(&r, &p, answer);
	peer_send(&r, &q, ask);
	peer_want(&p, SL_MSG_QUERY);
	peer_close(&p);
	rig_turn(&r);
	peer_want_error(&q, SL_E_LOST, "service ended");
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_first_message_is_hello_of_the_same_version),
		SL_TEST(others_jobs_and_limits_are_the_owners_to_rule),
		SL_TEST(a_user_has_so_many_connections_and_jobs),
		SL_TEST(a_flood_is_slowed_and_the_others_are_served),
		SL_TEST(who_does_not_read_is_cut_off),
		SL_TEST(a_length_of_4_gib_ends_the_connection_alone),
		SL_TEST(requests_go_to_the_service_and_back),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
