/* SPDX-License-Identifier: Apache-2.0 */
/* The table of memory policies and the one door to them: plan, seal, check, price. */
#include "memory/policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/place.h"
#include "memory/policy/alone.h"
#include "memory/policy/baseline.h"
#include "memory/policy/keep_int.h"

static const struct sl_mem_policy *const policies[] = {
#define SL_MEM_POLICY(name) &sl_mem_policy_##name,
#include "memory/policy/policies.def"
#undef SL_MEM_POLICY
};

const struct sl_mem_policy *sl_policy_at(size_t i)
{
	return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct sl_mem_policy *sl_policy_find(const char *name)
{
	for (size_t i = 0; sl_policy_at(i); i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	}
	return NULL;
}

struct sl_policy_choice sl_policy_usual(const struct sl_mem_policy *policy)
{
	struct sl_policy_choice c = {.policy = policy};

	for (size_t i = 0; policy->options && policy->options[i].name; i++)
		c.options[i] = policy->options[i].usual;
	return c;
}

struct sl_policy_choice sl_policy_at_effort(
	const struct sl_policy_choice *c, int64_t above)
{
	const struct sl_policy_option *rows = c->policy->options;
	struct sl_policy_choice less = *c;

	for (size_t i = 0; rows && rows[i].name; i++) {
		if (strcmp(rows[i].name, "effort") == 0 &&
			rows[i].min + above < less.options[i])
			less.options[i] = rows[i].min + above;
	}
	return less;
}

struct sl_policy_choice sl_policy_quick(const struct sl_policy_choice *c)
{
	return sl_policy_at_effort(c, 0);
}

static sl_status fail_option(const struct sl_mem_policy *p, const char *text, size_t len)
{
	char names[256] = "none";
	size_t n = 0;

	for (size_t i = 0; p->options && p->options[i].name && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s=%lld..%lld",
			i > 0 ? ", " : "", p->options[i].name,
			(long long)p->options[i].min, (long long)p->options[i].max);
	return SL_FAIL(SL_E_USAGE, "--policy %s: option '%.*s'; its options: %s", p->name,
		(int)len, text, names);
}

/* One "name=value" of len bytes. */
static sl_status parse_option(struct sl_policy_choice *c, const char *text, size_t len)
{
	const struct sl_policy_option *rows = c->policy->options;
	const char *equals = memchr(text, '=', len);
	size_t name = equals ? (size_t)(equals - text) : len, i = 0;
	char *end;
	long long value;

	while (rows && rows[i].name &&
		(strlen(rows[i].name) != name || strncmp(rows[i].name, text, name) != 0))
		i++;
	if (!rows || !rows[i].name || !equals)
		return fail_option(c->policy, text, len);
	errno = 0;
	value = strtoll(equals + 1, &end, 10);
	if (errno != 0 || end == equals + 1 || end != text + len || value < rows[i].min ||
		value > rows[i].max)
		return fail_option(c->policy, text, len);
	c->options[i] = value;
	return SL_OK;
}

/* What follows a policy's name: nothing, or a colon and its options. */
static sl_status parse_options(struct sl_policy_choice *c, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(++text, ",");

		SL_TRY(parse_option(c, text, len));
		text += len;
	}
	return SL_OK;
}

static bool is_named(const char *text, const char *name)
{
	size_t len = strcspn(text, ":");

	return strlen(name) == len && strncmp(name, text, len) == 0;
}

sl_status sl_policy_parse(const char *text, struct sl_policy_choice *out)
{
	for (size_t i = 0; sl_policy_at(i); i++) {
		struct sl_policy_choice c = sl_policy_usual(policies[i]);

		if (!is_named(text, policies[i]->name))
			continue;
		SL_TRY(parse_options(&c, text + strcspn(text, ":")));
		*out = c;
		return SL_OK;
	}
	return SL_FAIL(SL_E_USAGE,
		"--policy %s is unknown; `sluice list policies` lists them", text);
}

sl_status sl_policy_parse_auto(
	const char *text, bool with_budget, struct sl_policy_choice *out)
{
	struct sl_policy_choice c =
		sl_policy_usual(sl_policy_find(SL_POLICY_WITH_BUDGET));

	if (text != NULL && !is_named(text, SL_POLICY_AUTO))
		return sl_policy_parse(text, out);
	if (text != NULL)
		SL_TRY(parse_options(&c, text + strcspn(text, ":")));
	*out = with_budget ? c
			   : sl_policy_usual(sl_policy_find(SL_POLICY_WITHOUT_BUDGET));
	return SL_OK;
}

