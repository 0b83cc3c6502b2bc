// Builtin functions of device code: barriers, shuffles, votes, addresses, atomics, bits.
// Included by emu_prelude.h, after its types.
#pragma once
// ---- synchronisation
#define __syncthreads() ::emu::bar_sync("__syncthreads", 0, 0, true)
static inline int __syncthreads_and(int p) { return emu::bar_red(0, 0, p, 0); }
static inline int __syncthreads_or(int p) { return emu::bar_red(0, 0, p, 1); }
static inline int __syncthreads_count(int p) { return emu::bar_red(0, 0, p, 2); }
#define __emu_syncwarp1(m) ::emu::warp_collective("__syncwarp", m, nullptr, nullptr, 5)
static inline __attribute__((always_inline)) void __syncwarp(unsigned m = 0xffffffff) {
  __emu_syncwarp1(m);
}
static inline void __threadfence() { emu::atomic_order(); }
static inline void __threadfence_block() {}
static inline void __threadfence_system() { emu::atomic_order(); }
static inline void cudaGridDependencySynchronize() {}
static inline void cudaTriggerProgrammaticLaunchCompletion() {}
static inline unsigned __activemask() { return emu::activemask(); }

// ---- shuffles and votes
namespace emu {
template <class T>
inline __attribute__((always_inline)) T shfl_t(unsigned m, T v, int kind, int b, int c) {
  static_assert(sizeof(T) <= 8);
  uint64_t u = 0;
  memcpy(&u, &v, sizeof(T));
  u = shfl(m, u, kind, b, c, nullptr);
  memcpy(&v, &u, sizeof(T));
  return v;
}
}  // namespace emu
#define EMU_SHFL(T)                                                                                \
  static inline __attribute__((always_inline)) T __shfl_sync(unsigned m, T v, int s, int w = 32) { \
    return emu::shfl_t(m, v, 3, s, ((32 - w) << 8) | 31);                                          \
  }                                                                                                \
  static inline __attribute__((always_inline)) T __shfl_up_sync(unsigned m, T v, unsigned s,       \
                                                                int w = 32) {                      \
    return emu::shfl_t(m, v, 0, s, (32 - w) << 8);                                                 \
  }                                                                                                \
  static inline __attribute__((always_inline)) T __shfl_down_sync(unsigned m, T v, unsigned s,     \
                                                                  int w = 32) {                    \
    return emu::shfl_t(m, v, 1, s, ((32 - w) << 8) | 31);                                          \
  }                                                                                                \
  static inline __attribute__((always_inline)) T __shfl_xor_sync(unsigned m, T v, int s,           \
                                                                 int w = 32) {                     \
    return emu::shfl_t(m, v, 2, s, ((32 - w) << 8) | 31);                                          \
  }
EMU_SHFL(int)
EMU_SHFL(unsigned) EMU_SHFL(long) EMU_SHFL(unsigned long) EMU_SHFL(long long)
    EMU_SHFL(unsigned long long) EMU_SHFL(float)
        EMU_SHFL(double) static inline int __all_sync(unsigned m, int p) {
  return emu::vote(m, p, 0);
}
static inline int __any_sync(unsigned m, int p) { return emu::vote(m, p, 1); }
static inline unsigned __ballot_sync(unsigned m, int p) { return emu::vote(m, p, 2); }
static inline int __uni_sync(unsigned m, int p) { return emu::vote(m, p, 3); }
template <class T>
static inline unsigned __match_any_sync(unsigned m, T v) {
  uint64_t u = 0;
  memcpy(&u, &v, sizeof(T));
  return emu::match_any(m, u, false, nullptr);
}
template <class T>
static inline unsigned __match_all_sync(unsigned m, T v, int* p) {
  uint64_t u = 0;
  memcpy(&u, &v, sizeof(T));
  bool q;
  unsigned r = emu::match_any(m, u, true, &q);
  *p = q;
  return r;
}
static inline unsigned __reduce_add_sync(unsigned m, unsigned v) { return emu::redux(m, v, 0); }
static inline unsigned __reduce_min_sync(unsigned m, unsigned v) { return emu::redux(m, v, 1); }
static inline unsigned __reduce_max_sync(unsigned m, unsigned v) { return emu::redux(m, v, 2); }
static inline int __reduce_add_sync(unsigned m, int v) { return (int)emu::redux(m, v, 0); }
static inline int __reduce_min_sync(unsigned m, int v) { return (int)emu::redux(m, v, 3); }
static inline int __reduce_max_sync(unsigned m, int v) { return (int)emu::redux(m, v, 4); }
static inline unsigned __reduce_and_sync(unsigned m, unsigned v) { return emu::redux(m, v, 5); }
static inline unsigned __reduce_or_sync(unsigned m, unsigned v) { return emu::redux(m, v, 6); }
static inline unsigned __reduce_xor_sync(unsigned m, unsigned v) { return emu::redux(m, v, 7); }

