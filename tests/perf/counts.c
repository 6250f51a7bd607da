/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the cases of tests/perf/counts.txt for callgrind, one thread: whatever is not the
 * case itself is not counted, and after each case the counts are dumped under the number
 * of its line.
 *
 *	counts tests/perf/counts.txt
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "harness/node_run.h"
#include "session/session_int.h"

#define FILE_MAX ((size_t)1 << 20)
#define PAGE 4096

static void must(sl_status st, const char *what)
{
	if (st == SL_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, sl_last_error());
	_Exit(1);
}

static void *need(size_t bytes)
{
	void *p = sl_alloc_aligned(PAGE, bytes > 0 ? bytes : 1);

	if (p)
		return memset(p, 0, bytes);
	fprintf(stderr, "no memory for %zu bytes\n", bytes);
	_Exit(1);
}

static void dump(int line)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", line);
	CALLGRIND_DUMP_STATS_AT(text);
	CALLGRIND_STOP_INSTRUMENTATION;
}

static void run_kernel(const char *text, int line)
{
	static const struct sl_kernel_env env = {.threads = 1};
	struct sl_op_cases cases = {0};
	struct sl_prepared p = {0};
	struct sl_node_run r;

	must(sl_op_cases_parse(&cases, "counts.txt", text, strlen(text)), text);
	must(sl_node_run_init(&r, &cases.items[0]), text);
	for (int i = 0; i < r.info.n_in; i++)
		if (r.in[i])
			memcpy(r.in[i], r.e.data[r.b.in[i].index],
				sl_type_bytes(&r.info.in[i]));
	const struct sl_kernel *k = sl_kernel_select(&r.info);
	if (k->prepare)
		must(k->prepare(&r.info, &env, &p), text);
	struct sl_call c = {.node = &r.info,
		.in = r.in,
		.out = r.out,
		.workspace = need(p.workspace_bytes),
		.run = &r.e.run,
		.prepared = p.state};
	must(k->run(&c), text);
	CALLGRIND_START_INSTRUMENTATION;
	must(k->run(&c), text);
	dump(line);
	printf("%d %s\n", line, k->name);
	if (k->release)
		k->release(p.state);
	sl_free_aligned(c.workspace);
	sl_node_run_finish(&r);
	sl_op_cases_finish(&cases);
}

/* "train MODEL BATCH DATA" or "infer MODEL BATCH DATA". */
static void run_step(const char *text, int line)
{
	char what[8], model[128], data[64];
	long batch;

	if (sscanf(text, "%7s %127s %ld %63s", what, model, &batch, data) != 4) {
		fprintf(stderr, "line %d: %s\n", line, text);
		_Exit(1);
	}
	bool training = strcmp(what, "train") == 0;
	struct sl_session_config config = {.model = model,
		.data = data,
		.batch = batch,
		.threads = 1,
		.steps = 8,
		.weight_decay = -1,
		.valid_ratio = -1,
		.allow_nan = true,
		.infer_only = !training};
	enum sl_instance_id id = training ? SL_TRAIN : SL_EVAL;
	struct sl_session *s;
	must(sl_session_open(&config, &s), text);
	must(sl_session_prepare(s, NULL), text);
	/* Samples that are handed in need no thread that reads ahead. */
	s->io.request = (struct sl_data_request){.count = batch};
	s->io.given_bytes = (size_t)batch *
			    (size_t)sl_shape_count(&sl_data_info(s->data)->sample) * 4;
	void *given = need(s->io.given_bytes);
	s->io.given = given;
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			CALLGRIND_START_INSTRUMENTATION;
		must(sl_session_run(s, id), text);
		s->step++;
	}
	dump(line);
	printf("%d step\n", line);
	sl_session_close(s);
	sl_free_aligned(given);
}

static void run_line(char *text, int line)
{
	/* The count comes first. */
	char *at = text + strspn(text, " 0123456789");

	if (text[0] == '#' || *at == '\0')
		return;
	if (strncmp(at, "op=", 3) == 0)
		run_kernel(at, line);
	else
		run_step(at, line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sl_buf text = SL_BUF_MAX(FILE_MAX);

	must(argc == 2 ? sl_fs_read(argv[1], FILE_MAX, &text)
		       : SL_FAIL(SL_E_USAGE, "usage: counts FILE"),
		"counts");
	sl_kernel_set_width(1);
	char *at = sl_strdup(sl_buf_text(&text));
	sl_buf_finish(&text);
	char *all = at;
	for (int line = 1; at; line++) {
		char *end = strchr(at, '\n');
		if (end)
			*end = '\0';
		run_line(at, line);
		at = end ? end + 1 : NULL;
	}
	sl_free(all);
	return 0;
}
