// Interface between compiled kernels and the emulator's runtime.
#pragma once
#include <cstdint>
#include <cstring>
#include <cstddef>
#include <type_traits>
#include "vector_types.h"

namespace emu {
struct Block;
struct Warp;
struct Fibre {
  uint3 tid;
  uint3 bid;
  void* sp;
  Block* block;
  Warp* warp;
  uint32_t lane;     // in the warp
  uint32_t linear;   // in the block
  uint32_t state;    // 0 ready, 1 waiting, 2 finished
  const char* what;  // what it waits for
  const void* where;
  uint64_t a, b;  // details of the wait
  const char* stack;
  void* extra;
};
extern Fibre* cur;
extern dim3 g_blockDim, g_gridDim, g_clusterDim;
extern char* g_window;             // shared memory of all blocks of the cluster: block r at r << 24
constexpr uint32_t kBase = 0x400;  // shared addresses below are never valid

[[noreturn]] void fail(const char* fmt, ...);
uint32_t block_rank();
char* dyn_smem();
void* static_smem(int id, size_t bytes, size_t align);

void bar_sync(const char* what, uint32_t id, uint32_t count, bool wait);
int bar_red(uint32_t id, uint32_t count, int pred, int op);  // 0 and, 1 or, 2 popc
void cluster_arrive();
void cluster_wait();
void yield_poll(const char* what, uint64_t a = 0, uint64_t b = 0);

// A collective: `run` is called once, when all lanes of the mask are there, with their arguments.
typedef void (*WarpFn)(uint32_t mask, void** args);
void warp_collective(const char* what, uint32_t mask, void* arg, WarpFn run, uint64_t key);
typedef void (*GroupFn)(void** args);  // of 128 threads
void group_collective(const char* what, void* arg, GroupFn run, uint64_t key);

uint64_t shfl(uint32_t mask, uint64_t v, int kind, int b, int c, bool* valid);
uint32_t vote(uint32_t mask, bool p, int kind);  // 0 all, 1 any, 2 ballot, 3 uni
uint32_t match_any(uint32_t mask, uint64_t v, bool all, bool* pred);
uint32_t redux(uint32_t mask, uint32_t v, int kind);  // add min max (u) min max (s) and or xor
uint32_t activemask();

// Addresses
inline bool is_shared(const void* p) {
  return (uint64_t)((const char*)p - g_window) < (16ull << 24);
}
inline char* sh(uint32_t a) {  // a shared::cta or shared::cluster address to a pointer
  return g_window + a;
}
uint32_t to_shared(const void* p);
uint32_t mapa(uint32_t a, uint32_t rank);

// Asynchronous copies
void cp_async(uint32_t to, const void* from, uint32_t bytes, uint32_t src_bytes);
void cp_async_commit();
void cp_async_wait(uint32_t pending);
void cp_async_mbar(uint32_t bar, bool noinc);

void mbar_init(uint32_t bar, uint32_t count);
void mbar_inval(uint32_t bar);
uint64_t mbar_arrive(uint32_t bar, uint32_t count);
uint64_t mbar_arrive_drop(uint32_t bar, uint32_t count);
void mbar_expect(uint32_t bar, uint32_t bytes);
void mbar_complete(uint32_t bar, uint32_t bytes);
bool mbar_try(uint32_t bar, uint32_t parity, bool block);
bool mbar_try_state(uint32_t bar, uint64_t state, bool block);
uint32_t mbar_pending(uint64_t state);

void bulk_g2s(uint32_t to, const void* from, uint32_t bytes, uint32_t bar, int mask);
void bulk_s2g(void* to, uint32_t from, uint32_t bytes);
void bulk_s2s(uint32_t to, uint32_t from, uint32_t bytes, uint32_t bar);
void bulk_red(void* to, uint32_t from, uint32_t bytes, int op, int type);
void tma_load(int rank, bool im2col, uint32_t to, const void* map, const int* c, uint32_t bar,
              int mask, const uint16_t* offs);
void tma_store(int rank, const void* map, uint32_t from, const int* c, int op);
void bulk_commit();
void bulk_wait(uint32_t n, bool read);

// Matrices. type codes: see matrices.h
void ldmatrix(uint32_t addr, int num, bool trans, uint32_t* d);
void stmatrix(uint32_t addr, int num, bool trans, const uint32_t* d);
uint32_t movmatrix(uint32_t v);
void mma(int m, int n, int k, int ta, int tb, int tc, int td, uint32_t* d, const uint32_t* a,
         const uint32_t* b, const uint32_t* c);
void mma_sp(int m, int n, int k, int ta, int tb, int tc, int td, uint32_t* d, const uint32_t* a,
            const uint32_t* b, const uint32_t* c, uint32_t e, int sel);
void wgmma(int n, int k, int ta, int tb, int td, uint32_t* d, const uint32_t* a, uint64_t da,
           uint64_t db, int scale_d, int sa, int sb, int tra, int trb, uint64_t key);
void wgmma_commit();
void wgmma_wait(int n);
void wgmma_fence();
void atomic_order();  // acquire and release of everything, for the race detector
void proxy_fence();
void grid_sync();

// Values of PTX registers: bits, whatever the C++ type.
template <class T, class V>
inline T rd(const V& v) {
  T t{};
  memcpy(&t, &v, sizeof(T) < sizeof(V) ? sizeof(T) : sizeof(V));
  return t;
}
template <class V, class T>
inline void wr(V& v, const T& t) {
  V z{};
  memcpy(&z, &t, sizeof(T) < sizeof(V) ? sizeof(T) : sizeof(V));
  v = z;
}
// Operands of asm statements
template <class W, class T>
inline W in(const T& v) {
  if constexpr (std::is_array_v<T>)
    return (W)(uintptr_t)&v[0];
  else if constexpr (std::is_enum_v<T>)
    return (W)(std::underlying_type_t<T>)v;
  else if constexpr (std::is_pointer_v<T>)
    return (W)(uintptr_t)v;
  else if constexpr (std::is_integral_v<T>)
    return (W)v;
  else if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<W>)
    return (W)v;
  else
    return rd<W>(v);
}
template <class T, class W>
inline void out(T& v, const W& w) {
  if constexpr (std::is_pointer_v<T>)
    v = (T)(uintptr_t)w;
  else if constexpr (std::is_integral_v<T> && std::is_integral_v<W>)
    v = (T)w;
  else if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<W>)
    v = (T)w;
  else
    wr(v, w);
}
}  // namespace emu
