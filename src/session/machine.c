/* SPDX-License-Identifier: Apache-2.0 */
/* Budget, tiers and policy become plans; plans become an arena and an engine. */
#include "session/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/units.h"
#include "device/plugin.h"
#include "memory/policy/policy.h"

#define DISK_PEAKS 4
#define TIER_BLOCK ((uint64_t)4 << 20)
#define EVENT_SLOTS ((size_t)1 << 14)
#define MAX_PLAN_BYTES ((size_t)1 << 30)

const char *sl_machine_disk_folder(const struct sl_session_config *config)
{
	const char *from_environment = getenv("SLUICE_DISK");

	if (config->disk_folder != NULL)
		return config->disk_folder;
	return from_environment != NULL && from_environment[0] != '\0' ? from_environment
								       : "/var/tmp";
}

static sl_status default_disk(uint64_t unbudgeted_peak, uint64_t *out)
{
	if (!sl_mul_u64(unbudgeted_peak, DISK_PEAKS, out) || *out > UINT64_MAX / 2)
		return SL_FAIL(SL_E_LIMIT,
			"a disk tier of four times the unbudgeted peak is too large");
	*out = sl_align_up(*out, TIER_BLOCK);
	return SL_OK;
}

/* At the rates of the cost book, or of the default one where it names no such link. */
static void add_tier(struct sl_machine *m, const char *name, uint64_t bytes)
{
	const struct sl_cost_book *book = sl_cost_book_at(0, NULL);
	const struct sl_cost_link *out = sl_cost_link_find(m->costs, "device", name);
	const struct sl_cost_link *in = sl_cost_link_find(m->costs, name, "device");

	out = out != NULL ? out : sl_cost_link_find(book, "device", name);
	in = in != NULL ? in : sl_cost_link_find(book, name, "device");
	SL_BUG(out == NULL || in == NULL);
	m->tier_info[m->n_tiers++] = (struct sl_program_tier){
		.name = name,
		.bytes = bytes,
		.bytes_per_s = out->bytes_per_s,
		.latency_ns = out->latency_ns,
		.in_bytes_per_s = in->bytes_per_s,
		.in_latency_ns = in->latency_ns,
	};
}

sl_status sl_machine_describe(struct sl_machine *m,
	const struct sl_session_config *config, uint64_t unbudgeted_peak)
{
	/* A cap that was asked for is never rounded up. */
	uint64_t disk_bytes = config->disk_bytes / SL_TIER_MAX_ALIGN * SL_TIER_MAX_ALIGN;

	if (config->disk_bytes > 0 && disk_bytes == 0)
		return SL_FAIL(SL_E_USAGE, "a disk tier of %llu bytes; it has %u or more",
			(unsigned long long)config->disk_bytes, SL_TIER_MAX_ALIGN);
	SL_TRY(sl_machine_costs(m, config));
	m->disk_folder = sl_machine_disk_folder(config);
	m->n_tiers = 0;
	if (config->budget_bytes == 0 && !m->shares)
		return SL_OK;
	if (config->host_bytes > 0)
		add_tier(m, "host", config->host_bytes);
	if (strcmp(m->disk_folder, "none") == 0)
		return SL_OK;
	if (disk_bytes == 0)
		SL_TRY(default_disk(unbudgeted_peak, &disk_bytes));
	add_tier(m, "disk", disk_bytes);
	return SL_OK;
}

sl_status sl_machine_unbudgeted_peak(const struct sl_instance *x, uint64_t *out)
{
	struct sl_trace trace = SL_TRACE_INIT;
	sl_status st;

	SL_TRY_OUT(sl_program_trace(x->program, NULL, 0, NULL, &trace));
	SL_TRY_OUT(sl_policy_least(sl_policy_find("keep"), &trace, out));
out:
	sl_trace_finish(&trace);
	return st;
}

uint64_t sl_machine_share(uint64_t unbudgeted_peak, double ratio)
{
	double pages = (double)unbudgeted_peak * ratio / 4096;

	return pages < 1 ? 4096 : (uint64_t)pages * 4096;
}

sl_status sl_machine_policy(
	const struct sl_session_config *config, struct sl_policy_choice *out)
{
	return sl_policy_parse_auto(config->policy, config->budget_bytes > 0, out);
}

static sl_status head_budget(struct sl_text *t, uint64_t *out)
{
	struct sl_word word;
	bool more;

	SL_TRY(sl_text_line(t, &more));
	while (more && sl_text_word(t, &word))
		if (sl_word_key_is(&word, "budget"))
			return sl_word_u64(t, &word, out);
	return SL_FAIL(
		SL_E_FORMAT, "%s: no plan: its first line names no budget", t->source);
}

