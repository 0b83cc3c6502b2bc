"""CUDA that TileLang has no word for: copies from an address, stores in a cluster."""

__all__ = ["COPIES", "PIECES"]

COPIES = r"""
namespace tileops {
template <int Bytes> __device__ __forceinline__ void copy_async(const void* to, const void* from) {
  unsigned slot = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(slot), "l"(from)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(slot), "l"(from), "n"(Bytes)
                 : "memory");
}
__device__ __forceinline__ void prefetch(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(from));
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// The instruction takes the count as an immediate: one case is left after unrolling.
__device__ __forceinline__ void await_copies(int pending) {
  switch (pending) {
    case 8: asm volatile("cp.async.wait_group 8;" ::: "memory"); break;
    case 7: asm volatile("cp.async.wait_group 7;" ::: "memory"); break;
    case 6: asm volatile("cp.async.wait_group 6;" ::: "memory"); break;
    case 5: asm volatile("cp.async.wait_group 5;" ::: "memory"); break;
    case 4: asm volatile("cp.async.wait_group 4;" ::: "memory"); break;
    case 3: asm volatile("cp.async.wait_group 3;" ::: "memory"); break;
    case 2: asm volatile("cp.async.wait_group 2;" ::: "memory"); break;
    case 1: asm volatile("cp.async.wait_group 1;" ::: "memory"); break;
    default: asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
}
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void store_in_block(const void* slot, int block, float a, float b,
                                               float c) {
  unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(slot)), theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"(block));
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};"
               :: "r"(theirs), "f"(a), "f"(b), "f"(c), "f"(0.f) : "memory");
}
#endif
}
"""

PIECES = r"""
namespace tileops {
__device__ __forceinline__ unsigned in_shared(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ __forceinline__ void open_gate(void* gate) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(in_shared(gate)) : "memory");
}
__device__ __forceinline__ void fence_gates() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expect_piece(void* gate, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(in_shared(gate)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_piece(void* gate, void* to, const void* from, int bytes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(in_shared(to)), "l"(from), "r"(bytes), "r"(in_shared(gate)) : "memory");
}
__device__ __forceinline__ void await_piece(void* gate, int parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(in_shared(gate)), "r"(parity) : "memory");
}
// What was read is not overwritten before: copies do not wait for the loads of threads otherwise.
__device__ __forceinline__ void fence_pieces() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
}
"""
