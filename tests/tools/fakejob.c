/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job without a model: registers with the daemon, takes turns of some microseconds and
 * proves that its memory is its own. Each page of P has a word that depends on all turns
 * before; each page of the lane is written at the start of a turn and read at its end.
 * The first byte of each word in the lane is the user's, so that another user's would be
 * seen.
 *
 *   fakejob --socket PATH [--name N] [--p BYTES] [--e BYTES] [--small-e BYTES]
 *           [--turns N] [--turn-us N] [--priority N] [--seed N] [--hang-at TURN]
 *           [--idle-every TURNS] [--folder DIR] [--tell 1]
 *
 * The last line is a JSON object. Exit: 0 done, 1 its memory was not its own, else the
 * status's. --tell 1 prints a line when it is admitted and at each turn; --hang-at stays
 * in that turn until it is killed or its memory is taken away.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/units.h"
#include "share/client/client.h"

#define PAGE 4096u
#define FACTOR 6364136223846793005ull
#define TAG 56

struct fake {
	const char *socket, *name, *folder;
	uint64_t p, e, small_e, turns, turn_us, priority, seed, hang_at, idle_every, tell;
	struct sl_client *client;
	uint8_t *base;
	uint64_t got_e, foreign, torn, torn_p;
	uint64_t torn_turn, torn_value; /* the last one in the lane */
	sl_ns torn_at;
	uint64_t *alone; /* what the words of P must be */
	uint64_t delay, starved; /* ns that it could run and did not: ever, most in a turn
				  */
};

struct option {
	const char *name;
	size_t at;
	bool text;
};

#define NUMBER(field, flag) \
	{ \
		flag, offsetof(struct fake, field), false \
	}
static const struct option options[] = {
	{"--socket", offsetof(struct fake, socket), true},
	{"--name", offsetof(struct fake, name), true},
	{"--folder", offsetof(struct fake, folder), true},
	NUMBER(p, "--p"),
	NUMBER(e, "--e"),
	NUMBER(small_e, "--small-e"),
	NUMBER(turns, "--turns"),
	NUMBER(turn_us, "--turn-us"),
	NUMBER(priority, "--priority"),
	NUMBER(seed, "--seed"),
	NUMBER(hang_at, "--hang-at"),
	NUMBER(idle_every, "--idle-every"),
	NUMBER(tell, "--tell"),
};

static volatile sig_atomic_t stop;

static void on_stop(int signo)
{
	stop = signo;
}

static bool parse(struct fake *f, int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		const struct option *o = NULL;

		for (size_t k = 0; k < SL_COUNT(options); k++)
			if (strcmp(argv[i], options[k].name) == 0)
				o = &options[k];
		if (!o)
			return false;
		if (o->text)
			memcpy((char *)f + o->at, &argv[i + 1], sizeof(char *));
		else if (sl_size_parse(o->name, argv[i + 1],
				 (uint64_t *)(void *)((char *)f + o->at)) != SL_OK)
			return false;
	}
	return argc % 2 == 1 && f->p >= PAGE && f->e >= PAGE;
}

static uint64_t *word(uint8_t *at, uint64_t page)
{
	return (uint64_t *)(void *)(at + page * PAGE);
}

static uint64_t next_word(uint64_t old, uint64_t page, uint64_t turn, uint64_t seed)
{
	return (old + page + turn) * FACTOR + seed;
}

static void fill(struct fake *f)
{
	for (uint64_t i = 0; i < f->p / PAGE; i++)
		*word(f->base, i) = f->alone[i] = (i + 1) * FACTOR ^ f->seed;
}

static void work(struct fake *f, uint64_t turn, sl_ns until)
{
	uint64_t tag = (uint64_t)((getuid() & 0x7f) + 1) << TAG;
	uint64_t mark =
		tag | (((uint64_t)getpid() << 24 ^ turn) & (((uint64_t)1 << TAG) - 1));
	uint8_t *lane = f->base + f->p;

	for (uint64_t i = 0; i < f->got_e / PAGE; i++) {
		f->foreign += *word(lane, i) != 0 && *word(lane, i) >> TAG != tag >> TAG;
		*word(lane, i) = mark + i;
	}
	for (uint64_t i = 0; i < f->p / PAGE; i++) {
		*word(f->base, i) = next_word(*word(f->base, i), i, turn, f->seed);
		f->alone[i] = next_word(f->alone[i], i, turn, f->seed);
	}
	while (sl_clock_now() < until ||
		(turn + 1 == f->hang_at && !sl_client_lost(f->client)))
		;
	for (uint64_t i = 0; i < f->got_e / PAGE; i++) {
		if (*word(lane, i) == mark + i)
			continue;
		f->torn++;
		f->torn_turn = turn + 1;
		f->torn_value = *word(lane, i);
		f->torn_at = sl_clock_now();
	}
}

