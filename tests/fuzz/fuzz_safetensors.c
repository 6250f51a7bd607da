/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: what opens tiles the file, is found by name and can be read to its last
 * byte. */
#include "memory_file.h"

#include "model/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sl_st_file *f)
{
	uint64_t end = f->n_tensors ? f->tensors[0].offset : f->size;
	char last;

	for (size_t i = 0; i < f->n_tensors; i++) {
		const struct sl_st_tensor *t = &f->tensors[i];
		SL_BUG(t->offset != end);
		end += t->bytes;
		SL_BUG(sl_st_find(f, t->name) != t);
		SL_BUG(t->dtype != SL_DTYPE_COUNT &&
			t->bytes != (uint64_t)sl_shape_count(&t->shape) *
					    sl_dtype_bytes(t->dtype));
		if (t->bytes)
			SL_BUG(sl_st_read(f, t, t->bytes - 1, &last, 1) != SL_OK);
	}
	SL_BUG(end != f->size);
	for (size_t i = 0; i < f->n_meta; i++)
		SL_BUG(sl_st_meta(f, f->meta[i].key) != f->meta[i].value);
	(void)!sl_st_verify(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[MEMORY_PATH];
	int fd = memory_file(data, size, path);
	struct sl_st_file f;
	struct sl_checkpoint_info info;

	if (sl_st_open(path, &f) == SL_OK)
		check(&f);
	sl_st_close(&f);
	if (sl_checkpoint_open(path, &f, &info) == SL_OK)
		sl_st_close(&f);
	close(fd);
	return 0;
}
