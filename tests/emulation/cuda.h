// What CUDA C++ offers to kernels, for g++; runtime.cpp holds the scheduler. Kernels are compiled with
// -fsanitize=thread, so that each of their accesses to memory calls the runtime; functions marked EMU_PLAIN are not.
#pragma once
#include <climits>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define EMU_PLAIN __attribute__((no_sanitize("thread")))
#define EMU_PLAIN_ALONE __attribute__((no_sanitize("thread"), noinline))

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

#define EMU_VECTORS(T, name, size2, size4)                                                                        \
    struct name##1 { T x; };                                                                                      \
    struct alignas(size2) name##2 { T x, y; };                                                                    \
    struct name##3 { T x, y, z; };                                                                                \
    struct alignas(size4) name##4 { T x, y, z, w; };                                                              \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                    \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                            \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulonglong;
EMU_VECTORS(signed char, char, 2, 4)
EMU_VECTORS(unsigned char, uchar, 2, 4)
EMU_VECTORS(short, short, 4, 8)
EMU_VECTORS(unsigned short, ushort, 4, 8)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(unsigned, uint, 8, 16)
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(long long, longlong, 16, 16)
EMU_VECTORS(double, double, 16, 16)

namespace emu {
typedef unsigned long long Word;
void barrier(int line);
/// A warp's exchange: each lane of `mask` gives a word and gets those of all lanes; `given` names the lanes that took part.
struct Exchange { Word words[32]; unsigned given; };
const Exchange &exchange(unsigned mask, Word word, int line);
int lane();
/// Named lanes whose words are undefined make the result undefined, which is reported.
Word word_of(const Exchange &done, int source, int line);
void *shared_variable(int id, size_t size, size_t alignment, const char *name);
void *dynamic_shared();
void atomic_access(const void *at, size_t size);
void trap(int line);
unsigned long long clock();

template <class T> T &shared(int id, const char *name) {
    return *static_cast<T *>(shared_variable(id, sizeof(T), alignof(T) < 16 ? 16 : alignof(T), name));
}
template <class T> EMU_PLAIN_ALONE Word to_word(T value) {
    static_assert(sizeof(T) <= sizeof(Word), "a lane exchanges at most 8 bytes");
    Word word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> EMU_PLAIN_ALONE T from_word(Word word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}
template <class T> EMU_PLAIN_ALONE T shuffled(unsigned mask, T value, int source, bool inside, int line) {
    const Exchange &done = exchange(mask, to_word(value), line);
    return inside ? from_word<T>(word_of(done, source, line)) : value;
}
template <class T, class F> EMU_PLAIN_ALONE T reduced(unsigned mask, T value, F join, int line) {
    const Exchange &done = exchange(mask, to_word(value), line);
    T all = value;
    bool first = true;
    for (int i = 0; i < 32; i++)
        if (done.given >> i & 1) {
            T other = from_word<T>(done.words[i]);
            all = first ? other : join(all, other);
            first = false;
        }
    return all;
}
EMU_PLAIN inline unsigned ballot(unsigned mask, int predicate, int line) {
    const Exchange &done = exchange(mask, predicate != 0, line);
    unsigned votes = 0;
    for (int i = 0; i < 32; i++)
        if (done.given >> i & 1)
            votes |= unsigned(done.words[i] & 1) << i;
    return votes;
}
template <class T> EMU_PLAIN_ALONE T segment_shuffled(unsigned mask, T value, int source, int width, int kind, int line) {
    int me = lane(), base = me & ~(width - 1), from = me;
    bool inside = true;
    switch (kind) {
    case 0: from = base + (source & (width - 1)); break;
    case 1: from = me - source; inside = from >= base; break;
    case 2: from = me + source; inside = from < base + width; break;
    default: from = me ^ source; inside = from < base + width; break;
    }
    return shuffled(mask, value, from & 31, inside, line);
}
template <class T, class U, class F> EMU_PLAIN_ALONE T atomically(T *at, U operand, F next) {
    atomic_access(at, sizeof *at);
    T old = *at;
    *at = next(old, T(operand));
    return old;
}
} // namespace emu

#define __syncthreads() emu::barrier(__LINE__)
#define __syncwarp(...) ((void)emu::exchange(emu::mask_or_all(__VA_ARGS__), 0, __LINE__))
namespace emu {
inline unsigned mask_or_all(unsigned mask = 0xFFFFFFFFu) { return mask; }
inline int width_or_warp(int width = 32) { return width; }
} // namespace emu
#define EMU_SHUFFLE(kind, mask, value, source, ...)                                                               \
    emu::segment_shuffled(mask, value, source, emu::width_or_warp(__VA_ARGS__), kind, __LINE__)
#define __shfl_sync(mask, value, source, ...) EMU_SHUFFLE(0, mask, value, source, ##__VA_ARGS__)
#define __shfl_up_sync(mask, value, source, ...) EMU_SHUFFLE(1, mask, value, source, ##__VA_ARGS__)
#define __shfl_down_sync(mask, value, source, ...) EMU_SHUFFLE(2, mask, value, source, ##__VA_ARGS__)
#define __shfl_xor_sync(mask, value, source, ...) EMU_SHUFFLE(3, mask, value, source, ##__VA_ARGS__)
#define __ballot_sync(mask, predicate) emu::ballot(mask, predicate, __LINE__)
#define __any_sync(mask, predicate) int(emu::ballot(mask, predicate, __LINE__) != 0)
#define __all_sync(mask, predicate) int(emu::ballot(mask, predicate, __LINE__) == (mask))
#define __match_any_sync(mask, value) emu::matching(mask, value, __LINE__)
#define __reduce_add_sync(mask, value) emu::reduced(mask, value, [](auto a, auto b) { return a + b; }, __LINE__)
#define __reduce_min_sync(mask, value) emu::reduced(mask, value, [](auto a, auto b) { return a < b ? a : b; }, __LINE__)
#define __reduce_max_sync(mask, value) emu::reduced(mask, value, [](auto a, auto b) { return a > b ? a : b; }, __LINE__)
#define __reduce_and_sync(mask, value) emu::reduced(mask, value, [](auto a, auto b) { return a & b; }, __LINE__)
#define __reduce_or_sync(mask, value) emu::reduced(mask, value, [](auto a, auto b) { return a | b; }, __LINE__)
#define __trap() emu::trap(__LINE__)
namespace emu {
template <class T> EMU_PLAIN_ALONE unsigned matching(unsigned mask, T value, int line) {
    const Exchange &done = exchange(mask, to_word(value), line);
    unsigned same = 0;
    for (int i = 0; i < 32; i++)
        if (done.given >> i & 1)
            same |= unsigned(done.words[i] == to_word(value)) << i;
    return same;
}
} // namespace emu

#define EMU_ATOMIC(name, expression)                                                                              \
    template <class T, class U> EMU_PLAIN_ALONE T name(T *at, U operand) {                                              \
        return emu::atomically(at, operand, [](T old, T given) -> T { (void)old; return expression; });           \
    }                                                                                                             \
    template <class T, class U> EMU_PLAIN_ALONE T name##_block(T *at, U operand) { return name(at, operand); }
EMU_ATOMIC(atomicAdd, T(old + given))
EMU_ATOMIC(atomicSub, T(old - given))
EMU_ATOMIC(atomicMin, given < old ? given : old)
EMU_ATOMIC(atomicMax, given > old ? given : old)
EMU_ATOMIC(atomicExch, given)
EMU_ATOMIC(atomicAnd, old & given)
EMU_ATOMIC(atomicOr, old | given)
EMU_ATOMIC(atomicXor, old ^ given)
EMU_ATOMIC(atomicInc, old >= given ? T(0) : T(old + 1))
template <class T, class U, class V> EMU_PLAIN_ALONE T atomicCAS(T *at, U expected, V desired) {
    return emu::atomically(at, T(desired), [&](T old, T given) { return old == T(expected) ? given : old; });
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T> T __ldg(const T *at) { return *at; }
template <class T> T __ldcg(const T *at) { return *at; }
template <class T> T __ldcs(const T *at) { return *at; }
template <class T> T __ldca(const T *at) { return *at; }
template <class T> void __stcs(T *at, T value) { *at = value; }
template <class T> void __stcg(T *at, T value) { *at = value; }
template <class T> void __stwt(T *at, T value) { *at = value; }

template <class A, class B> constexpr auto min(A a, B b) -> std::common_type_t<A, B> {
    typedef std::common_type_t<A, B> C;
    return C(a) < C(b) ? C(a) : C(b);
}
template <class A, class B> constexpr auto max(A a, B b) -> std::common_type_t<A, B> {
    typedef std::common_type_t<A, B> C;
    return C(a) > C(b) ? C(a) : C(b);
}

// The intrinsics of the special function unit are wrong in their last bits; here they are off by a few ulp, so that
// a program that took them for the precise functions gives other bits.
namespace emu {
inline float fast(double exact) { return float(exact * (1.0 + 0x1p-22)); }
} // namespace emu
inline float __sinf(float x) { return emu::fast(sin(double(x))); }
inline float __cosf(float x) { return emu::fast(cos(double(x))); }
inline float __tanf(float x) { return emu::fast(tan(double(x))); }
inline float __expf(float x) { return emu::fast(exp(double(x))); }
inline float __exp10f(float x) { return emu::fast(pow(10.0, double(x))); }
inline float __logf(float x) { return emu::fast(log(double(x))); }
inline float __log2f(float x) { return emu::fast(log2(double(x))); }
inline float __log10f(float x) { return emu::fast(log10(double(x))); }
inline float __powf(float x, float y) { return emu::fast(exp2(double(y) * log2(double(x)))); }
inline float __fdividef(float a, float b) { return emu::fast(double(a) / double(b)); }
inline void __sincosf(float x, float *s, float *c) { *s = __sinf(x); *c = __cosf(x); }
inline float rsqrtf(float x) { return float(1.0 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float sinpif(float x) { return float(sin(M_PI * double(x))); }
inline float cospif(float x) { return float(cos(M_PI * double(x))); }
inline int __float2int_rd(float x) { return int(floorf(x)); }
inline int __float2int_ru(float x) { return int(ceilf(x)); }
inline int __float2int_rn(float x) { return int(nearbyintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline unsigned __float2uint_rz(float x) { return unsigned(x); }
inline unsigned __float2uint_rn(float x) { return unsigned(nearbyintf(x)); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline int __float_as_int(float x) { return emu::from_word<int>(emu::to_word(x)); }
inline unsigned __float_as_uint(float x) { return emu::from_word<unsigned>(emu::to_word(x)); }
inline float __int_as_float(int x) { return emu::from_word<float>(emu::to_word(x)); }
inline float __uint_as_float(unsigned x) { return emu::from_word<float>(emu::to_word(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __mul24(int a, int b) { return int(int64_t(a << 8 >> 8) * (b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return unsigned(uint64_t(a & 0xFFFFFF) * (b & 0xFFFFFF)); }
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8)
        c += int(int8_t(a >> i)) * int8_t(b >> i);
    return c;
}
inline long long clock64() { return (long long)emu::clock(); }
inline int clock() { return int(emu::clock()); }
using std::isfinite;
using std::isinf;
using std::isnan;

// What the program compiled with this header defines, and how its kernel is called.
namespace emu {
struct Given { void *value; size_t size; };
void fail(const char *why);
void call(const Given *given, size_t count);
bool constant(const char *name, const void *from, size_t size);
extern const bool cooperative;

template <class... P, size_t... I>
void invoke_with(void (*kernel)(P...), const Given *given, std::index_sequence<I...>) {
    const bool fits[] = {true, sizeof(std::remove_reference_t<P>) == given[I].size...};
    for (bool each : fits)
        if (!each)
            fail("an argument has another size than the kernel's parameter");
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<P>> *>(given[I].value)...);
}
template <class... P> void invoke(void (*kernel)(P...), const Given *given, size_t count) {
    if (count != sizeof...(P))
        fail("the kernel takes another number of arguments");
    invoke_with(kernel, given, std::index_sequence_for<P...>{});
}
} // namespace emu
