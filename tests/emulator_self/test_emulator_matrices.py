"""Matrix instructions of the emulator against numpy."""

import numpy as np
import pytest

from emulator import EMULATED, run_cuda

pytestmark = EMULATED

MMA = """
extern "C" __global__ void kernel(const TYPE* a, const TYPE* b, float* d) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const int K = DEPTH, E = 4 / sizeof(TYPE);
  unsigned x[4], y[2];
  float c[4] = {1, 1, 1, 1};
  for (int r = 0; r < 4; r++) memcpy(&x[r], a + (g + r % 2 * 8) * K + r / 2 * 4 * E + t * E, 4);
  for (int r = 0; r < 2; r++) memcpy(&y[r], b + g * K + r * 4 * E + t * E, 4);
  asm volatile("mma.sync.aligned.m16n8kDEPTH.row.col.f32.PTX.PTX.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}"""


@pytest.mark.parametrize(
    ("dtype", "cuda", "ptx", "depth"),
    [
        pytest.param(np.float16, "__half", "f16", 16, id="f16"),
        pytest.param(np.float32, "float", "tf32", 8, id="tf32"),
    ],
)
def test_mma(dtype, cuda, ptx, depth):
    """The instruction of a warp multiplies, adds and rounds once."""
    source = MMA.replace("TYPE", cuda).replace("DEPTH", str(depth)).replace("PTX", ptx)
    # Small integers are exact in every type.
    a, b = (np.random.randint(-8, 9, (n, depth)).astype(dtype) for n in (16, 8))
    d = np.zeros((16, 8), np.float32)
    run_cuda(source, 90, [a, b, d], 1, 32)
    assert (d == a.astype(np.float64) @ b.T.astype(np.float64) + 1).all()


def test_ldmatrix_gives_what_stmatrix_put():
    """Four matrices, transposed on the way in and again on the way out."""
    source = """
    extern "C" __global__ void kernel(const unsigned short* in, unsigned short* out, unsigned* held) {
      __shared__ __align__(16) unsigned short s[256], r[256];
      for (int i = threadIdx.x; i < 256; i += 32) s[i] = in[i];
      __syncwarp();
      unsigned v[4], from = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 8), to = (unsigned)__cvta_generic_to_shared(r + threadIdx.x * 8);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(from) : "memory");
      held[threadIdx.x] = v[1];
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(to), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
      __syncwarp();
      for (int i = threadIdx.x; i < 256; i += 32) out[i] = r[i];
    }"""
    a, out, held = (
        np.arange(256, dtype=np.uint16),
        np.zeros(256, np.uint16),
        np.zeros(32, np.uint32),
    )
    run_cuda(source, 90, [a, out, held], 1, 32, race=True)
    assert (out == a).all()
    second = a[64:128].reshape(8, 8).T.reshape(32, 2)
    assert (held == second[:, 0].astype(np.uint32) + (second[:, 1].astype(np.uint32) << 16)).all()


WGMMA = """
extern "C" __global__ void kernel(const __half* a, const __half* b, float* d) {
  __shared__ __align__(1024) __half sa[64 * 64], sb[8 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) sa[(i / 64 * 64 + (i % 64 / 8 ^ i / 64 % 8) * 8) + i % 8] = a[i];
  for (int i = threadIdx.x; i < 8 * 64; i += 128) sb[(i / 64 * 64 + (i % 64 / 8 ^ i / 64 % 8) * 8) + i % 8] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float c[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < 4; k++) {
    unsigned long long x = 0x4000004000010000ull | (((unsigned)__cvta_generic_to_shared(sa) + k * 32) >> 4 & 0x3FFF);
    unsigned long long y = 0x4000004000010000ull | (((unsigned)__cvta_generic_to_shared(sb) + k * 32) >> 4 & 0x3FFF);
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(x), "l"(y), "r"(k));
  }
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 4; i++) d[(row + i / 2 * 8) * 8 + column + i % 2] = c[i];
}"""


def test_wgmma_reads_operands_in_the_widest_swizzle():
    """Four steps over 64 of depth, the descriptors moved along a swizzled row."""
    a, b = (np.random.randint(-8, 9, (n, 64)).astype(np.float16) for n in (64, 8))
    d = np.zeros((64, 8), np.float32)
    run_cuda(WGMMA, 90, [a, b, d], 1, 128, race=True)
    assert (d == a.astype(np.float64) @ b.T.astype(np.float64)).all()
