"""CUDA that stores an access whole, for the programs whose stores the compiler takes to pieces."""

__all__ = ["STORES"]

# Apart from other CUDA, so that the text of a program which has no use for it stays what it was.
STORES = r"""
namespace tileops {
// An assignment of 16 bytes under a condition becomes four stores where its loop is unrolled.
template <int Bytes> __device__ __forceinline__ void store_whole(void* to, const void* from) {
  if constexpr (Bytes == 16) {
    uint4 v = *static_cast<const uint4*>(from);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
  } else {
    uint2 v = *static_cast<const uint2*>(from);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" :: "l"(to), "r"(v.x), "r"(v.y));
  }
}
}
"""
