"""Threads, barriers, warps, clusters and atomics of the emulator, with kernels in CUDA."""

import numpy as np
import pytest

from emulator import EMULATED, KernelFaultError, run_cuda

pytestmark = EMULATED


def test_threads_know_where_they_are():
    """Every thread of a grid in three dimensions writes its own number."""
    source = """
    extern "C" __global__ void kernel(int* out) {
      int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      int size = blockDim.x * blockDim.y * blockDim.z;
      out[block * size + thread] = block * size + thread;
    }"""
    out = np.zeros(2 * 3 * 2 * 8 * 4 * 2, np.int32)
    run_cuda(source, 90, [out], (2, 3, 2), (8, 4, 2))
    assert (out == np.arange(out.size)).all()


REVERSE = """
extern "C" __global__ void kernel(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  SYNC
  out[threadIdx.x] = s[255 - threadIdx.x];
}"""


def test_a_barrier_orders_shared_memory():
    """What a thread stored before a barrier, another reads after it."""
    a, out = np.random.rand(256).astype(np.float32), np.zeros(256, np.float32)
    run_cuda(REVERSE.replace("SYNC", "__syncthreads();"), 90, [a, out], 1, 256, race=True)
    assert (out == a[::-1]).all()


def test_a_missing_barrier_is_reported_as_a_race():
    """Both places of a race are named."""
    a, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    with pytest.raises(
        KernelFaultError, match=r"(?s)race.*out\[threadIdx.x\] = s\[255.*s\[threadIdx.x\] = in"
    ):
        run_cuda(REVERSE.replace("SYNC", ""), 90, [a, out], 1, 256, race=True)


def test_unwritten_shared_memory_is_nan():
    """Without the barrier the first threads read what nobody wrote."""
    a, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    run_cuda(REVERSE.replace("SYNC", ""), 90, [a, out], 1, 256)
    assert np.isnan(out[:128]).all()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param("__shfl_sync(~0u, v, 5)", lambda i: i // 32 * 32 + 5, id="idx"),
        pytest.param("__shfl_sync(~0u, v, 1, 8)", lambda i: i // 8 * 8 + 1, id="idx-of-8"),
        pytest.param("__shfl_xor_sync(~0u, v, 3)", lambda i: i ^ 3, id="xor"),
        pytest.param(
            "__shfl_up_sync(~0u, v, 2)", lambda i: np.where(i % 32 < 2, i, i - 2), id="up"
        ),
        pytest.param(
            "__shfl_down_sync(~0u, v, 4, 16)",
            lambda i: np.where(i % 16 > 11, i, i + 4),
            id="down-of-16",
        ),
    ],
)
def test_shuffles(call, expected):
    """Lanes read each other's registers as CUDA says."""
    out = np.zeros(64, np.int32)
    run_cuda(
        f'extern "C" __global__ void kernel(int* out) {{ int v = threadIdx.x; out[v] = {call}; }}',
        90,
        [out],
        1,
        64,
    )
    assert (out == expected(np.arange(64))).all()


