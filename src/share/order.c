/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes before whom: age, priority, deadline, then the policy or the wait. */
#include "share/state_int.h"

static sl_ns deadline_of(const struct sl_job *j)
{
	return j->deadline_ns > 0 ? j->deadline_ns : INT64_MAX;
}

int sl_share_rank(const struct sl_job *a, const struct sl_job *b)
{
	sl_ns x = a->aged_ns >= 0 ? a->aged_ns : INT64_MAX;
	sl_ns y = b->aged_ns >= 0 ? b->aged_ns : INT64_MAX;

	if (x != y)
		return x < y ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	x = deadline_of(a);
	y = deadline_of(b);
	return x < y ? -1 : x > y;
}

sl_ns sl_share_usual(const struct sl_share *s)
{
	return s->ended > 0 ? (sl_ns)(s->ended_ns / (double)s->ended) : SL_JOB_USUAL_NS;
}

int sl_share_order(const struct sl_share *s, bool keyed, const struct sl_job *a,
	const struct sl_job *b)
{
	int by = sl_share_rank(a, b);

	if (by == 0 && keyed && s->policy->compare)
		by = s->policy->compare(a, b, sl_share_usual(s));
	return by != 0 ? by : a->id < b->id ? -1 : a->id > b->id;
}

int64_t sl_share_level(const struct sl_share *s, const struct sl_job *j)
{
	return j->begun ? j->level : s->least_level;
}

int64_t sl_share_key(const struct sl_share *s, const struct sl_job *j)
{
	if (s->policy->charge)
		return sl_share_level(s, j);
	return s->policy->by_remaining ? sl_job_remaining(j, sl_share_usual(s))
				       : j->arrive_ns;
}

void sl_share_find_least(struct sl_share *s)
{
	bool any = false;

	if (!sl_share_parks(s) || !s->policy->charge)
		return;
	s->least_level = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (!j->begun || (any && j->level >= s->least_level))
			continue;
		s->least_level = j->level;
		any = true;
	}
}

int sl_share_wait_order(
	const struct sl_share *s, const struct sl_job *a, const struct sl_job *b)
{
	int by = sl_share_rank(a, b);
	int64_t x, y;

	if (!s->policy->eager)
		return sl_share_order(s, true, a, b);
	if (by != 0 || !sl_share_parks(s) || !s->policy->turns)
		return by != 0 ? by : a->id < b->id ? -1 : a->id > b->id;
	x = sl_share_level(s, a);
	y = sl_share_level(s, b);
	if (x != y)
		return x < y ? -1 : 1;
	if (a->wait_from_ns != b->wait_from_ns)
		return a->wait_from_ns < b->wait_from_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Where turns are long, age alone does not take anything from a job that came earlier:
 * that one ends soon enough (it is in R). */
int sl_share_rank_against(
	const struct sl_share *s, const struct sl_job *j, const struct sl_job *resident)
{
	struct sl_job young = *j;

	if (!s->policy->turns && resident->id < j->id)
		young.aged_ns = -1;
	return sl_share_rank(&young, resident);
}

const struct sl_job *sl_share_first_aged(const struct sl_share *s)
{
	const struct sl_job *first = NULL;

	for (size_t i = 0; s->rules.max_wait_ns > 0 && i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (j->aged_ns >= 0 && sl_job_waits(j) &&
			(!first || j->aged_ns < first->aged_ns) &&
			(j->resident || sl_share_in_limit(s, j, j->persistent_bytes,
						j->ephemeral_bytes)))
			first = j;
	}
	return first;
}