// ---- addresses
static inline size_t __cvta_generic_to_shared(const void* p) { return emu::to_shared(p); }
static inline size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
static inline size_t __cvta_generic_to_local(const void* p) { return (size_t)p; }
static inline void* __cvta_shared_to_generic(size_t a) { return emu::sh((uint32_t)a); }
static inline void* __cvta_global_to_generic(size_t a) { return (void*)a; }
static inline unsigned __isShared(const void* p) { return emu::is_shared(p); }
static inline unsigned __isGlobal(const void* p) { return !emu::is_shared(p); }
static inline uint32_t __nvvm_get_smem_pointer(const void* p) { return emu::to_shared(p); }
template <class T>
static inline T __ldg(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcg(const T* p) {
  return *p;
}
template <class T>
static inline T __ldca(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcs(const T* p) {
  return *p;
}
template <class T>
static inline T __ldlu(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcv(const T* p) {
  return *p;
}
template <class T>
static inline void __stwb(T* p, T v) {
  *p = v;
}
template <class T>
static inline void __stcg(T* p, T v) {
  *p = v;
}
template <class T>
static inline void __stcs(T* p, T v) {
  *p = v;
}
template <class T>
static inline void __stwt(T* p, T v) {
  *p = v;
}

#include "emu_ptx.h"
// ---- atomics: one thread runs at a time
namespace emu {
template <class T>
struct same {
  using type = T;
};
template <class T>
using same_t = typename same<T>::type;
}  // namespace emu
#define EMU_ATOMIC(name, expr)                                      \
  template <class T>                                                \
  static inline T name(T* p, emu::same_t<T> v) {                    \
    return emu::atom_<T>((char*)p, [=](T o) -> T { return expr; }); \
  }                                                                 \
  template <class T>                                                \
  static inline T name##_block(T* p, emu::same_t<T> v) {            \
    return name(p, v);                                              \
  }                                                                 \
  template <class T>                                                \
  static inline T name##_system(T* p, emu::same_t<T> v) {           \
    return name(p, v);                                              \
  }
EMU_ATOMIC(atomicAdd, (T)(o + v))
EMU_ATOMIC(atomicSub, (T)(o - v))
EMU_ATOMIC(atomicExch, v)
EMU_ATOMIC(atomicMin, (v < o ? v : o))
EMU_ATOMIC(atomicMax, (o < v ? v : o))
EMU_ATOMIC(atomicAnd, (T)(o & v))
EMU_ATOMIC(atomicOr, (T)(o | v))
EMU_ATOMIC(atomicXor, (T)(o ^ v))
EMU_ATOMIC(atomicInc, (T)(o >= v ? 0 : o + 1))
EMU_ATOMIC(atomicDec, (T)(o == 0 || o > v ? v : o - 1))
static inline float2 atomicAdd(float2* p, float2 v) {
  return emu::atom_<float2>((char*)p, [=](float2 o) {
    o.x += v.x;
    o.y += v.y;
    return o;
  });
}
static inline float4 atomicAdd(float4* p, float4 v) {
  return emu::atom_<float4>((char*)p, [=](float4 o) {
    o.x += v.x;
    o.y += v.y;
    o.z += v.z;
    o.w += v.w;
    return o;
  });
}
template <class T>
static inline T atomicCAS(T* p, emu::same_t<T> c, emu::same_t<T> v) {
  return emu::atom_<T>((char*)p, [=](T o) -> T { return memcmp(&o, &c, sizeof(T)) == 0 ? v : o; });
}
template <class T>
static inline T atomicCAS_block(T* p, emu::same_t<T> c, emu::same_t<T> v) {
  return atomicCAS(p, c, v);
}
template <class T>
static inline T atomicCAS_system(T* p, emu::same_t<T> c, emu::same_t<T> v) {
  return atomicCAS(p, c, v);
}

// ---- bits
static inline int __float_as_int(float f) { return emu::rd<int>(f); }
static inline unsigned __float_as_uint(float f) { return emu::rd<unsigned>(f); }
static inline float __int_as_float(int f) { return emu::rd<float>(f); }
static inline float __uint_as_float(unsigned f) { return emu::rd<float>(f); }
static inline long long __double_as_longlong(double f) { return emu::rd<long long>(f); }
static inline double __longlong_as_double(long long f) { return emu::rd<double>(f); }
static inline int __double2hiint(double d) { return (int)(emu::rd<uint64_t>(d) >> 32); }
static inline int __double2loint(double d) { return (int)emu::rd<uint64_t>(d); }
static inline double __hiloint2double(int h, int l) {
  return emu::rd<double>((uint64_t)(unsigned)h << 32 | (unsigned)l);
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i);
  return r;
}
static inline unsigned long long __brevll(unsigned long long v) {
  unsigned long long r = 0;
  for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
  return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  uint64_t v = (uint64_t)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned q = s >> (4 * i) & 15;
    unsigned x = v >> (8 * (q & 7)) & 255;
    if (q & 8) x = x & 128 ? 255 : 0;
    r |= x << (8 * i);
  }
  return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? hi << s | lo >> (32 - s) : hi;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? lo >> s | hi << (32 - s) : lo;
}
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s) {
  return s >= 32 ? lo : __funnelshift_l(lo, hi, s);
}
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned s) {
  return s >= 32 ? hi : __funnelshift_r(lo, hi, s);
}
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
static inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __mul24(int a, int b) { return a * b; }
static inline unsigned __umul24(unsigned a, unsigned b) { return a * b; }
static inline unsigned __sad(int a, int b, unsigned c) { return c + (unsigned)abs(a - b); }
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += (int)(int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
  return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}