def test_votes_and_reductions_of_a_warp():
    """Ballots, matches and redux take every lane of the warp."""
    source = """
    extern "C" __global__ void kernel(unsigned* out) {
      int t = threadIdx.x;
      out[t] = __ballot_sync(~0u, t & 1);
      out[32 + t] = __reduce_add_sync(~0u, (unsigned)t);
      out[64 + t] = __match_any_sync(~0u, t / 8);
      out[96 + t] = __any_sync(~0u, t == 9) + 2 * __all_sync(~0u, t < 31);
    }"""
    out = np.zeros(128, np.uint32)
    run_cuda(source, 90, [out], 1, 32)
    assert (out[:32] == 0xAAAAAAAA).all()
    assert (out[32:64] == 31 * 16).all()
    assert (out[64:96] == [0xFF << (t // 8 * 8) for t in range(32)]).all()
    assert (out[96:] == 1).all()


def test_a_deadlock_says_who_waits_where():
    """Half of a block waits at a named barrier for the other half, which has ended."""
    source = 'extern "C" __global__ void kernel() { if (threadIdx.x < 64) asm volatile("bar.sync 1, 128;"); }'
    with pytest.raises(
        KernelFaultError, match=r"(?s)deadlock.*threads 0-63 : bar.sync.*threads 64-127 : has ended"
    ):
        run_cuda(source, 90, [], 1, 128)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_named_barriers_of_producers_and_consumers(seed):
    """bar.arrive signals without waiting, whatever the order of threads."""
    source = """
    extern "C" __global__ void kernel(int* out) {
      __shared__ int s[64];
      int t = threadIdx.x;
      if (t < 64) { s[t] = t * t; asm volatile("bar.arrive 2, 128;" ::: "memory"); }
      else { asm volatile("bar.sync 2, 128;" ::: "memory"); out[t - 64] = s[127 - t]; }
    }"""
    out = np.zeros(64, np.int32)
    run_cuda(source, 90, [out], 1, 128, seed=seed, race=True)
    assert (out == np.arange(63, -1, -1) ** 2).all()


CLUSTER = """
extern "C" __global__ void kernel(float* out) {
  __shared__ float s[32];
  unsigned rank, size, mine = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]), theirs;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  s[threadIdx.x] = 100.f * rank + threadIdx.x;
  SYNC
  float v;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"((rank + 1) % size));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(theirs) : "memory");
  out[blockIdx.x * 32 + threadIdx.x] = v;
  asm volatile("barrier.cluster.arrive;\\n barrier.cluster.wait;" ::: "memory");
}"""
CLUSTER_SYNC = 'asm volatile("barrier.cluster.arrive;\\n barrier.cluster.wait;" ::: "memory");'


def test_blocks_of_a_cluster_read_each_others_memory():
    """Distributed shared memory, after a barrier of the cluster."""
    out = np.zeros(8 * 32, np.float32)
    run_cuda(CLUSTER.replace("SYNC", CLUSTER_SYNC), 90, [out], 8, 32, cluster=4, race=True)
    expected = [100 * ((b + 1) % 4) + t for b in range(8) for t in range(32)]
    assert (out == expected).all()


def test_a_missing_barrier_of_the_cluster_is_a_race():
    """Another block's memory is watched as well."""
    with pytest.raises(KernelFaultError, match=r"race in block"):
        run_cuda(
            CLUSTER.replace("SYNC", ""),
            90,
            [np.zeros(256, np.float32)],
            8,
            32,
            cluster=4,
            race=True,
        )


def test_atomics_and_a_ticket_of_the_last_block():
    """Atomic sums over blocks; the block that comes last sees all of them."""
    source = """
    extern "C" __global__ void kernel(float* sum, int* ticket, float* out) {
      __shared__ int last;
      atomicAdd(sum, 1.5f);
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) last = atomicAdd(ticket, 1) == gridDim.x - 1;
      __syncthreads();
      if (last && threadIdx.x == 0) *out = *sum;
    }"""
    total, ticket, out = np.zeros(1, np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    run_cuda(source, 90, [total, ticket, out], 6, 64)
    assert out[0] == 6 * 64 * 1.5


def test_blocks_may_wait_for_later_blocks():
    """A block that polls memory gives way to the one it waits for."""
    source = """
    extern "C" __global__ void kernel(int* flag) {
      if (blockIdx.x == 0) { int v; do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory"); while (!v); }
      else atomicExch(flag, 1);
    }"""
    run_cuda(source, 90, [np.zeros(1, np.int32)], 2, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param(
            "a[threadIdx.x + 1] = 1;",
            r"global memory.*byte 512 of 512.*a\[threadIdx.x \+ 1\]",
            id="global",
        ),
        pytest.param(
            "s[threadIdx.x + 4096] = 1;", r"shared memory.*s\[threadIdx.x \+ 4096\]", id="shared"
        ),
        pytest.param(
            'asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(s)));',
            "no mbarrier was initialised",
            id="mbarrier",
        ),
        pytest.param(
            'asm volatile("frobnicate.u32 %0;" :: "r"(1));', "frobnicate", id="unknown-instruction"
        ),
    ],
)
def test_wrong_accesses_are_named(line, said):
    """The message names what was touched and the line."""
    source = f'extern "C" __global__ void kernel(float* a) {{ __shared__ float s[128]; s[threadIdx.x] = 0; {line} }}'
    with pytest.raises(KernelFaultError, match="(?s)" + said):
        run_cuda(source, 90, [np.zeros(128, np.float32)], 1, 128)
