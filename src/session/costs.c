/* SPDX-License-Identifier: Apache-2.0 */
/* Which cost book a job has: the option's, the environment's, or the one of this build.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "session/machine.h"
#include "sluice/memory.h"

#define MAX_BOOK_BYTES ((size_t)1 << 20)

const char *sl_costs_name_at(size_t i, const char **summary)
{
	const struct sl_cost_book *book = sl_cost_book_at(i, summary);

	return book != NULL ? book->device : NULL;
}

static sl_status read_book(const char *path, struct sl_cost_book *out)
{
	struct sl_buf text = SL_BUF_MAX(MAX_BOOK_BYTES);
	sl_status st;

	SL_TRY_OUT(sl_fs_read(path, MAX_BOOK_BYTES, &text));
	SL_TRY_OUT(sl_cost_parse(path, sl_buf_text(&text), text.len, out));
out:
	sl_buf_finish(&text);
	return st;
}

sl_status sl_machine_costs(struct sl_machine *m, const struct sl_session_config *config)
{
	const char *from_environment = getenv("SLUICE_COSTS");
	const char *wanted = config->costs != NULL ? config->costs : from_environment;

	if (m->costs != NULL)
		return SL_OK;
	if (wanted == NULL || wanted[0] == '\0') {
		m->costs = sl_cost_book_at(0, NULL);
		return SL_OK;
	}
	m->costs = sl_cost_book_find(wanted);
	if (m->costs != NULL)
		return SL_OK;
	if (strchr(wanted, '/') == NULL && access(wanted, F_OK) != 0)
		return SL_FAIL(SL_E_USAGE,
			"--costs %s is neither a cost book nor a file; `sluice list "
			"costs` has the books, `sluice calibrate -o FILE` makes one",
			wanted);
	m->own_costs = sl_calloc(1, sizeof(*m->own_costs));
	if (m->own_costs == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a cost book");
	SL_TRY(read_book(wanted, m->own_costs));
	m->costs = m->own_costs;
	return SL_OK;
}
