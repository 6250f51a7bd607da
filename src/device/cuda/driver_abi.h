/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_CUDA_DRIVER_ABI_H
#define SL_DEVICE_CUDA_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

/*
 * The facts of the CUDA driver's binary interface that we use (drivers of CUDA 12 and
 * later, 64 bits): no header of CUDA's is needed to build. Enumerations are unsigned
 * there, as here; pointees are never looked into and have the driver's own tags, so that
 * where cuda.h is installed a test compiles both and asserts that all of it agrees.
 */
typedef unsigned sl_cu_result;
typedef int sl_cu_device;
typedef unsigned long long sl_cu_ptr;
typedef unsigned long long sl_cu_mem;
typedef struct CUctx_st *sl_cu_context;
typedef struct CUstream_st *sl_cu_stream;
typedef struct CUevent_st *sl_cu_event;
typedef struct CUmod_st *sl_cu_module;
typedef struct CUfunc_st *sl_cu_function;
typedef struct CUgraph_st *sl_cu_graph;
typedef struct CUgraphExec_st *sl_cu_graph_exec;
typedef void (*sl_cu_host_fn)(void *ctx);
typedef struct _nvrtcProgram *sl_nvrtc_program;

struct sl_cu_uuid {
	char bytes[16];
};

struct sl_cu_mem_location {
	unsigned type;
	int id;
};

struct sl_cu_mem_prop {
	unsigned type;
	unsigned handle_types;
	struct sl_cu_mem_location location;
	void *win32;
	struct {
		unsigned char compression, rdma;
		unsigned short usage;
		unsigned char reserved[4];
	} flags;
};

struct sl_cu_mem_access {
	struct sl_cu_mem_location location;
	unsigned flags;
};

/* Results (CUDA_...); those that no later call of the context gets over are `sticky`. */
#define SL_CU_RESULTS(X, sticky) \
	X(SUCCESS, 0) \
	X(ERROR_INVALID_VALUE, 1) \
	X(ERROR_OUT_OF_MEMORY, 2) \
	X(ERROR_NOT_INITIALIZED, 3) \
	sticky(ERROR_DEINITIALIZED, 4) sticky(ERROR_DEVICE_UNAVAILABLE, 46) X( \
		ERROR_NO_DEVICE, 100) X(ERROR_INVALID_DEVICE, \
		101) X(ERROR_INVALID_IMAGE, 200) X(ERROR_INVALID_CONTEXT, \
		201) X(ERROR_NO_BINARY_FOR_GPU, 209) sticky(ERROR_ECC_UNCORRECTABLE, \
		214) X(ERROR_INVALID_PTX, 218) sticky(ERROR_NVLINK_UNCORRECTABLE, \
		220) X(ERROR_UNSUPPORTED_PTX_VERSION, 222) X(ERROR_INVALID_HANDLE, \
		400) X(ERROR_ILLEGAL_STATE, 401) X(ERROR_NOT_FOUND, \
		500) X(ERROR_NOT_READY, 600) sticky(ERROR_ILLEGAL_ADDRESS, \
		700) X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701) sticky(ERROR_LAUNCH_TIMEOUT, \
		702) sticky(ERROR_CONTEXT_IS_DESTROYED, 709) sticky(ERROR_ASSERT, 710) \
		sticky(ERROR_HARDWARE_STACK_ERROR, 714) sticky( \
			ERROR_ILLEGAL_INSTRUCTION, 715) sticky(ERROR_MISALIGNED_ADDRESS, \
			716) sticky(ERROR_INVALID_ADDRESS_SPACE, 717) \
			sticky(ERROR_INVALID_PC, 718) sticky(ERROR_LAUNCH_FAILED, 719) \
				X(ERROR_NOT_PERMITTED, 800) X(ERROR_NOT_SUPPORTED, 801) \
					X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900) \
						X(ERROR_STREAM_CAPTURE_INVALIDATED, 901) \
							sticky(ERROR_UNKNOWN, 999)

/* The other numbers, each as SL_CU_NAME; in cuda.h it is CU_NAME. */
#define SL_CU_NUMBERS(X) \
	X(DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
	X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
	X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
	X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97) \
	X(DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102) \
	X(DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103) \
	X(MEMHOSTALLOC_PORTABLE, 1) \
	X(STREAM_NON_BLOCKING, 1) \
	X(EVENT_BLOCKING_SYNC, 1) \
	X(EVENT_DISABLE_TIMING, 2) \
	X(MEM_ALLOCATION_TYPE_PINNED, 1) \
	X(MEM_LOCATION_TYPE_DEVICE, 1) \
	X(MEM_HANDLE_TYPE_NONE, 0) \
	X(MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1) \
	X(MEM_ACCESS_FLAGS_PROT_READWRITE, 3) \
	X(MEM_ALLOC_GRANULARITY_MINIMUM, 0) \
	X(FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
	X(STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)

enum sl_cu_number {
#define SL_CU_VALUE(name, value) SL_CU_##name = (value),
	SL_CU_RESULTS(SL_CU_VALUE, SL_CU_VALUE) SL_CU_NUMBERS(SL_CU_VALUE)
#undef SL_CU_VALUE
};

#endif
