/* SPDX-License-Identifier: Apache-2.0 */
/* Which images a folder holds: sub-folders are labels, files are listed in a scratch
 * file, one record of fixed size each. */
#include "data/image_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "data/source.h"
#include "data/stream.h"

#define PATH_LIMIT 4096
#define NAME_LIMIT 256
#define LABELS_MAX ((size_t)1 << 20)
#define FILES_MAX ((size_t)1 << 26) /* of one sub-folder */

struct record {
	int32_t label;
	char name[NAME_LIMIT];
};

struct names {
	char **name;
	size_t n, cap;
};

static void names_finish(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		sl_free(names->name[i]);
	sl_free(names->name);
	*names = (struct names){0};
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_image(const char *name)
{
	static const char *const ends[] = {".png", ".jpg", ".jpeg"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(*ends); i++)
		if (strcasecmp(dot, ends[i]) == 0)
			return true;
	return false;
}

static sl_status join(struct sl_image_list *list, const char *label, const char *name)
{
	list->path.len = list->base;
	list->path.data[list->base] = '\0';
	if (!label)
		return SL_OK;
	return name ? sl_buf_printf(&list->path, "/%s/%s", label, name)
		    : sl_buf_printf(&list->path, "/%s", label);
}

/* Whether an entry of DIR (label NULL) or of DIR/label counts. */
static sl_status counts(
	struct sl_image_list *list, const char *label, const char *name, bool *out)
{
	*out = false;
	if (name[0] == '.' || (label && !is_image(name)))
		return SL_OK;
	if (!label)
		SL_TRY(join(list, name, NULL));
	*out = label || sl_fs_is_folder(list->path.data);
	return join(list, label, NULL);
}

static sl_status add_name(struct names *names, const char *name, size_t max)
{
	void *items = names->name;
	char *own = sl_strdup(name);

	if (own && sl_grow(&items, &names->cap, names->n + 1, sizeof(*names->name),
			   max) == 0) {
		names->name = items;
		names->name[names->n++] = own;
		return SL_OK;
	}
	sl_free(own);
	if (names->n >= max)
		return SL_FAIL(SL_E_LIMIT, "more than %zu entries in one folder", max);
	return SL_FAIL(SL_E_NOMEM, "no host memory for the names of a folder");
}

/* Sorted entries of the folder that list->path names. */
static sl_status read_folder(
	struct sl_image_list *list, const char *label, struct names *names)
{
	DIR *dir = sl_fs_injected() ? NULL : opendir(list->path.data);
	sl_status st = SL_OK;
	bool use = false;

	if (!dir)
		return SL_FAIL(
			errno == ENOENT || errno == ENOTDIR ? SL_E_NOT_FOUND : SL_E_READ,
			"%s: cannot be read as a folder: %s; images:DIR wants a folder "
			"with a sub-folder for each label",
			list->path.data, strerror(errno));
	for (struct dirent *e; st == SL_OK && (e = readdir(dir)) != NULL;) {
		st = counts(list, label, e->d_name, &use);
		if (st == SL_OK && use)
			st = add_name(names, e->d_name, label ? FILES_MAX : LABELS_MAX);
	}
	(void)closedir(dir);
	if (st == SL_OK && names->n)
		qsort(names->name, names->n, sizeof(*names->name), by_bytes);
	return st;
}

static sl_status add_files(
	struct sl_image_list *list, int64_t label, struct sl_spool *spool)
{
	struct names files = {0};
	struct record r = {.label = (int32_t)label};

	SL_TRY(join(list, list->label[label], NULL));
	sl_status st = read_folder(list, list->label[label], &files);
	for (size_t i = 0; st == SL_OK && i < files.n; i++) {
		size_t len = strlen(files.name[i]);
		if (len >= NAME_LIMIT) {
			st = SL_FAIL(SL_E_LIMIT, "%s: a name of %zu bytes; at most %d",
				list->path.data, len, NAME_LIMIT - 1);
			break;
		}
		memset(r.name, 0, sizeof(r.name));
		memcpy(r.name, files.name[i], len);
		st = sl_spool_put(spool, &r, sizeof(r));
	}
	list->count += (int64_t)files.n;
	names_finish(&files);
	return st;
}

static sl_status read_all(struct sl_image_list *list, struct sl_spool *spool)
{
	struct names labels = {0};
	sl_status st = read_folder(list, NULL, &labels);

	list->label = labels.name;
	list->labels = (int64_t)labels.n;
	SL_TRY(st);
	for (int64_t i = 0; i < list->labels; i++)
		SL_TRY(add_files(list, i, spool));
	SL_TRY(join(list, NULL, NULL));
	if (list->count == 0)
		return SL_FAIL(SL_E_FORMAT,
			"%s: no .png, .jpg or .jpeg file in any of its %lld sub-folders; "
			"images:DIR wants DIR/LABEL/FILE",
			list->path.data, (long long)list->labels);
	return sl_spool_flush(spool);
}

sl_status sl_image_list_open(
	const char *dir, const struct sl_data_opts *o, struct sl_image_list *out)
{
	struct sl_spool spool = {0};

	*out = (struct sl_image_list){.fd = -1, .path = SL_BUF_MAX(PATH_LIMIT)};
	SL_TRY(sl_buf_puts(&out->path, dir));
	out->base = out->path.len;
	SL_TRY(sl_data_scratch(o, &out->fd));
	sl_status st = sl_spool_init(&spool, out->fd);
	if (st == SL_OK)
		st = read_all(out, &spool);
	sl_spool_finish(&spool);
	return st;
}

sl_status sl_image_list_at(struct sl_image_list *list, int64_t i, int64_t *label)
{
	struct record r;

	SL_TRY(sl_fs_pread(list->fd, "scratch file of the images' names", &r, sizeof(r),
		(uint64_t)i * sizeof(r)));
	*label = r.label;
	return join(list, list->label[r.label], r.name);
}

void sl_image_list_finish(struct sl_image_list *list)
{
	struct names labels = {.name = list->label, .n = (size_t)list->labels};

	names_finish(&labels);
	sl_buf_finish(&list->path);
	sl_fs_close(list->fd);
	*list = (struct sl_image_list){.fd = -1};
}
