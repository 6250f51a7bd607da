/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls of the test driver begin with: counting, planned failures, complaints.
 */
#include "cuda/driver/driver_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static __thread sl_cu_context current;
static __thread bool in_host_function;

static void read_options(void)
{
	const char *text = getenv("SL_FAKE_SEED");
	fake.options_read = true;
	fake.options.seed = text != NULL ? strtoull(text, NULL, 10) : 0;
	text = getenv("SL_FAKE_BYTES");
	fake.options.bytes = text != NULL ? strtoull(text, NULL, 10) : 0;
	text = getenv("SL_FAKE_LEAVE_OUT");
	fake.options.leave_out = text != NULL ? strtoull(text, NULL, 10) : 0;
	fake.options.file = getenv("SL_FAKE_COMPLAINTS");
	text = getenv("SL_FAKE_FAIL");
	char *colon = NULL;
	if (text != NULL)
		fake.options.fail_at = strtoull(text, &colon, 10);
	if (colon != NULL && *colon == ':')
		fake.options.code = (unsigned)strtoul(colon + 1, NULL, 10);
}

void fake_reset(const struct fake_options *o)
{
	pthread_mutex_lock(&fake.lock);
	fake.options = *o;
	fake.options_read = true;
	fake.calls = fake.waits = 0;
	fake.sticky = SL_CU_SUCCESS;
	fake.complaint[0] = '\0';
	pthread_mutex_unlock(&fake.lock);
}

uint64_t fake_calls(void)
{
	return fake.calls;
}

uint64_t fake_waits(void)
{
	return fake.waits;
}

const char *fake_complaint(void)
{
	return fake.complaint;
}

size_t fake_alive(char *text, size_t size)
{
	const struct {
		const char *what;
		unsigned n;
	} kinds[] = {
		{"contexts", fake.contexts},
		{"streams", fake.streams},
		{"events", fake.events},
		{"modules", fake.modules},
		{"pieces of device memory", fake.memories},
		{"reserved addresses", fake.reserved},
		{"pieces of pinned memory", fake.pinned},
	};
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].n > 0 && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%u %s",
				used > 0 ? ", " : "", kinds[i].n, kinds[i].what);
	return used;
}

void fake_complain(const char *format, ...)
{
	char text[sizeof fake.complaint];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (fake.complaint[0] == '\0')
		memcpy(fake.complaint, text, sizeof text);
	if (fake.options.keep)
		return;
	FILE *f = fake.options.file != NULL ? fopen(fake.options.file, "a") : stderr;
	if (f != NULL) {
		fprintf(f, "CUDA test driver: seed %llu, call %llu: %s\n",
			(unsigned long long)fake.options.seed,
			(unsigned long long)fake.calls, text);
		fflush(f);
	}
	if (fake.options.file == NULL)
		abort();
	if (f != NULL)
		fclose(f);
}

__attribute__((destructor)) static void at_exit(void)
{
	char text[300];
	if (fake_alive(text, sizeof text) > 0)
		fake_complain("at the program's end there are still %s", text);
}

void fake_lost(sl_cu_result code)
{
	if (fake.sticky == SL_CU_SUCCESS)
		fake.sticky = code;
	pthread_cond_broadcast(&fake.change);
}

static bool is_sticky(sl_cu_result r)
{
	static const sl_cu_result sticky[] = {
#define NOT(name, value)
#define YES(name, value) value,
		SL_CU_RESULTS(NOT, YES)
#undef NOT
#undef YES
	};
	for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
		if (sticky[i] == r)
			return true;
	return false;
}

static sl_cu_result refuse(const char *name, enum call_kind kind)
{
	if (in_host_function) {
		fake_complain(
			"%s is called from a host function of a stream, which may not",
			name);
		return SL_CU_ERROR_NOT_PERMITTED;
	}
	if (fake.calls == fake.options.fail_at && fake.options.code != SL_CU_SUCCESS) {
		if (is_sticky(fake.options.code))
			fake_lost(fake.options.code);
		return fake.options.code;
	}
	if (fake.sticky != SL_CU_SUCCESS)
		return fake.sticky;
	if (kind == CALL_BARE)
		return SL_CU_SUCCESS;
	if (!fake.initialised)
		return SL_CU_ERROR_NOT_INITIALIZED;
	return current == NULL ? SL_CU_ERROR_INVALID_CONTEXT : SL_CU_SUCCESS;
}

sl_cu_result fake_enter(const char *name, enum call_kind kind)
{
	pthread_mutex_lock(&fake.lock);
	if (!fake.options_read)
		read_options();
	fake.calls++;
	sl_cu_result r = refuse(name, kind);
	/* What ends or waits does so even where it has a failure to tell. */
	if (r != SL_CU_SUCCESS && kind != CALL_ENDS)
		pthread_mutex_unlock(&fake.lock);
	return r;
}

sl_cu_result fake_leave(sl_cu_result r)
{
	pthread_mutex_unlock(&fake.lock);
	return r;
}

bool fake_has_context(void)
{
	return current != NULL;
}

void fake_in_host_function(bool is)
{
	in_host_function = is;
}

uint64_t fake_random(uint64_t a, uint64_t b)
{
	uint64_t x = fake.options.seed * UINT64_C(0x9E3779B97F4A7C15) + a * 0x1000193 + b;
	for (int i = 0; i < 2; i++) {
		x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
		x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
		x ^= x >> 31;
	}
	return x;
}

sl_cu_result cuCtxSetCurrent(sl_cu_context ctx)
{
	sl_cu_result r = fake_enter("cuCtxSetCurrent", CALL_BARE);
	if (r != SL_CU_SUCCESS)
		return r;
	current = ctx;
	return fake_leave(SL_CU_SUCCESS);
}
