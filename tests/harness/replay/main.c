/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a fuzz target's corpus as an ordinary test, without libFuzzer: each file as it
 * is, cut at a few lengths, and with single bytes changed at places from a fixed seed.
 * Usage: PROGRAM [FILE|FOLDER]...
 */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/rng.h"

#define TIMEOUT_S 60
#define INPUT_MAX ((size_t)4 << 20)
#define CUTS 16
#define CHANGES 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int passed;
static int failed;

static void one(const char *data, size_t size)
{
	/* A copy of exactly this size, so that a read past the end is seen by the
	 * sanitizer. */
	uint8_t *copy = sl_alloc(size);
	long before = sl_alloc_live();

	if (!copy)
		return;
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	if (sl_alloc_live() != before) {
		printf("an input of %zu bytes leaks %ld allocations\n", size,
			sl_alloc_live() - before);
		failed++;
	}
	sl_free(copy);
}

static void variants(struct sl_buf *b)
{
	struct sl_rng rng = {.key = {.seed = 1}};

	one(sl_buf_text(b), b->len);
	for (size_t i = 1; b->len && i < CUTS; i++)
		one(b->data, b->len * i / CUTS);
	for (int i = 0; b->len && i < CHANGES; i++) {
		size_t at = (size_t)sl_rng_below(&rng, b->len);
		char was = b->data[at];
		b->data[at] = (char)(sl_rng_next(&rng) & 0xff);
		one(b->data, b->len);
		b->data[at] = was;
	}
}

static int file(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	struct sl_buf b = SL_BUF_INIT;
	int before = failed;

	(void)info;
	(void)walk;
	if (kind != FTW_F)
		return 0;
	if (sl_fs_read(path, INPUT_MAX, &b) != SL_OK) {
		printf("%s\n", sl_last_error());
		failed++;
		return 0;
	}
	variants(&b);
	sl_buf_finish(&b);
	if (failed == before)
		passed++;
	else
		printf("^ %s\n", path);
	return 0;
}

int main(int argc, char **argv)
{
	alarm(TIMEOUT_S);
	one("", 0);
	if (!failed)
		passed++;
	for (int i = 1; i < argc; i++)
		nftw(argv[i], file, 16, FTW_PHYS);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