sl_status sl_machine_stored_budget(const char *path, uint64_t *out)
{
	struct sl_buf text = SL_BUF_MAX(MAX_PLAN_BYTES);
	struct sl_text t;
	sl_status st;

	SL_TRY_OUT(sl_fs_read(path, MAX_PLAN_BYTES, &text));
	sl_text_init(&t, path, sl_buf_text(&text), text.len);
	SL_TRY_OUT(head_budget(&t, out));
	/* Unlimited is no budget. */
	*out = *out == UINT64_MAX ? 0 : *out;
out:
	sl_buf_finish(&text);
	return st;
}

static bool same_select(const struct sl_plan_select *a, const struct sl_plan_select *b)
{
	return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->layout, b->layout) == 0 &&
	       a->split == b->split && a->threads == b->threads &&
	       a->workspace_bytes == b->workspace_bytes;
}

/* The kernels that a stored plan names are those of this program: others would give other
 * bits. */
static sl_status check_selects(const struct sl_instance *x)
{
	struct sl_plan own = SL_PLAN_INIT;
	sl_status st;

	SL_TRY_OUT(sl_plan_begin(&own, &x->trace, 0, ""));
	SL_TRY_OUT(sl_program_select_lines(x->program, &own));
	for (uint32_t i = 0; i < x->plan.n_selects; i++) {
		const struct sl_plan_select *have = &x->plan.selects[i];
		const struct sl_plan_select *want = &own.selects[have->op];

		if (same_select(have, want))
			continue;
		st = SL_FAIL(SL_E_NO,
			"op %u: the plan selects %s %s split=%u threads=%u "
			"workspace=%llu, this machine %s %s split=%u threads=%u "
			"workspace=%llu",
			have->op, have->kernel, have->layout, have->split, have->threads,
			(unsigned long long)have->workspace_bytes, want->kernel,
			want->layout, want->split, want->threads,
			(unsigned long long)want->workspace_bytes);
		break;
	}
out:
	sl_plan_finish(&own);
	return st;
}

/* A stored plan serves the training instance; the checker decides whether it may. */
static sl_status load_plan(const struct sl_session_config *config, struct sl_instance *x)
{
	struct sl_buf text = SL_BUF_MAX(MAX_PLAN_BYTES);
	sl_status st;

	SL_TRY_OUT(sl_fs_read(config->plan_path, MAX_PLAN_BYTES, &text));
	st = sl_plan_parse(
		config->plan_path, sl_buf_text(&text), text.len, &x->trace, &x->plan);
	if (st == SL_OK)
		st = sl_plan_check(&x->trace, &x->plan,
			config->budget_bytes > 0 ? config->budget_bytes : x->plan.budget,
			NULL);
	if (st == SL_OK)
		st = check_selects(x);
	if (st == SL_E_NO || st == SL_E_FORMAT)
		st = sl_fail_prefix(SL_E_FORMAT,
			"%s does not fit this model, batch and budget; re-plan with "
			"`sluice plan ... -o FILE`",
			config->plan_path);
out:
	sl_buf_finish(&text);
	return st;
}

/* By the cost book: a good plan takes no longer to make than a step does. */
static bool has_long_ops(const struct sl_trace *t)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->n_ops; i++)
		ns = sl_add_ns(ns, t->ops[i].dur_ns);
	return ns / SL_MACHINE_PLAN_OP_NS >= t->n_ops;
}

/* Training need not wait for the best plan of many ops: better ones are made beside the
 * first steps, with their measured times. */
bool sl_machine_plans_gradually(
	const struct sl_session_config *config, const struct sl_instance *x)
{
	return x->training && sl_machine_plans_again(config);
}

bool sl_machine_plans_quickly(
	const struct sl_session_config *config, const struct sl_instance *x)
{
	return sl_machine_plans_gradually(config, x) &&
	       x->trace.n_ops >= SL_MACHINE_MANY_OPS && !has_long_ops(&x->trace);
}

static sl_status make_plan(const struct sl_session_config *config, struct sl_instance *x)
{
	uint64_t budget = config->budget_bytes > 0 ? config->budget_bytes : UINT64_MAX;
	struct sl_policy_choice policy;

	SL_TRY(sl_machine_policy(config, &policy));
	if (sl_machine_plans_quickly(config, x))
		policy = sl_policy_quick(&policy);
	else if (sl_machine_plans_gradually(config, x))
		policy = sl_policy_at_effort(&policy, 1);
	SL_TRY(sl_policy_apply(&policy, &x->trace, budget, &x->plan));
	return sl_program_select_lines(x->program, &x->plan);
}

