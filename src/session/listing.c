/* SPDX-License-Identifier: Apache-2.0 */
/* Names for listings, out of the tables themselves. */
#include "sluice/memory.h"

#include "device/device.h"
#include "device/plugin.h"
#include "memory/policy/policy.h"
#include "memory/tier/tier.h"

static const char *give(const char *name, const char *text, const char **summary)
{
	if (summary != NULL)
		*summary = text;
	return name;
}

const char *sl_policy_name_at(size_t i, const char **summary)
{
	const struct sl_mem_policy *policy = sl_policy_at(i);

	return policy != NULL ? give(policy->name, policy->summary, summary) : NULL;
}

bool sl_policy_option_at(const char *policy, size_t i, struct sl_policy_option_row *out)
{
	const struct sl_mem_policy *p = sl_policy_find(policy);
	const struct sl_policy_option *row = p != NULL ? p->options : NULL;

	for (size_t k = 0; row != NULL && row->name != NULL && k < i; k++)
		row++;
	if (row == NULL || row->name == NULL)
		return false;
	*out = (struct sl_policy_option_row){.name = row->name,
		.help = row->help,
		.min = row->min,
		.max = row->max,
		.usual = row->usual};
	return true;
}

const char *sl_device_name_at(size_t i, const char **summary)
{
	const struct sl_device_kind *kind = sl_device_kind_at(i);

	return kind != NULL ? give(kind->name, kind->summary, summary) : NULL;
}

sl_status sl_device_probe(const char *name, char *text, size_t size)
{
	const struct sl_plugin *p = NULL;

	SL_TRY(sl_plugin_find(name, &p));
	return p->probe(text, size);
}

const char *sl_tier_name_at(size_t i, const char **summary)
{
	const struct sl_tier_kind *kind = sl_tier_kind_at(i);

	return kind != NULL ? give(kind->name, kind->summary, summary) : NULL;
}
