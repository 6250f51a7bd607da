// SPDX-License-Identifier: Apache-2.0
// Compiled once a .cu source (SL_CU): registers those kernels of the list SL_ENTRIES
// that the source defines.
#include <stddef.h>
#include <utility>

#include "cuda/emulate/emulate.h"

extern "C" {
#include "cuda/emulate/launch.h"
}

// Nothing of a source is seen by another one, as with the CUDA compiler; extern "C" too.
namespace
{
// Where a source lacks a kernel of the list, this overload is the only one of its name.
struct emu_missing {};
#define SL_CUDA_ENTRY(name)                                                                   \
	[[maybe_unused]] emu_missing name(emu_missing *)                                      \
	{                                                                                     \
		return {};                                                                    \
	}
#include SL_ENTRIES
#undef SL_CUDA_ENTRY

#include SL_CU

template <int N, class... A> struct adapter {
	static void (*function)(A...);
	static const size_t sizes[sizeof...(A) + 1];
	static const bool pointers[sizeof...(A) + 1];
	static emu_entry entry;

	template <size_t... I>
	__attribute__((no_sanitize("thread"))) static void unpack(
		void *const *params, std::index_sequence<I...>)
	{
		void (*volatile f)(A...) = function;
		f(*(typename std::remove_const<A>::type *)params[I]...);
	}
	__attribute__((no_sanitize("thread"))) static void call(void *const *params)
	{
		unpack(params, std::make_index_sequence<sizeof...(A)>());
	}
};
template <int N, class... A> void (*adapter<N, A...>::function)(A...);
template <int N, class... A>
const size_t adapter<N, A...>::sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
template <int N, class... A>
const bool adapter<N, A...>::pointers[sizeof...(A) + 1] = {std::is_pointer<A>::value..., false};
template <int N, class... A> emu_entry adapter<N, A...>::entry;

template <int N, class... A> void add(const char *name, void (*f)(A...), int)
{
	typedef adapter<N, A...> own;
	own::function = f;
	own::entry.name = name;
	own::entry.call = own::call;
	own::entry.count = sizeof...(A);
	own::entry.sizes = own::sizes;
	own::entry.is_pointer = own::pointers;
	emu_register(&own::entry);
}
template <int N> void add(const char *, emu_missing (*)(emu_missing *), long)
{
}

__attribute__((constructor)) void add_all()
{
#define SL_CUDA_ENTRY(name) add<__COUNTER__>(#name, name, 0);
#include SL_ENTRIES
#undef SL_CUDA_ENTRY
}
} // namespace
