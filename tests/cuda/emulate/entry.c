/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels there are: each source file registers its own when it is loaded. */
#include "cuda/emulate/launch.h"

#include <string.h>

static struct emu_entry *first;

void emu_register(struct emu_entry *e)
{
	e->next = first;
	first = e;
}

const struct emu_entry *emu_find(const char *name)
{
	for (const struct emu_entry *e = first; e != NULL; e = e->next)
		if (strcmp(e->name, name) == 0)
			return e;
	return NULL;
}
