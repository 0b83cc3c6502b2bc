"""Asynchronous copies of the emulator: cp.async, mbarriers, bulk and tensor copies."""

import numpy as np
import pytest

from emulator import EMULATED, KernelFaultError, run_cuda, tensor_map

pytestmark = EMULATED

CP_ASYNC = """
extern "C" __global__ void kernel(const float* in, float* out) {
  __shared__ __align__(16) float s[128];
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(in + threadIdx.x * 4), "r"(threadIdx.x < 31 ? 16 : 8) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  WAIT
  __syncthreads();
  for (int i = threadIdx.x; i < 128; i += 32) out[i] = s[127 - i];
}"""
WAIT = 'asm volatile("cp.async.wait_group 0;" ::: "memory");'


@pytest.mark.parametrize("late", [False, True])
def test_cp_async_copies_and_fills_with_zeros(late):
    """Bytes beyond the source's size are zeros."""
    a, out = np.random.rand(128).astype(np.float32), np.zeros(128, np.float32)
    run_cuda(CP_ASYNC.replace("WAIT", WAIT), 90, [a, out], 1, 32, late=late, race=True)
    expected = a.copy()
    expected[126:] = 0
    assert (out == expected[::-1]).all()


def test_a_missing_wait_for_cp_async_shows():
    """Late copies leave NaN behind; the race detector names the copy."""
    a, out = np.zeros(128, np.float32), np.zeros(128, np.float32)
    run_cuda(CP_ASYNC.replace("WAIT", ""), 90, [a, out], 1, 32, late=True)
    assert np.isnan(out).all()
    with pytest.raises(KernelFaultError, match=r"cp\.async of thread"):
        run_cuda(CP_ASYNC.replace("WAIT", ""), 90, [a, out], 1, 32, race=True)


TMA = """
#include <cuda.h>
extern "C" __global__ void kernel(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, float* seen) {
  extern __shared__ __align__(1024) unsigned char s[];
  __shared__ __align__(8) unsigned long long bar;
  unsigned at = (unsigned)__cvta_generic_to_shared(s), b = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" :: "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(at), "l"(&from), "r"(16), "r"(-2), "r"(b) : "memory");
  }
  WAIT
  for (int i = threadIdx.x; i < 256; i += 32) seen[i] = ((float*)s)[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 32) ((float*)s)[i] += 1;
  FENCE
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&to), "r"(0), "r"(4), "r"(at) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}"""
TMA_WAIT = """asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" :: "r"(b) : "memory");"""
FENCE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
def test_tensor_copies_with_every_swizzle(swizzle):
    """A box that begins above the tensor is loaded, and stored elsewhere; outside are zeros."""
    width = 32 if swizzle in (0, 3) else 8 << (swizzle - 1)
    rows = 256 // width
    a = np.random.rand(40, 64).astype(np.float32)
    out, seen = np.zeros((48, 32), np.float32), np.zeros(256, np.float32)
    maps = [tensor_map(a, (rows, width), swizzle), tensor_map(out, (rows, width), swizzle)]
    run_cuda(
        TMA.replace("WAIT", TMA_WAIT).replace("FENCE", FENCE),
        90,
        [*maps, seen],
        1,
        32,
        shared=1024,
        late=True,
        race=True,
    )
    box = np.zeros((rows, width), np.float32)
    box[2:] = a[: rows - 2, 16 : 16 + width]
    assert (out[4 : 4 + rows, :width] == (box + 1)[: 48 - 4]).all()
    # In shared memory, 16-byte pieces lie where the address says: bits 4.. are xored with bits 7...
    place = np.arange(64)
    mask = (1 << swizzle) - 1
    laid = box.reshape(64, 4)[place ^ (place >> 3 & mask)]
    assert (seen.reshape(64, 4) == laid).all()


@pytest.mark.parametrize(
    ("wait", "fence", "said"),
    [
        pytest.param("", FENCE, "bulk or tensor load", id="no-wait"),
        pytest.param(TMA_WAIT, "", "no fence.proxy.async between", id="no-fence"),
    ],
)
def test_what_tensor_copies_lack_is_named(wait, fence, said):
    """A load that nobody awaits, and a store of what no fence has passed."""
    a, out, seen = (
        np.zeros((40, 64), np.float32),
        np.zeros((48, 32), np.float32),
        np.zeros(256, np.float32),
    )
    maps = [tensor_map(a, (8, 32)), tensor_map(out, (8, 32))]
    with pytest.raises(KernelFaultError, match=said):
        run_cuda(
            TMA.replace("WAIT", wait).replace("FENCE", fence),
            90,
            [*maps, seen],
            1,
            32,
            shared=1024,
            race=True,
        )


def test_an_mbarrier_that_misses_an_arrival_deadlocks():
    """The message names the wait and its parity."""
    source = """
    extern "C" __global__ void kernel() {
      __shared__ __align__(8) unsigned long long bar;
      unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
      if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 33;" :: "r"(b) : "memory");
      __syncthreads();
      asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");
      asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" :: "r"(b) : "memory");
    }"""
    with pytest.raises(
        KernelFaultError, match=r"(?s)deadlock.*threads 0-31 : mbarrier.try_wait.*b=0"
    ):
        run_cuda(source, 90, [], 1, 32)


def test_bulk_copies_to_every_block_of_a_cluster():
    """A multicast load completes the barrier of each block."""
    source = """
    extern "C" __global__ void kernel(const float* in, float* out) {
      __shared__ __align__(128) float s[64];
      __shared__ __align__(8) unsigned long long bar;
      unsigned at = (unsigned)__cvta_generic_to_shared(s), b = (unsigned)__cvta_generic_to_shared(&bar), rank;
      asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
      if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(b) : "memory");
      }
      asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
      if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
                     :: "r"(at), "l"(in), "r"(b), "h"((unsigned short)3) : "memory");
      asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" :: "r"(b) : "memory");
      out[rank * 64 + threadIdx.x] = s[threadIdx.x];
    }"""
    a, out = np.random.rand(64).astype(np.float32), np.zeros(128, np.float32)
    run_cuda(source, 90, [a, out], 2, 64, cluster=2, race=True, late=True)
    assert (out.reshape(2, 64) == a).all()
