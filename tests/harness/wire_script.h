/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_WIRE_SCRIPT_H
#define SL_TESTS_WIRE_SCRIPT_H

#include <pthread.h>
#include <stdbool.h>

#include "share/wire/link.h"
#include "sluice/client.h"

/*
 * The other end of a daemon's socket, on a thread: it greets one caller, takes one
 * request and answers as the test says.
 */
struct sl_script {
	struct sl_msg welcome; /* NONE: a plain one */
	struct sl_msg answers[4];
	size_t n;
	bool hangs_up; /* after the answers, instead of waiting for the caller to go */
	struct sl_msg asked; /* what came; valid after sl_script_end() */
	char path[SL_DAEMON_PATH];
	int listener;
	pthread_t thread;
};

void sl_script_begin(struct sl_script *s); /* listens at s->path */
struct sl_daemon *sl_script_meet(struct sl_script *s); /* begins, and is called */
void sl_script_end(struct sl_script *s, struct sl_daemon *d); /* closes d */

#endif
