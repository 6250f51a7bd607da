/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine over the streams of a device: plans that nobody would choose, carried out in
 * every order that the edges allow; and each kind of edge is missed when it is left out.
 */
#include "harness/harness.h"
#include "harness/lazy_device.h"
#include "harness/pair_rig.h"

#include <string.h>

#include "base/alloc.h"
#include "device/wrap/wrap.h"

#define CHANNELS 16

static void any_order_of_the_streams_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct sl_device *d = NULL;
		struct pair_rig c;

		pair_rig_find(&c, seed % 12);
		for (uint64_t order = 0; order < 8; order++) {
			sl_assert_ok(lazy_device_create(100 * seed + order, &d));
			sl_assert_ok(
				pair_rig_run(&c, &(struct sl_rig_opts){.device = d}));
			sl_device_destroy(d);
			assert_int_equal(lazy_device_live(), 0);
		}
		pair_rig_finish(&c);
	}
}

static void streams_with_threads_give_the_same_bytes(void **state)
{
	struct sl_device *d = NULL;
	struct pair_rig c;

	(void)state;
	sl_assert_ok(sl_device_create("queue", &d));
	for (uint64_t seed = 1; seed <= 10; seed++) {
		pair_rig_find(&c, seed);
		sl_assert_ok(pair_rig_run(&c, &(struct sl_rig_opts){.device = d}));
		pair_rig_finish(&c);
	}
	sl_device_destroy(d);
}

/* A wire that leaves out one kind of edge. */
enum edge {
	NONE,
	COMPUTE_AFTER_IN, /* it reads what is not there yet */
	COMPUTE_AFTER_OUT, /* it overwrites what has not left: free before the last reader
			    */
	IN_AFTER_COMPUTE, /* overwrites what compute still reads */
	OUT_AFTER_COMPUTE, /* takes away what is not computed yet */
	COPY_AFTER_COPY,
	EDGES
};

struct mutant {
	struct sl_engine_wire wire;
	const struct sl_engine_wire *inner;
	struct sl_device *device;
	enum edge without;
	bool in[CHANNELS];
};

static sl_status mutant_copy(void *ctx, const struct sl_wire_copy *c)
{
	static const uint64_t none[CHANNELS];
	struct mutant *m = ctx;
	struct sl_wire_copy copy = *c;

	m->in[c->channel] = c->in;
	if (m->without == COPY_AFTER_COPY)
		copy.after = none;
	/* The wait for compute is the first one of a copy. */
	if (m->without == (c->in ? IN_AFTER_COMPUTE : OUT_AFTER_COMPUTE))
		lazy_device_skip_wait(m->device);
	return m->inner->copy(m->inner->ctx, &copy);
}

static sl_status mutant_wait(void *ctx, uint32_t channel, uint64_t number)
{
	struct mutant *m = ctx;

	if (m->without == (m->in[channel] ? COMPUTE_AFTER_IN : COMPUTE_AFTER_OUT))
		return SL_OK;
	return m->inner->wait(m->inner->ctx, channel, number);
}

static sl_status mutant_fit(void *ctx, uint32_t channel, uint64_t copies)
{
	struct mutant *m = ctx;

	return m->inner->fit(m->inner->ctx, channel, copies);
}

static sl_status mutant_move(void *ctx, uint64_t to, uint64_t from, uint64_t bytes)
{
	struct mutant *m = ctx;

	return m->inner->move(m->inner->ctx, to, from, bytes);
}

static sl_status mutant_fill(void *ctx, uint64_t at, int byte, uint64_t bytes)
{
	struct mutant *m = ctx;

	return m->inner->fill(m->inner->ctx, at, byte, bytes);
}

static sl_status mutant_hop(void *ctx, const struct sl_wire_copy *c)
{
	struct mutant *m = ctx;

	return m->inner->hop(m->inner->ctx, c);
}

static sl_status mutant_read(void *ctx, uint64_t at, void *data, size_t len)
{
	struct mutant *m = ctx;

	return m->inner->read(m->inner->ctx, at, data, len);
}

static sl_status mutant_write(void *ctx, uint64_t at, const void *data, size_t len)
{
	struct mutant *m = ctx;

	return m->inner->write(m->inner->ctx, at, data, len);
}

static sl_status mutant_settle(void *ctx)
{
	struct mutant *m = ctx;

	return m->inner->settle(m->inner->ctx);
}

static const struct sl_engine_wire *mutate(void *ctx, const struct sl_engine_wire *inner)
{
	struct mutant *m = ctx;

	m->inner = inner;
	m->wire = (struct sl_engine_wire){.ctx = m,
		.fit = mutant_fit,
		.copy = mutant_copy,
		.wait = mutant_wait,
		.move = mutant_move,
		.fill = mutant_fill,
		.hop = mutant_hop,
		.read = mutant_read,
		.write = mutant_write,
		.settle = mutant_settle};
	return &m->wire;
}

/* How many of some orders of some plans show that the edges are missing. */
static int noticed(enum edge without)
{
	int count = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct mutant m = {.without = without};
		struct sl_rig_opts o = {.wrap = mutate, .wrap_ctx = &m};
		struct pair_rig c;

		pair_rig_find(&c, seed);
		for (uint64_t order = 0; order < 8; order++) {
			sl_assert_ok(lazy_device_create(100 * seed + order, &m.device));
			o.device = m.device;
			sl_status st = pair_rig_run(&c, &o);
			if (st != SL_OK)
				assert_int_equal(st, SL_E_NO);
			count += st != SL_OK;
			sl_device_destroy(m.device);
		}
		pair_rig_finish(&c);
	}
	return count;
}

static void every_kind_of_edge_is_missed(void **state)
{
	(void)state;
	assert_int_equal(noticed(NONE), 0);
	for (enum edge e = COMPUTE_AFTER_IN; e < EDGES; e++)
		if (noticed(e) == 0)
			fail_msg("nobody notices that edge %d is missing", (int)e);
}

static sl_status run_failing(const struct pair_rig *c, const char *name, long n)
{
	struct sl_device *inner = NULL, *d = NULL;
	long before = sl_alloc_live();
	sl_status st;

	sl_assert_ok(sl_device_create(name, &inner));
	sl_assert_ok(sl_device_fault_create(inner, n, SL_E_LOST, &d));
	st = pair_rig_run(c, &(struct sl_rig_opts){.device = d});
	if (st != SL_OK)
		sl_assert_fails(st, SL_E_LOST, "injected");
	sl_device_destroy(d);
	assert_int_equal(sl_alloc_live(), before);
	return st;
}

static void every_failed_call_of_the_device_ends_with_its_status(void **state)
{
	struct pair_rig c;
	long n = 1;

	(void)state;
	pair_rig_find(&c, 3);
	while (run_failing(&c, "queue", n) != SL_OK)
		n += n < 60 ? 1 : 7;
	assert_true(n > 300);
	pair_rig_finish(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(any_order_of_the_streams_gives_the_same_bytes),
		SL_TEST(streams_with_threads_give_the_same_bytes),
		SL_TEST(every_kind_of_edge_is_missed),
		SL_TEST(every_failed_call_of_the_device_ends_with_its_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
