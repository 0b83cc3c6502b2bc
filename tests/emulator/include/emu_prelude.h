// Stands in for CUDA's runtime header: what device code finds there, for a CPU.
#pragma once
#include <sys/types.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <math.h>
#include <limits.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <climits>
#include <limits>
#include <algorithm>
#include <type_traits>
#include <utility>
#include <tuple>
#include <array>
#include <atomic>
#include <iostream>
#include <sstream>
#include <vector>
#include <functional>
#include <memory>
#include <new>

#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include "crt/host_defines.h"
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __maxnreg__
#define __maxnreg__(...)
#undef __cluster_dims__
#define __cluster_dims__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __forceinline__
#define __forceinline__ __inline__
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __constant__
#define __constant__
#undef __managed__
#define __managed__
#ifndef __restrict__
#endif
#include "builtin_types.h"
#include "vector_types.h"
#include "vector_functions.h"
#include_next <cuda_runtime_api.h>
#include "emu_api.h"

#define threadIdx (::emu::cur->tid)
#define blockIdx (::emu::cur->bid)
#define blockDim (::emu::g_blockDim)
#define gridDim (::emu::g_gridDim)
#undef warpSize
static constexpr int warpSize = 32;
#undef assert
#define assert(x) ((x) ? (void)0 : ::emu::fail("assertion failed: %s", #x))
static inline void __emu_trap() { ::emu::fail("__trap"); }
#define __trap() __emu_trap()
static inline void __brkpt() { ::emu::fail("__brkpt"); }
static inline void __nanosleep(unsigned) { ::emu::yield_poll("__nanosleep"); }
static inline long long clock64() {
  static long long t;
  return t += 1;
}
#define clock() emu_clock()
static inline int emu_clock() {
  static int t;
  return t += 1;
}
static inline unsigned long long globaltimer() {
  static unsigned long long t;
  return t += 1;
}

#include "emu_builtins.h"
#include "emu_arithmetic.h"

// ---- 16-bit and 8-bit floats: CUDA's own headers, their host paths
#undef __CUDACC__
#undef __CUDA_ARCH__
#define __CUDACC__ 1
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "cuda_fp8.h"
#include "cuda_fp6.h"
#include "cuda_fp4.h"
#undef __CUDACC__
