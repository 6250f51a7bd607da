/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels compiled for the card that is there, where the build had no nvcc. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda/cuda_int.h"

#define OPTIONS_TEXT 64
#define CODE_MAX ((size_t)64 << 20)
#define LOG_MAX ((size_t)1 << 20)
#define LOG_SHOWN 700

struct nvrtc {
	void *lib;
#define SL_NVRTC(name, args) unsigned(*name) args;
#include "device/cuda/nvrtc.def"
#undef SL_NVRTC
};

static bool find_all(struct nvrtc *n, const char **what)
{
	bool ok = true;

#define SL_NVRTC(name, args) \
	ok = sl_cuda_library_find(n->lib, #name, &n->name, what) && ok;
#include "device/cuda/nvrtc.def"
#undef SL_NVRTC
	return ok;
}

static sl_status open_library(struct nvrtc *n)
{
	static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
	const char *what = NULL;

	for (size_t i = 0; i < SL_COUNT(files); i++)
		if (sl_cuda_library_open(files[i], &n->lib, &what))
			break;
	if (n->lib != NULL && find_all(n, &what))
		return SL_OK;
	return SL_FAIL(SL_E_UNSUPPORTED,
		"kernels have to be compiled here and NVRTC is missing: %s; install it, "
		"or "
		"build the plug-in where nvcc is",
		what);
}

static void close_library(struct nvrtc *n)
{
	if (n->lib != NULL)
		(void)dlclose(n->lib);
}

/* What the compiler says, its beginning. */
static sl_status tell_log(
	const struct nvrtc *n, sl_nvrtc_program p, const struct sl_cuda_unit *u)
{
	char *log = NULL;
	size_t bytes = 0;
	sl_status st;

	if (n->nvrtcGetProgramLogSize(p, &bytes) == 0 && bytes > 0 && bytes < LOG_MAX)
		log = sl_calloc(1, bytes);
	if (log != NULL && n->nvrtcGetProgramLog(p, log) != 0)
		log[0] = '\0';
	st = SL_FAIL(SL_E_UNSUPPORTED, "%s does not compile: %.*s", u->name, LOG_SHOWN,
		log != NULL ? log : "");
	sl_free(log);
	return st;
}

static sl_status take_code(
	const struct nvrtc *n, sl_nvrtc_program p, struct sl_cuda_code *out)
{
	size_t bytes = 0;
	char *code;

	if (n->nvrtcGetCUBINSize(p, &bytes) != 0 || bytes == 0 || bytes > CODE_MAX)
		return SL_FAIL(SL_E_UNSUPPORTED, "NVRTC gives no code");
	code = sl_alloc(bytes);
	if (code == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for %zu bytes of code", bytes);
	if (n->nvrtcGetCUBIN(p, code) != 0) {
		sl_free(code);
		return SL_FAIL(SL_E_UNSUPPORTED, "NVRTC gives no code");
	}
	*out = (struct sl_cuda_code){code, bytes};
	return SL_OK;
}

static sl_status compile(const struct nvrtc *n, sl_nvrtc_program p, int arch,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out)
{
	char target[OPTIONS_TEXT];
	const char *const options[] = {target, "-std=c++17"};

	snprintf(target, sizeof(target),
		arch > 0 ? "-arch=sm_%d" : "-fdevice-syntax-only", arch);
	if (n->nvrtcCompileProgram(p, SL_COUNT(options), options) != 0)
		return tell_log(n, p, u);
	return arch > 0 ? take_code(n, p, out) : SL_OK;
}

static sl_status make(const struct nvrtc *n, int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out)
{
	const char **texts = sl_calloc(2 * image->n_headers + 1, sizeof(*texts));
	sl_nvrtc_program p = NULL;
	const char **names;
	sl_status st;

	if (texts == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a program");
	names = texts + image->n_headers;
	for (size_t i = 0; i < image->n_headers; i++) {
		texts[i] = image->headers[i].text;
		names[i] = image->headers[i].name;
	}
	if (n->nvrtcCreateProgram(
		    &p, u->source, u->name, (int)image->n_headers, texts, names) != 0)
		st = SL_FAIL(SL_E_UNSUPPORTED, "NVRTC takes no program");
	else
		st = compile(n, p, arch, u, out);
	if (p != NULL)
		(void)n->nvrtcDestroyProgram(&p);
	sl_free(texts);
	return st;
}

sl_status sl_cuda_compile(int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out)
{
	struct nvrtc n = {0};
	sl_status st = open_library(&n);

	if (st == SL_OK)
		st = make(&n, arch, image, u, out);
	close_library(&n);
	return st;
}
