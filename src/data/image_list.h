/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_IMAGE_LIST_H
#define SL_DATA_IMAGE_LIST_H

#include "base/buf.h"
#include "sluice/data.h"

/*
 * The images of a folder's sub-folders. Sub-folders sorted by name (by bytes) are the
 * labels 0, 1, ...; their files that end in .png, .jpg or .jpeg (small or capital) follow
 * each other sorted by name. Names that begin with a dot and everything else are left
 * out. The list lies in a scratch file, so that a million of names takes no memory.
 */
struct sl_image_list {
	int fd; /* of the scratch file; -1: none */
	int64_t count, labels;
	char **label; /* [labels], names of sub-folders */
	struct sl_buf path; /* DIR, and while in use DIR/label/file */
	size_t base; /* length of DIR */
};

/* Finish it in any case. */
SL_NODISCARD sl_status sl_image_list_open(
	const char *dir, const struct sl_data_opts *o, struct sl_image_list *out);
/* Sets out->path to the file of image i. */
SL_NODISCARD sl_status sl_image_list_at(
	struct sl_image_list *list, int64_t i, int64_t *label);
void sl_image_list_finish(struct sl_image_list *list);

#endif