sl_status sl_machine_plan(struct sl_machine *m, const struct sl_session_config *config,
	struct sl_instance *x)
{
	sl_ns begin = sl_clock_now();

	if (x->prepared)
		return SL_OK;
	SL_TRY(sl_machine_costs(m, config));
	SL_TRY(sl_program_trace(
		x->program, m->tier_info, m->n_tiers, m->costs, &x->trace));
	if (config->plan_path != NULL && x->training)
		SL_TRY(load_plan(config, x));
	else
		SL_TRY(make_plan(config, x));
	x->prepared = true;
	/* Later plans may want all of the budget. */
	if (x->training && x->plan.n_actions > 0 && sl_machine_plans_again(config))
		m->arena_bytes = config->budget_bytes & ~(uint64_t)4095;
	if (m->policy[0] == '\0')
		snprintf(m->policy, sizeof(m->policy), "%s", x->plan.policy);
	m->planned_peak = x->plan.peak > m->planned_peak ? x->plan.peak : m->planned_peak;
	m->plan_ms += (double)(sl_clock_now() - begin) / 1e6;
	return SL_OK;
}

int sl_machine_cores(void)
{
	int cores = sl_cpu_count();

	return cores < SL_POOL_WIDTH_MAX ? cores : SL_POOL_WIDTH_MAX;
}

/* Copies reach all of the host's memory at full speed only where it is pinned. */
static sl_status open_host(struct sl_machine *m, uint64_t bytes, struct sl_tier **out)
{
	if (bytes > 0)
		SL_TRY(sl_device_pinned_create(m->device, bytes, &m->host_memory));
	return sl_tier_host_over(m->host_memory, bytes, out);
}

static sl_status open_tiers(struct sl_machine *m)
{
	bool pinned = !sl_device_host_sees(m->device);

	for (uint32_t i = 0; i < m->n_tiers; i++) {
		const struct sl_program_tier *info = &m->tier_info[i];
		const struct sl_tier_kind *kind = sl_tier_kind_find(info->name);

		SL_BUG(kind == NULL);
		if (pinned && strcmp(info->name, "host") == 0)
			SL_TRY(open_host(m, info->bytes, &m->tiers[i]));
		else
			SL_TRY(kind->create(m->disk_folder, info->bytes, &m->tiers[i]));
	}
	return SL_OK;
}

static sl_status again(void *ctx, uint32_t op)
{
	const struct sl_machine *m = ctx;

	if (m->virtual != NULL)
		sl_virtual_op(m->virtual, op);
	return sl_exec_again(m->running, op, sl_engine_workspace(m->engine, op));
}

/* Those that came with the device, else the CPU's. */
static sl_status find_kernels(struct sl_machine *m)
{
	const struct sl_plugin *plugin = sl_device_plugin(m->device);

	m->kernels = plugin != NULL ? plugin->kernels : &sl_kernel_cpu;
	if (m->kernels == NULL)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the %s plug-in was built without kernels; build it again, or "
			"use --device cpu",
			plugin->name);
	return SL_OK;
}

sl_status sl_machine_open(struct sl_machine *m, const struct sl_session_config *config)
{
	const char *name = config->device != NULL ? config->device : "cpu";

	SL_TRY(sl_device_create(name, &m->device));
	SL_TRY(find_kernels(m));
	return strcmp(name, "sim") == 0 ? sl_virtual_create(&m->virtual) : SL_OK;
}

static sl_status take_arena(struct sl_machine *m)
{
	if (m->given.base == NULL)
		return sl_device_arena_create(m->device, m->arena_bytes, &m->arena);
	SL_BUG(m->given.bytes < m->planned_peak);
	m->arena = m->given;
	m->arena_bytes = m->given.bytes;
	return SL_OK;
}

static sl_status open_wire(struct sl_machine *m)
{
	if (sl_device_host_sees(m->device))
		return SL_OK;
	return sl_wire_create(&(struct sl_wire_opts){.device = m->device,
				      .arena = m->arena.base,
				      .tiers = m->tiers,
				      .n_tiers = m->n_tiers,
				      .launches = m->kernels->on_host},
		&m->wire);
}

