"""The CUDA that the chunked programs call: copies, conversions and products TileLang has not."""

__all__ = ["chunk_source"]

# TileLang has no cp.async from an address that fills with zeros what a condition excludes.
_SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace tileops {
__device__ __forceinline__ void copy_or_zero(const void* to, const void* from, bool there) {
  unsigned slot = static_cast<unsigned>(__cvta_generic_to_shared(to));
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :: "r"(slot), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ __forceinline__ void await_all_but_one() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}
// A gate below the least normal number is zero, which spares the scaling that exp2f does for it.
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Both at once: of a pair that is taken apart first, each half is shifted into place twice.
__device__ __forceinline__ float2 widened(unsigned pair, __nv_bfloat16) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}
__device__ __forceinline__ float2 widened(unsigned pair, __half) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}
__device__ __forceinline__ void read_pair(float* to, const void* from) {
  float2 wide = widened(*reinterpret_cast<const unsigned*>(from), ELEMENT());
  to[0] = wide.x;
  to[1] = wide.y;
}
// Converted in pairs: one at a time they go through the pipe of the exponentials.
__device__ __forceinline__ void put_exactly(void* to, void* rest, float a, float b) {
  __nv_bfloat162 near = __floats2bfloat162_rn(a, b);
  float2 wide = widened(*reinterpret_cast<const unsigned*>(&near), __nv_bfloat16());
  *reinterpret_cast<__nv_bfloat162*>(to) = near;
  *reinterpret_cast<__nv_bfloat162*>(rest) = __floats2bfloat162_rn(a - wide.x, b - wide.y);
}
__device__ __forceinline__ void load_block(unsigned (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void add_product(float* sum, const unsigned (&a)[4], unsigned b,
                                            unsigned c) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.DTYPE.DTYPE.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(c));
}
// Sixteen rows times sixteen rows, by a warp; a lane points at row lane % 16, element
// lane / 16 * 8.
template <int turns>
__device__ __forceinline__ void multiply_rows(float* sums, const void* left, const void* right) {
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(left));
  unsigned with = static_cast<unsigned>(__cvta_generic_to_shared(right));
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] = 0.f;
#pragma unroll
  for (int n = 0; n < turns; ++n) {
    unsigned a[4], b[4];
    load_block(a, at + 32 * n);
    load_block(b, with + 32 * n);
    add_product(sums, a, b[0], b[2]);
    add_product(sums + 4, a, b[1], b[3]);
  }
}
// The same rows on both sides are loaded once.
template <int turns>
__device__ __forceinline__ void multiply_rows(float* sums, const void* rows) {
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(rows));
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] = 0.f;
#pragma unroll
  for (int n = 0; n < turns; ++n) {
    unsigned a[4];
    load_block(a, at + 32 * n);
    add_product(sums, a, a[0], a[2]);
    add_product(sums + 4, a, a[1], a[3]);
  }
}
}
"""


_WORDS = {
    "bfloat16": {"DTYPE": "bf16", "ELEMENT": "__nv_bfloat16"},
    "float16": {"DTYPE": "f16", "ELEMENT": "__half"},
}


def chunk_source(dtype):
    """Return the source for data of *dtype*, TileLang's name of it."""
    source = _SOURCE
    for word, name in _WORDS[dtype].items():
        source = source.replace(word, name)
    return source
