/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a lane lies idle between two jobs, from the last instruction of one's turn to
 * the first of the other's: the report by socket, the daemon's decision, the grant by
 * futex. Beside it, in rounds that alternate with it, two processes that hand a turn to
 * each other directly, by futex and by socket. And what the gate costs a job that is
 * alone.
 *
 *   handover SLUICED           prints all; ends with 1 if a bar is missed
 *   handover SLUICED alone N   N iterations alone between two calls close(-7)
 *
 * Turns of TURN_NS keep the processor busy, as jobs do. Nothing is pinned.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/units.h"
#include "share/client/client.h"

#define ROUNDS 5
#define TURNS 400 /* of each process in a round */
#define TURN_NS 100000
#define ALONE 1000000
#define MEDIAN_BAR_NS 50000
#define P99_BAR_NS 1000000
#define ALONE_BAR_NS 5000
#define P_BYTES 65536
#define E_BYTES ((uint64_t)4 << 20)

struct turn {
	sl_ns begin, end;
	int who;
};

/* Shared by the processes. */
struct board {
	struct sl_atom32 start, whose;
	struct turn turns[2][TURNS];
};

struct sample {
	sl_ns ns[ROUNDS * TURNS * 2];
	size_t n;
};

struct bench {
	struct board *board;
	char folder[64], socket[96];
	int wire[2];
	pid_t daemon;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "handover: %s\n", what);
	_Exit(2);
}

static void must_ok(sl_status st)
{
	must(st == SL_OK, sl_last_error());
}

static void work(struct turn *t, int who)
{
	t->who = who;
	t->begin = sl_clock_now();
	do
		t->end = sl_clock_now();
	while (t->end - t->begin < TURN_NS);
}

/* Sleeps until the daemon says that it is ready, as a service manager would. */
static void start_daemon(struct bench *b, const char *program)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char said[256] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(b->folder, sizeof(b->folder), "/tmp/handover-XXXXXX");
	must(mkdtemp(b->folder), "no folder in /tmp");
	(void)snprintf(b->socket, sizeof(b->socket), "%s/socket", b->folder);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", b->folder);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "no socket");
	b->daemon = fork();
	if (b->daemon == 0) {
		(void)setenv("NOTIFY_SOCKET", at.sun_path, 1);
		must(freopen("/dev/null", "w", stderr), "no /dev/null");
		execl(program, program, "--budget", "64MiB", "--policy", "rr", "--socket",
			b->socket, "--messages-per-second", "60000", (char *)NULL);
		_Exit(127);
	}
	while (strncmp(said, "READY=1", 7) != 0)
		must(recv(fd, said, sizeof(said) - 1, 0) > 0, "no daemon");
	close(fd);
}

static void stop_daemon(struct bench *b)
{
	char command[160];

	(void)kill(b->daemon, SIGTERM);
	(void)waitpid(b->daemon, NULL, 0);
	static const char *const names[] = {
		"notify", "socket", "socket.journal", "socket.lock", "socket.metrics"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(command, sizeof(command), "%s/%s", b->folder, names[i]);
		(void)unlink(command);
	}
	(void)rmdir(b->folder);
}

static struct sl_client *enlist(const struct bench *b, int who)
{
	struct sl_client_opts opts = {.socket = b->socket, .program = "handover"};
	struct sl_msg_reg reg = {.priority = 20, .turn_ns = TURN_NS, .menu = {.n = 1}};
	struct sl_client_room room;
	struct sl_client *c;

	reg.name[0] = (char)('a' + who);
	reg.menu.rows[0] = (struct sl_wire_option){P_BYTES, E_BYTES, TURN_NS};
	must_ok(sl_client_open(&opts, &c));
	must_ok(sl_client_enlist(c, &reg));
	must_ok(sl_client_admit(c, &room));
	must_ok(sl_client_ready(c));
	return c;
}

static void run_daemon_job(struct bench *b, int who)
{
	struct sl_client *c = enlist(b, who);

	/* Nobody begins before both are there. */
	(void)sl_atom32_add(&b->board->start, 1);
	(void)sl_futex_wake(&b->board->start, 2);
	for (uint32_t n; (n = sl_atom32_load(&b->board->start)) < 2;)
		must_ok(sl_futex_wait(&b->board->start, n, -1));
	for (int i = 0; i < TURNS; i++) {
		struct turn *t = &b->board->turns[who][i];

		must_ok(sl_client_enter(c));
		work(t, who);
		(void)sl_client_wanted(c);
		must_ok(sl_client_leave(c, t->end - t->begin, false));
	}
	sl_client_end(c, SL_OK);
	sl_client_close(c);
}

static void run_futex_job(struct bench *b, int who)
{
	struct sl_atom32 *whose = &b->board->whose;

	for (int i = 0; i < TURNS; i++) {
		while (sl_atom32_load(whose) != (uint32_t)who)
			must_ok(sl_futex_wait(whose, 1 - (uint32_t)who, -1));
		work(&b->board->turns[who][i], who);
		sl_atom32_store(whose, 1 - (uint32_t)who);
		(void)sl_futex_wake(whose, 1);
	}
}

