/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_NPY_H
#define SL_DATA_NPY_H

#include "sluice/tensor.h"

/* The header of a .npy file (NumPy format 1.0 to 3.0), checked against the file's size.
 */
struct sl_npy {
	enum sl_dtype dtype;
	struct sl_shape shape;
	uint64_t base; /* offset of the data */
};
/* Only little-endian f32, f64, u8, i32 and i64 in C order; everything else is
 * SL_E_FORMAT. */
SL_NODISCARD sl_status sl_npy_header(
	int fd, const char *path, uint64_t size, struct sl_npy *out);

#endif
