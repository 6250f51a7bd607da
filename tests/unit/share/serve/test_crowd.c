/* SPDX-License-Identifier: Apache-2.0 */
/* Many words and large ones, and who must not wait or end because of them. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

static void put_all(struct rig *r, struct peer *p, const struct sl_msg *m)
{
	bool empty = false;

	sl_assert_ok(sl_link_send(p->link, m));
	while (!empty) {
		sl_assert_ok(sl_link_flush(p->link, &empty));
		rig_turn(r);
	}
}

static void what_others_ask_of_a_service_that_does_not_read_does_not_end_it(void **state)
{
	static uint8_t input[1000000];
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(1, 1);

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	m.u.reg.kind = SL_WIRE_SERVICE;
	peer_join(&r, &p, A, m);
	peer_hello(&r, &q, B);
	m = (struct sl_msg){.number = SL_MSG_ASK,
		.u.ask = {.service = "job", .input = {input, sizeof(input)}}};
	for (int i = 0; i < 8; i++)
		put_all(&r, &q, &m);
	peer_want_error(&q, SL_E_BUSY, "too many requests");
	peer_send(&r, &q, (struct sl_msg){.number = SL_MSG_PAUSE, .u.pause = {p.job}});
	while (q.last.u.error.code == SL_E_BUSY)
		peer_want(&q, SL_MSG_ERROR);
	/* It is there. */
	assert_int_equal(q.last.u.error.code, SL_E_NO);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

#define CROWD 20
#define WORDS_EACH 30

static void put_many(struct peer *p, enum sl_msg_number number, int n)
{
	bool empty;

	for (int i = 0; i < n; i++)
		sl_assert_ok(sl_link_send(
			p->link, &(struct sl_msg){.number = number, .seq = ++p->seq}));
	sl_assert_ok(sl_link_flush(p->link, &empty));
}

static void who_floods_by_many_connections_keeps_no_other_user_waiting(void **state)
{
	struct rig r;
	struct peer p, q[CROWD];
	int heard = 0;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_hello(&r, &p, A);
	for (int i = 0; i < CROWD; i++)
		peer_hello(&r, &q[i], B);
	r.tick = 100000;
	for (int i = 0; i < CROWD; i++)
		put_many(&q[i], SL_MSG_POLICY, WORDS_EACH);
	sl_assert_ok(sl_serve_round(r.s, false));
	put_many(&p, SL_MSG_POLICY, 1);
	sl_assert_ok(sl_serve_round(r.s, false));
	peer_want(&p, SL_MSG_WORDS);
	/* And no round was long: turns are given in between. */
	for (int i = 0; i < CROWD; i++)
		while (peer_next(&q[i]))
			heard++;
	assert_true(heard > 2 && heard < CROWD * WORDS_EACH / 10);
	/* All are heard in the end. */
	for (int i = 0; i < CROWD * WORDS_EACH && heard < CROWD * WORDS_EACH; i++) {
		rig_turn(&r);
		for (int k = 0; k < CROWD; k++)
			while (peer_next(&q[k]))
				heard++;
	}
	assert_int_equal(heard, CROWD * WORDS_EACH);
	peer_close(&p);
	for (int i = 0; i < CROWD; i++)
		peer_close(&q[i]);
	rig_turn(&r);
	rig_stop(&r);
}

/* All but the end of a large message. */
static bool put_part(struct rig *r, struct peer *p, const uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t k = send(sl_link_fd(p->link), bytes + at, n - at, MSG_NOSIGNAL);

		if (k < 0)
			return false;
		at += (size_t)k;
		rig_turn(r);
	}
	return true;
}

static void what_a_users_connections_keep_is_bounded_in_all(void **state)
{
	static uint8_t part[1000000];
	struct peer p, q[72], other;
	struct rig r;
	struct sl_msg m = job_of(1, 1);
	int cut = 0;
	const uint8_t head[16] = {0x40, 0x42, 0x0f, 0, SL_MSG_ASK, 0, 1, 0, 1};

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	m.u.reg.kind = SL_WIRE_SERVICE;
	peer_join(&r, &p, A, m);
	memcpy(part, head, sizeof(head));
	peer_hello(&r, &other, A);
	for (int i = 0; i < 72; i++) {
		peer_hello(&r, &q[i], B);
		(void)put_part(&r, &q[i], part, sizeof(part));
	}
	for (int i = 0; i < 72; i++)
		cut += !put_part(&r, &q[i], part, 1);
	assert_true(cut > 0 && cut < 20);
	/* Others' and small ones stay. */
	peer_send(&r, &other, (struct sl_msg){.number = SL_MSG_POLICY});
	peer_want(&other, SL_MSG_WORDS);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_POLICY});
	peer_want(&p, SL_MSG_WORDS);
	for (int i = 0; i < 72; i++)
		peer_close(&q[i]);
	peer_close(&p);
	peer_close(&other);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_others_ask_of_a_service_that_does_not_read_does_not_end_it),
		SL_TEST(who_floods_by_many_connections_keeps_no_other_user_waiting),
		SL_TEST(what_a_users_connections_keep_is_bounded_in_all),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
