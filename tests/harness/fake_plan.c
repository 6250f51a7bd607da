/* SPDX-License-Identifier: Apache-2.0 */
/* The plans, good and bad, that the daemon for tests answers a trace with. */
#include "harness/fake_daemon_int.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/memfd.h"
#include "harness/harness.h"
#include "memory/policy/policy.h"

#define SEALS (SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_WRITE)

static void read_trace(int fd, uint64_t bytes, struct sl_trace *out)
{
	struct sl_memfd_info info;
	char *text = malloc(bytes);

	sl_assert_ok(sl_memfd_check(fd, SEALS, 0, &info));
	assert_true(bytes > 0 && bytes <= info.bytes);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, bytes, 0), bytes);
	sl_assert_ok(sl_trace_parse("trace", text, bytes, out));
	free(text);
}

/* The first copy back to the device is forgotten. */
static void break_plan(struct sl_plan *p)
{
	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (p->actions[i].kind != SL_ACTION_IN)
			continue;
		memmove(&p->actions[i], &p->actions[i + 1],
			(--p->n_actions - i) * sizeof(*p->actions));
		return;
	}
	fail_msg("a plan that copies nothing back");
}

/* Another job's, of one op. */
static void other_job(const struct sl_trace *t, struct sl_trace *out)
{
	struct sl_trace_value v = {
		.bytes = 4096, .align = 4096, .alias = SL_NO_ID, .cls = SL_CLASS_PARAM};

	sl_assert_ok(sl_trace_add_value(out, &v));
	for (uint32_t i = 0; i < t->n_tiers; i++)
		sl_assert_ok(sl_trace_add_tier(out, t->tiers[i].name, t->tiers[i].bytes));
	for (uint32_t i = 0; i < t->n_links; i++)
		sl_assert_ok(sl_trace_add_link(out, &t->links[i]));
	sl_assert_ok(sl_trace_add_op(out, &(struct sl_trace_op){.kind = "x",
						  .scope = "",
						  .dur_ns = 1000,
						  .n_in = 1,
						  .in = (uint32_t[]){0},
						  .pure = true}));
}

/* False: there is none such that fits the job's memory. */
static bool make(const struct sl_fake_job *j, enum sl_fake_plan kind, struct sl_trace *t,
	struct sl_plan *out)
{
	uint64_t budget = j->p + j->e;
	struct sl_policy_choice choice;

	sl_assert_ok(sl_policy_parse(SL_POLICY_WITH_BUDGET, &choice));
	if (kind == SL_FAKE_PLAN_LARGE)
		budget = UINT64_MAX;
	if (kind == SL_FAKE_PLAN_OTHER) {
		struct sl_trace other = SL_TRACE_INIT;

		other_job(t, &other);
		sl_trace_finish(t);
		*t = other;
	}
	sl_assert_ok(sl_policy_apply(&choice, t, budget, out));
	if (kind == SL_FAKE_PLAN_UNSOUND)
		break_plan(out);
	return kind != SL_FAKE_PLAN_GOOD || out->p_bytes <= j->p;
}

static void say_plan(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const void *text, size_t len)
{
	struct sl_msg m = {.number = SL_MSG_PLAN, .n_fds = 1};

	sl_assert_ok(sl_memfd_create("test-plan", 0, &m.fds[0]));
	sl_assert_ok(sl_fs_pwrite(m.fds[0], "plan", text, len, 0));
	sl_assert_ok(sl_memfd_seal(m.fds[0], SEALS));
	m.u.plan.bytes = len;
	m.u.plan.budget_bytes = j->p + j->e;
	sl_fake_say(j, &m);
	(void)close(m.fds[0]);
	d->seen.plans++;
}

void sl_fake_on_trace(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	static const char garbage[] = "plan 1 budget=no\n\xff\xfe";
	int fd = sl_link_take(j->link, 0);
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_buf text = SL_BUF_INIT;

	assert_true(fd >= 0);
	d->seen.traces++;
	read_trace(fd, m->u.trace.bytes, &t);
	(void)close(fd);
	if (d->opts.plan == SL_FAKE_PLAN_GARBAGE) {
		say_plan(d, j, garbage, sizeof(garbage));
	} else if (d->opts.plan != SL_FAKE_NO_PLAN && make(j, d->opts.plan, &t, &plan)) {
		sl_assert_ok(sl_plan_print(&plan, &t, &text));
		say_plan(d, j, text.data, text.len);
	}
	sl_buf_finish(&text);
	sl_plan_finish(&plan);
	sl_trace_finish(&t);
}