static void run_socket_job(struct bench *b, int who)
{
	char c = 0;

	for (int i = 0; i < TURNS; i++) {
		if (who == 1 || i > 0)
			must(read(b->wire[who], &c, 1) == 1, "the other is gone");
		work(&b->board->turns[who][i], who);
		must(write(b->wire[who], &c, 1) == 1, "the other is gone");
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int by_size(const void *a, const void *b)
{
	sl_ns x = *(const sl_ns *)a, y = *(const sl_ns *)b;

	return x < y ? -1 : x > y;
}

/* One round: two processes, then the gaps between turns of different ones. */
static void run_round(
	struct bench *b, void (*job)(struct bench *, int), struct sample *out)
{
	struct turn *all = b->board->turns[0];
	pid_t pid[2];
	int status;

	memset(b->board, 0, sizeof(*b->board));
	for (int who = 0; who < 2; who++) {
		pid[who] = fork();
		if (pid[who] == 0) {
			job(b, who);
			_Exit(0);
		}
	}
	for (int who = 0; who < 2; who++) {
		must(waitpid(pid[who], &status, 0) == pid[who] && status == 0,
			"a job failed");
	}
	qsort(all, (size_t)2 * TURNS, sizeof(*all), by_begin);
	for (int i = 1; i < 2 * TURNS; i++) {
		must(all[i].begin >= all[i - 1].end, "two had the turn at once");
		if (all[i].who != all[i - 1].who)
			out->ns[out->n++] = all[i].begin - all[i - 1].end;
	}
}

static sl_ns quantile(struct sample *s, double q)
{
	return s->n > 0 ? s->ns[(size_t)(q * (double)(s->n - 1))] : 0;
}

static void print(const char *name, struct sample *s)
{
	qsort(s->ns, s->n, sizeof(s->ns[0]), by_size);
	printf("%-16s %6zu hand-overs   median %8.1f us   p90 %8.1f us   p99 %8.1f us   "
	       "most %8.1f us\n",
		name, s->n, (double)quantile(s, 0.5) * 1e-3,
		(double)quantile(s, 0.9) * 1e-3, (double)quantile(s, 0.99) * 1e-3,
		(double)quantile(s, 1) * 1e-3);
}

/* Nanoseconds an iteration; the two marks are for a look at its system calls. */
static double run_alone(struct bench *b, uint64_t n)
{
	struct sl_client *c = enlist(b, 0);
	sl_ns from, to;

	must_ok(sl_client_enter(c));
	(void)close(-7);
	from = sl_clock_now();
	for (uint64_t i = 0; i < n; i++) {
		(void)sl_client_wanted(c);
		must_ok(sl_client_leave(c, 1, false));
		must_ok(sl_client_enter(c));
		must(!sl_client_lost(c), "lost");
	}
	to = sl_clock_now();
	(void)close(-7);
	sl_client_end(c, SL_OK);
	sl_client_close(c);
	return (double)(to - from) / (double)n;
}

static void print_load(void)
{
	double load = 0;

	if (getloadavg(&load, 1) == 1)
		printf("load average %.1f, %ld processors\n", load,
			sysconf(_SC_NPROCESSORS_ONLN));
}

static int judge(struct sample *ours, struct sample *control, double alone)
{
	sl_ns bar = 2 * quantile(control, 0.99);
	bool fine = true;

	if (bar < P99_BAR_NS)
		bar = P99_BAR_NS;
	fine = quantile(ours, 0.5) <= MEDIAN_BAR_NS;
	printf("median at most %d us: %s\n", MEDIAN_BAR_NS / 1000, fine ? "yes" : "NO");
	printf("p99 at most %.1f us: %s\n", (double)bar * 1e-3,
		quantile(ours, 0.99) <= bar ? "yes" : "NO");
	printf("alone at most %d ns: %s\n", ALONE_BAR_NS,
		alone <= ALONE_BAR_NS ? "yes" : "NO");
	return fine && quantile(ours, 0.99) <= bar && alone <= ALONE_BAR_NS ? 0 : 1;
}

static int run_all(struct bench *b)
{
	static struct sample ours, futex, wire;
	double alone;

	print_load();
	for (int i = 0; i < ROUNDS; i++) {
		run_round(b, run_futex_job, &futex);
		run_round(b, run_daemon_job, &ours);
		must(socketpair(AF_UNIX, SOCK_STREAM, 0, b->wire) == 0, "no sockets");
		run_round(b, run_socket_job, &wire);
		close(b->wire[0]);
		close(b->wire[1]);
	}
	alone = run_alone(b, ALONE);
	print("daemon", &ours);
	print("control, futex", &futex);
	print("control, socket", &wire);
	printf("alone            %.1f ns an iteration\n", alone);
	print_load();
	return judge(&ours, &wire, alone);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	uint64_t n = 0;
	int code = 0;

	if (argc != 2 && !(argc == 4 && strcmp(argv[2], "alone") == 0 &&
				 sl_u64_parse(argv[3], &n) == SL_OK)) {
		fprintf(stderr, "usage: handover SLUICED [alone N]\n");
		return 2;
	}
	b.board = mmap(NULL, sizeof(*b.board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(b.board != MAP_FAILED, "no memory");
	start_daemon(&b, argv[1]);
	if (n > 0)
		printf("%.1f ns an iteration\n", run_alone(&b, n));
	else
		code = run_all(&b);
	stop_daemon(&b);
	return code;
}