/* The net below a policy that found nothing by itself. */
static sl_status catch (const struct sl_mem_policy *p, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	struct sl_reach tiers[SL_REACH_MAX];
	uint64_t least = 0;

	if (p->least == sl_baseline_least || sl_reach_find(t, tiers) > 0)
		return sl_baseline_net(t, budget, p->name, out);
	SL_TRY(p->least(t, &least));
	return sl_alone_fail(budget, p->name, least);
}

static sl_status call(const struct sl_policy_choice *c, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	uint64_t peak = 0;

	if (c->policy->plan_with)
		return c->policy->plan_with(t, budget, c->options, out);
	if (c->policy->plan)
		return c->policy->plan(t, budget, out);
	SL_TRY(sl_keep_within(t, budget, c->policy->name, out, &peak));
	if (peak <= budget)
		return SL_OK;
	SL_TRY(c->policy->own(t, budget, c->options, out));
	return out->value_offset ? SL_OK : catch (c->policy, t, budget, out);
}

/*
 * A plan for fewer bytes is one for more, too. Only tiers that are too small make a
 * difference: at another budget other values leave.
 */
static sl_status call_within(const struct sl_policy_choice *c, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	sl_status st = call(c, t, budget, out);
	uint64_t least;

	if (st != SL_E_INFEASIBLE || c->policy->least == NULL ||
		c->policy->least(t, &least) != SL_OK)
		return st;
	least = sl_align_up(least, SL_PAGE_BYTES);
	if (least < budget && call(c, t, least, out) == SL_OK) {
		out->budget = budget;
		return SL_OK;
	}
	sl_plan_finish(out);
	return call(c, t, budget, out); /* says why */
}

/* Seals, checks and prices a plan of the policy. */
static sl_status finish(const struct sl_policy_choice *c, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *plan)
{
	struct sl_plan_price price = {0};
	sl_status st;

	SL_TRY(sl_plan_seal(plan, t));
	st = sl_plan_check(t, plan, budget, NULL);
	if (st != SL_OK)
		return sl_fail_prefix(
			st, "policy %s made an unsound plan (a bug)", c->policy->name);
	SL_TRY(sl_plan_price(t, plan, &price));
	plan->price_ns = price.iter_ns;
	plan->stall_ns = price.stall_ns;
	return SL_OK;
}

sl_status sl_policy_apply(const struct sl_policy_choice *choice, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	sl_status st = SL_OK;
	struct sl_plan plan = SL_PLAN_INIT;

	SL_TRY_OUT(call_within(choice, t, budget, &plan));
	SL_TRY_OUT(finish(choice, t, budget, &plan));
	sl_plan_move(out, &plan);
out:
	sl_plan_finish(&plan);
	return st;
}

sl_status sl_policy_apply_own(const struct sl_policy_choice *choice,
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	sl_status st = SL_OK;
	struct sl_plan plan = SL_PLAN_INIT;

	if (choice->policy->own == NULL)
		return sl_policy_apply(choice, t, budget, out);
	SL_TRY_OUT(choice->policy->own(t, budget, choice->options, &plan));
	if (plan.value_offset == NULL)
		goto out;
	SL_TRY_OUT(finish(choice, t, budget, &plan));
	sl_plan_move(out, &plan);
out:
	sl_plan_finish(&plan);
	return st;
}

sl_status sl_policy_plan(const struct sl_mem_policy *policy, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	struct sl_policy_choice usual = sl_policy_usual(policy);

	return sl_policy_apply(&usual, t, budget, out);
}

sl_status sl_policy_least_claimed(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_least_budget least = {0};
	uint64_t bytes = 0;

	if (policy->least) {
		SL_TRY(policy->least(t, &bytes));
	} else {
		SL_TRY(sl_trace_least_budget(t, &least));
		bytes = least.bytes;
	}
	*out_bytes = sl_align_up(bytes, SL_PAGE_BYTES);
	return SL_OK;
}

sl_status sl_policy_least(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_policy_choice choice = sl_policy_usual(policy);
	struct sl_plan plan = SL_PLAN_INIT;
	uint64_t bytes;

	SL_TRY(sl_policy_least_claimed(policy, t, &bytes));
	choice = sl_policy_quick(&choice);
	SL_TRY(sl_policy_apply(&choice, t, bytes, &plan));
	sl_plan_finish(&plan);
	*out_bytes = bytes;
	return SL_OK;
}
