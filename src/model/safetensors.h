/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_SAFETENSORS_H
#define SL_MODEL_SAFETENSORS_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/map.h"
#include "sluice/tensor.h"

/*
 * The safetensors format: 8 bytes with the header's length (little-endian), a JSON header
 * {"name": {"dtype", "shape", "data_offsets": [begin, end)}, "__metadata__": {"key":
 * "text"}}, then the data without holes. Files are hostile until read whole: nothing is
 * allocated by a size that the file does not hold, and each failure names the file and
 * the place.
 */
#define SL_ST_HEADER_MAX ((uint64_t)16 << 20)
#define SL_ST_TENSORS_MAX 65536
#define SL_ST_NAME_MAX 256

/* Metadata keys of our own; a file that has them is checked against them. */
#define SL_ST_META_HEADER_CRC "sluice.header_crc32c"
#define SL_ST_META_DATA_CRC "sluice.data_crc32c"

struct sl_st_tensor {
	const char *name;
	const char *dtype_name; /* the file's: "BF16" */
	enum sl_dtype dtype; /* SL_DTYPE_COUNT where this program has no such type */
	struct sl_shape shape;
	uint64_t offset; /* in the file */
	uint64_t bytes;
	uint32_t crc; /* of the data, where the file has checksums */
};

struct sl_st_meta {
	const char *key, *value;
};

/* An open file: tables in the order of the data (tensors) and of the header (metadata).
 */
struct sl_st_file {
	int fd;
	char *path;
	uint64_t size;
	struct sl_st_tensor *tensors;
	struct sl_st_meta *meta;
	size_t n_tensors, n_meta;
	size_t cap_tensors, cap_meta;
	bool has_crc;
	struct sl_map names; /* tensor name to index */
	struct sl_arena arena;
};

/* Reads and checks the header (and its checksum, where there is one). On failure *out is
 * empty. */
SL_NODISCARD sl_status sl_st_open(const char *path, struct sl_st_file *out);
void sl_st_close(struct sl_st_file *f); /* zeroed objects are fine */
const struct sl_st_tensor *sl_st_find(const struct sl_st_file *f, const char *name);
const char *sl_st_meta(const struct sl_st_file *f, const char *key); /* NULL: absent */
/* Bytes [begin, begin + len) of a tensor. */
SL_NODISCARD sl_status sl_st_read(const struct sl_st_file *f,
	const struct sl_st_tensor *t, uint64_t begin, void *data, size_t len);
/* Reads all data once and compares it with the checksums; SL_E_FORMAT names the damaged
 * tensor. SL_OK where the file has none. */
SL_NODISCARD sl_status sl_st_verify(const struct sl_st_file *f);

/*
 * Writing, whole or not at all (base/fs.h), without holding data: declare, then write the
 * bytes of all tensors in the declared order in pieces of any size, then commit.
 * Checksums of header and data are added to the metadata. The same input gives the same
 * bytes. One writer; not thread-safe.
 */
struct sl_st_decl {
	const char
		*name; /* unique, 1 to 256 printable bytes of UTF-8, not "__metadata__" */
	struct sl_type type;
};
struct sl_st_writer;
SL_NODISCARD sl_status sl_st_create(const char *path, const struct sl_st_decl *tensors,
	size_t n, const struct sl_st_meta *meta, size_t n_meta,
	struct sl_st_writer **out);
SL_NODISCARD sl_status sl_st_write(struct sl_st_writer *w, const void *data, size_t len);
/* Ends the writer in both cases. SL_E_INVALID if bytes are missing. */
SL_NODISCARD sl_status sl_st_commit(struct sl_st_writer *w);
void sl_st_cancel(struct sl_st_writer *w); /* NULL is fine */

#endif