/* How long the system has let it wait for a processor since the turn before. */
static void note_delay(struct fake *f)
{
	FILE *file = fopen("/proc/self/schedstat", "re");
	uint64_t delay = 0;

	if (!file)
		return;
	if (fscanf(file, "%*u %" SCNu64, &delay) == 1) {
		if (delay - f->delay > f->starved)
			f->starved = delay - f->delay;
		f->delay = delay;
	}
	(void)fclose(file);
}

static sl_status turn(struct fake *f, uint64_t i)
{
	sl_ns from;

	SL_TRY(sl_client_enter(f->client));
	if (f->tell)
		(void)printf("turn %llu\n", (unsigned long long)i + 1);
	(void)fflush(stdout);
	from = sl_clock_now();
	work(f, i, from + (sl_ns)f->turn_us * 1000);
	note_delay(f);
	if (sl_client_lost(f->client))
		return SL_FAIL(SL_E_LOST, "the job was struck off the list");
	(void)sl_client_wanted(f->client); /* no copies of ours to wait for */
	SL_TRY(sl_client_leave(f->client, sl_clock_now() - from, false));
	if (f->idle_every > 0 && (i + 1) % f->idle_every == 0)
		return sl_client_idle(f->client);
	return SL_OK;
}

static sl_status live(struct fake *f)
{
	struct sl_client_opts opts = {.socket = f->socket,
		.program = "fakejob",
		.folder = f->folder,
		.stop = &stop};
	struct sl_msg_reg reg = {.priority = (int32_t)f->priority,
		.turn_ns = (int64_t)f->turn_us * 1000,
		.allow_slowdown_ppm = 1000000};
	struct sl_client_room room;

	memcpy(reg.name, f->name, strnlen(f->name, sizeof(reg.name) - 1));
	reg.menu.n = f->small_e > 0 ? 2 : 1;
	reg.menu.rows[0] = (struct sl_wire_option){f->p, f->e, f->turn_us * 1000};
	reg.menu.rows[1] = (struct sl_wire_option){f->p, f->small_e, f->turn_us * 1500};
	f->alone = sl_calloc(f->p / PAGE, sizeof(*f->alone));
	if (!f->alone)
		return SL_FAIL(SL_E_NOMEM, "no memory");
	SL_TRY(sl_client_open(&opts, &f->client));
	SL_TRY(sl_client_enlist(f->client, &reg));
	SL_TRY(sl_client_admit(f->client, &room));
	f->base = room.base;
	f->got_e = room.ephemeral_bytes;
	fill(f);
	SL_TRY(sl_client_ready(f->client));
	if (f->tell)
		(void)printf("admitted\n");
	for (uint64_t i = 0; i < f->turns && !stop && !sl_client_stopped(f->client); i++)
		SL_TRY(turn(f, i));
	/* A turn, so that P is there and nobody's but ours. */
	SL_TRY(sl_client_enter(f->client));
	for (uint64_t i = 0; i < f->p / PAGE; i++)
		f->torn_p += *word(f->base, i) != f->alone[i];
	return SL_OK;
}

int main(int argc, char **argv)
{
	struct fake f = {.name = "fake",
		.folder = "/var/tmp",
		.p = 16 * PAGE,
		.e = 64 * PAGE,
		.turns = 100,
		.turn_us = 100,
		.priority = 20};
	struct sigaction action = {.sa_handler = on_stop};
	struct sl_client_stats stats = {0};
	sl_status st;

	if (!parse(&f, argc, argv)) {
		(void)fprintf(stderr, "see the first lines of tests/tools/fakejob.c\n");
		return 2;
	}
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	st = live(&f);
	note_delay(&f);
	if (f.client) {
		sl_client_stats(f.client, &stats);
		sl_client_end(f.client, st);
		sl_client_close(f.client);
	}
	(void)printf(
		"{\"status\":\"%s\",\"error\":\"%s\",\"turns\":%llu,\"switches\":%llu,"
		"\"parked\":%llu,\"reattached\":%llu,\"row\":%u,\"waited_ns\":%lld,"
		"\"used_ns\":%lld,\"foreign\":%llu,\"torn\":%llu,\"torn_p\":%llu,"
		"\"torn_turn\":%llu,\"torn_value\":\"%llx\",\"torn_at\":%lld,"
		"\"starved_ns\":%llu,\"pid\":%d}\n",
		sl_status_name(st), st == SL_OK ? "" : sl_last_error(),
		(unsigned long long)stats.turns, (unsigned long long)stats.switches,
		(unsigned long long)stats.parked, (unsigned long long)stats.reattached,
		stats.row, (long long)stats.waited_ns, (long long)stats.used_ns,
		(unsigned long long)f.foreign, (unsigned long long)f.torn,
		(unsigned long long)f.torn_p, (unsigned long long)f.torn_turn,
		(unsigned long long)f.torn_value, (long long)f.torn_at,
		(unsigned long long)f.starved, (int)getpid());
	sl_free(f.alone);
	return st != SL_OK			 ? sl_status_exit_code(st)
	       : f.foreign || f.torn || f.torn_p ? 1
						 : 0;
}