sl_status sl_machine_start(struct sl_machine *m, const struct sl_session_config *config)
{
	int width = config->threads > 0 ? config->threads : sl_machine_cores();
	bool private = config->device == NULL || strcmp(config->device, "cpu") == 0;
	bool together;

	if (m->arena_bytes < m->planned_peak)
		m->arena_bytes = sl_align_up(m->planned_peak, 4096);
	SL_TRY(sl_pool_create(width, &m->pool));
	sl_kernel_set_width(width);
	SL_TRY(sl_event_ring_create(
		m->event_slots > 0 ? m->event_slots : EVENT_SLOTS, &m->events));
	SL_TRY(open_tiers(m));
	SL_TRY(take_arena(m));
	SL_TRY(open_wire(m));
	together = m->wire == NULL && width >= sl_machine_cores();
	return sl_engine_create(
		&(struct sl_engine_opts){
			.arena = m->arena.base,
			.arena_bytes = m->arena_bytes,
			.tiers = m->tiers,
			.n_tiers = m->n_tiers,
			.events = m->events,
			.pool = together ? m->pool : NULL,
			.page_unit = m->given.base == NULL && private ? SL_PAGES_HUGE : 0,
			.bounce_offset = m->n_tiers > 0 ? 0 : SL_NO_OFFSET,
			.again = again,
			.again_ctx = m,
			.watch = m->virtual != NULL ? &m->virtual->watch : NULL,
			.wire = m->wire != NULL ? sl_wire_engine(m->wire) : NULL,
		},
		&m->engine);
}

sl_status sl_machine_adopt(struct sl_machine *m, const struct sl_instance *x)
{
	const struct sl_plan *plan =
		x == m->watched ? sl_replan_plan(m->replan) : &x->plan;

	if (m->adopted == x)
		return SL_OK;
	SL_TRY(sl_engine_adopt(m->engine, &x->trace, plan));
	m->adopted = x;
	m->plan = plan;
	if (m->virtual != NULL)
		sl_virtual_adopt(m->virtual, &x->trace);
	return SL_OK;
}

static sl_status before(void *ctx, uint32_t op)
{
	const struct sl_machine *m = ctx;

	SL_TRY(sl_machine_look(m));
	SL_TRY(sl_engine_before(m->engine, op));
	if (m->virtual != NULL)
		sl_virtual_op(m->virtual, op);
	return SL_OK;
}

static sl_status after(void *ctx, uint32_t op)
{
	return sl_engine_after(((const struct sl_machine *)ctx)->engine, op);
}

sl_status sl_machine_step(struct sl_machine *m, const struct sl_run *run)
{
	const struct sl_hook hook = {.ctx = m, .before = before, .after = after};
	bool watched = m->replan != NULL && m->adopted == m->watched;
	struct sl_exec x = {
		.program = m->adopted->program,
		.arena = m->arena.base,
		.storage_offset = sl_engine_offsets(m->engine),
		.workspace_offset = m->plan->workspace_offset,
		.hooks = &hook,
		.n_hooks = 1,
		.events = m->events,
		.op_ns = watched ? sl_replan_times(m->replan) : m->op_ns,
		.run = *run,
	};

	sl_status st;

	x.run.pool = m->pool;
	if (m->wire != NULL)
		SL_TRY(sl_wire_begin(m->wire, x.program, &x));
	m->running = &x;
	st = sl_exec_step(&x);
	m->running = NULL;
	if (st == SL_OK)
		st = sl_engine_end_step(m->engine);
	if (m->wire != NULL)
		st = sl_wire_end(m->wire, st);
	SL_TRY(st);
	if (watched)
		sl_machine_measured(m);
	return m->virtual != NULL ? sl_account_end(&m->virtual->account) : SL_OK;
}

void sl_machine_stats(const struct sl_machine *m, struct sl_engine_stats *out)
{
	sl_engine_stats(m->engine, out);
	if (m->virtual != NULL)
		out->stall_ns = m->virtual->account.stall_ns;
}

void sl_machine_stop(struct sl_machine *m)
{
	struct sl_device *device = m->device;

	/* Its streams may still use what goes next. */
	sl_wire_destroy(m->wire);
	sl_replan_destroy(m->replan);
	sl_engine_destroy(m->engine);
	sl_virtual_destroy(m->virtual);
	for (uint32_t i = 0; i < m->n_tiers; i++)
		sl_tier_destroy(m->tiers[i]);
	if (m->device != NULL)
		sl_device_pinned_destroy(m->device, m->host_memory);
	if (m->device != NULL && m->given.base == NULL)
		sl_device_arena_destroy(m->device, &m->arena);
	sl_event_ring_destroy(m->events);
	sl_pool_destroy(m->pool);
	sl_free(m->own_costs);
	*m = (struct sl_machine){.device = device};
}

void sl_machine_finish(struct sl_machine *m)
{
	sl_machine_stop(m);
	sl_device_destroy(m->device);
	m->device = NULL;
}
