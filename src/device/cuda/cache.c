/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled kernels of earlier runs, in $XDG_CACHE_HOME/sluice (else ~/.cache/sluice). A
 * file is named for all that its code depends on; one that cannot be kept is made again.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "device/cuda/cuda_int.h"

#define CODE_MAX ((size_t)64 << 20)
/* Another way of compiling: another number. */
#define GENERATION 1u

/* FNV-1a; the end of a text counts, so that texts in a row cannot run into each other. */
static uint64_t mix(uint64_t h, const char *text)
{
	do {
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++ != '\0');
	return h;
}

static uint64_t key_of(const struct sl_cuda_image *image, const struct sl_cuda_unit *u)
{
	uint64_t h = mix(UINT64_C(0xcbf29ce484222325) + GENERATION, u->source);

	for (size_t i = 0; i < image->n_headers; i++)
		h = mix(mix(h, image->headers[i].name), image->headers[i].text);
	return h;
}

/* False: there is no such place. */
static bool find_folder(char path[PATH_MAX])
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (base != NULL && base[0] == '/')
		n = snprintf(path, PATH_MAX, "%s", base);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache", home);
	if (n < 0 || n >= PATH_MAX - 128)
		return false;
	(void)mkdir(path, 0700);
	memcpy(path + n, "/sluice", sizeof("/sluice"));
	(void)mkdir(path, 0700);
	return true;
}

static bool find_file(int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, char path[PATH_MAX])
{
	size_t used;
	int n;

	if (!find_folder(path))
		return false;
	used = strlen(path);
	n = snprintf(path + used, PATH_MAX - used, "/%s.sm_%d.%016llx.cubin", u->name,
		arch, (unsigned long long)key_of(image, u));
	return n > 0 && (size_t)n < PATH_MAX - used;
}

sl_status sl_cuda_code_take(int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out)
{
	struct sl_buf file = SL_BUF_INIT;
	char path[PATH_MAX];
	bool keeps = find_file(arch, image, u, path);

	if (keeps && sl_fs_read(path, CODE_MAX, &file) == SL_OK && file.len > 0) {
		*out = (struct sl_cuda_code){file.data, file.len};
		return SL_OK;
	}
	sl_buf_finish(&file);
	SL_TRY(sl_cuda_compile(arch, image, u, out));
	/* Without it the next run compiles again. */
	if (keeps && sl_fs_write(path, out->data, out->bytes) != SL_OK)
		return SL_OK;
	return SL_OK;
}

void sl_cuda_code_drop(
	int arch, const struct sl_cuda_image *image, const struct sl_cuda_unit *u)
{
	char path[PATH_MAX];

	if (find_file(arch, image, u, path))
		(void)remove(path);
}
