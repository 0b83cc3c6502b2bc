// ldmatrix, mma and wgmma.
// types: 0 f16 1 bf16 2 tf32 3 e4m3 4 e5m2 5 s8 6 u8 7 s4 8 u4 9 f32 10 s32 11 f64
static float e4m3(uint8_t v) {
  int e = v >> 3 & 15, m = v & 7;
  float r = e ? ldexpf(1 + m / 8.f, e - 7) : ldexpf(m / 8.f, -6);
  if (e == 15 && m == 7) r = NAN;
  return v & 128 ? -r : r;
}
static float tab4[256], tab5[256];
static struct InitTabs {
  InitTabs() {
    for (int i = 0; i < 256; i++) {
      tab4[i] = e4m3(i);
      tab5[i] = h2f(i << 8);
    }
  }
} init_tabs;
static const int kBits[] = {16, 16, 32, 8, 8, 8, 8, 4, 4, 32, 32, 64};
static inline float elem(uint32_t reg, int e, int type) {
  switch (type) {
    case 0:
      return h2f(reg >> (16 * e));
    case 1:
      return b2f(reg >> (16 * e));
    case 2: {
      uint32_t u = reg & 0xFFFFE000;
      float f;
      memcpy(&f, &u, 4);
      return f;
    }
    case 3:
      return tab4[reg >> (8 * e) & 255];
    case 4:
      return tab5[reg >> (8 * e) & 255];
    case 5:
      return (int8_t)(reg >> (8 * e));
    case 6:
      return (uint8_t)(reg >> (8 * e));
    case 7:
      return (int)((reg >> (4 * e) & 15) << 28) >> 28;
    case 8:
      return reg >> (4 * e) & 15;
  }
  return 0;
}
struct LdArg {
  uint32_t addr;
  uint32_t* d;
  int num;
  bool trans;
  Fibre* f;
  uint64_t pc;
};
static void ld_run(uint32_t mask, void** a) {
  if (mask != 0xFFFFFFFF) fail("ldmatrix by part of a warp (0x%x)", mask);
  int num = ((LdArg*)a[0])->num;
  bool trans = ((LdArg*)a[0])->trans;
  for (int q = 0; q < num; q++) {
    uint16_t m[8][8];
    for (int r = 0; r < 8; r++) {
      uint32_t ad = ((LdArg*)a[q * 8 + r])->addr;
      if (ad & 15) fail("ldmatrix: row address 0x%x is not aligned to 16", ad);
      memcpy(m[r], shp(ad, 16, "ldmatrix"), 16);
      if (race) touch_by(((LdArg*)a[q * 8 + r])->f, ad, 16, false, ((LdArg*)a[0])->pc);
    }
    for (int l = 0; l < 32; l++) {
      int r = l / 4, c = l % 4 * 2;
      uint32_t lo = trans ? m[c][r] : m[r][c], hi = trans ? m[c + 1][r] : m[r][c + 1];
      ((LdArg*)a[l])->d[q] = lo | hi << 16;
    }
  }
}
void ldmatrix(uint32_t addr, int num, bool trans, uint32_t* d) {
  LdArg l{addr, d, num, trans, cur, race ? EMU_HERE : 0};
  warp_collective("ldmatrix", ~0u, &l, ld_run, 10 + num * 2 + trans);
}
static void st_run(uint32_t mask, void** a) {
  if (mask != 0xFFFFFFFF) fail("stmatrix by part of a warp (0x%x)", mask);
  int num = ((LdArg*)a[0])->num;
  bool trans = ((LdArg*)a[0])->trans;
  for (int q = 0; q < num; q++) {
    uint16_t m[8][8];
    for (int l = 0; l < 32; l++) {
      int r = l / 4, c = l % 4 * 2;
      uint32_t v = ((LdArg*)a[l])->d[q];
      if (trans) {
        m[c][r] = v;
        m[c + 1][r] = v >> 16;
      } else {
        m[r][c] = v;
        m[r][c + 1] = v >> 16;
      }
    }
    for (int r = 0; r < 8; r++) {
      uint32_t ad = ((LdArg*)a[q * 8 + r])->addr;
      if (ad & 15) fail("stmatrix: row address 0x%x is not aligned to 16", ad);
      memcpy(shp(ad, 16, "stmatrix"), m[r], 16);
      if (race) touch_by(((LdArg*)a[q * 8 + r])->f, ad, 16, true, ((LdArg*)a[0])->pc);
    }
  }
}
void stmatrix(uint32_t addr, int num, bool trans, const uint32_t* d) {
  LdArg l{addr, (uint32_t*)d, num, trans, cur, race ? EMU_HERE : 0};
  warp_collective("stmatrix", ~0u, &l, st_run, 30 + num * 2 + trans);
}
static void mov_run(uint32_t, void** a) {
  uint16_t m[8][8];
  for (int l = 0; l < 32; l++) {
    uint32_t v = *(uint32_t*)a[l];
    m[l / 4][l % 4 * 2] = v;
    m[l / 4][l % 4 * 2 + 1] = v >> 16;
  }
  for (int l = 0; l < 32; l++)
    *(uint32_t*)a[l] = m[l % 4 * 2][l / 4] | (uint32_t)m[l % 4 * 2 + 1][l / 4] << 16;
}
uint32_t movmatrix(uint32_t v) {
  warp_collective("movmatrix", ~0u, &v, mov_run, 50);
  return v;
}

struct MmaArg {
  int m, n, k, ta, tb, tc, td;
  uint32_t* d;
  const uint32_t *a, *b, *c;
  uint32_t e;
  int sel;
};
static void store_acc(uint32_t* d, int i, float v, int td) {
  if (td == 0) {
    uint16_t h = f2h(v);
    memcpy((char*)d + 2 * i, &h, 2);
  } else
    memcpy(d + i, &v, 4);
}
static float load_acc(const uint32_t* d, int i, int tc) {
  if (tc == 0) {
    uint16_t h;
    memcpy(&h, (const char*)d + 2 * i, 2);
    return h2f(h);
  }
  float f;
  memcpy(&f, d + i, 4);
  return f;
}
static void mma_f64(uint32_t, void** args) {
  MmaArg& o = *(MmaArg*)args[0];
  int M = o.m, K = o.k;  // m8n8k4 and the m16n8 shapes
  static double A[16][16], B[16][8];
  int rows = M / 8;
  for (int l = 0; l < 32; l++) {
    MmaArg& x = *(MmaArg*)args[l];
    int g = l / 4, t = l % 4;
    for (int kk = 0; kk < K / 4; kk++)
      for (int r = 0; r < rows; r++)
        memcpy(&A[g + 8 * r][t + 4 * kk], (double*)x.a + kk * rows + r, 8);
    for (int kk = 0; kk < K / 4; kk++) memcpy(&B[t + 4 * kk][g], (double*)x.b + kk, 8);
  }
  for (int l = 0; l < 32; l++) {
    MmaArg& x = *(MmaArg*)args[l];
    int g = l / 4, t = l % 4;
    for (int r = 0; r < rows; r++)
      for (int j = 0; j < 2; j++) {
        double s = ((const double*)x.c)[r * 2 + j];
        for (int k = 0; k < K; k++) s = fma(A[g + 8 * r][k], B[k][2 * t + j], s);
        ((double*)x.d)[r * 2 + j] = s;
      }
  }
}
static void mma_run(uint32_t mask, void** args) {
  if (mask != 0xFFFFFFFF) fail("mma by part of a warp (0x%x)", mask);
  MmaArg& o = *(MmaArg*)args[0];
  if (o.ta == 11) {
    mma_f64(mask, args);
    return;
  }
  int K = o.k, E = 32 / kBits[o.ta], EB = 32 / kBits[o.tb], M = o.m;
  bool ints = o.td == 10;
  alignas(64) static float A[16][256], B[256][8];
  for (int l = 0; l < 32; l++) {
    MmaArg& x = *(MmaArg*)args[l];
    int g = l / 4, t = l % 4, rows = M / 8;
    for (int kk = 0; kk < K / (4 * E); kk++)
      for (int r = 0; r < rows; r++)
        for (int e = 0; e < E; e++)
          A[g + 8 * r][kk * 4 * E + t * E + e] = elem(x.a[kk * rows + r], e, o.ta);
    for (int kk = 0; kk < K / (4 * EB); kk++)
      for (int e = 0; e < EB; e++) B[kk * 4 * EB + t * EB + e][g] = elem(x.b[kk], e, o.tb);
  }
  alignas(64) float C[16][8];
  alignas(64) int32_t CI[16][8];
  for (int l = 0; l < 32; l++) {
    MmaArg& x = *(MmaArg*)args[l];
    int g = l / 4, t = l % 4;
    for (int r = 0; r < M / 8; r++)
      for (int j = 0; j < 2; j++) {
        if (ints)
          CI[g + 8 * r][2 * t + j] = (int32_t)x.c[r * 2 + j];
        else
          C[g + 8 * r][2 * t + j] = load_acc(x.c, r * 2 + j, o.tc);
      }
  }
  if (ints) {
    for (int i = 0; i < M; i++)
      for (int k = 0; k < K; k++)
        for (int j = 0; j < 8; j++)
          CI[i][j] = (int32_t)((uint32_t)CI[i][j] + (uint32_t)((int)A[i][k] * (int)B[k][j]));
  } else {
    for (int i = 0; i < M; i++) {
      float acc[8];
      for (int j = 0; j < 8; j++) acc[j] = 0;
      for (int k = 0; k < K; k++) {
        float a = A[i][k];
        for (int j = 0; j < 8; j++) acc[j] += a * B[k][j];
      }
      for (int j = 0; j < 8; j++) C[i][j] += acc[j];
    }
  }
  for (int l = 0; l < 32; l++) {
    MmaArg& x = *(MmaArg*)args[l];
    int g = l / 4, t = l % 4;
    for (int r = 0; r < M / 8; r++)
      for (int j = 0; j < 2; j++) {
        if (ints)
          x.d[r * 2 + j] = (uint32_t)CI[g + 8 * r][2 * t + j];
        else
          store_acc(x.d, r * 2 + j, C[g + 8 * r][2 * t + j], o.td);
      }
  }
}
void mma(int m, int n, int k, int ta, int tb, int tc, int td, uint32_t* d, const uint32_t* a,
         const uint32_t* b, const uint32_t* c) {
  if (n != 8 || (m != 16 && m != 8)) fail("mma.m%dn%dk%d is not emulated", m, n, k);
  MmaArg x{m, n, k, ta, tb, tc, td, d, a, b, c, 0, 0};
  warp_collective(
      "mma", ~0u, &x, mma_run,
      1000 + ((uint64_t)m << 40) + ((uint64_t)k << 24) + ta * 4096 + tb * 256 + tc * 16 + td);
}
void mma_sp(int, int, int, int, int, int, int, uint32_t*, const uint32_t*, const uint32_t*,
            const uint32_t*, uint32_t, int) {
  fail("sparse mma is not emulated");
}

struct WgArg {
  int n, k, ta, tb, td;
  uint32_t* d;
  const uint32_t* a;
  uint64_t da, db;
  int scale_d, sa, sb, tra, trb;
  Fibre* f;
  uint64_t pc;
};
static uint32_t desc_addr(uint64_t desc, int r, int kb, int es, bool mn, uint32_t rank) {
  uint32_t start = (desc & 0x3FFF) << 4, lbo = (desc >> 16 & 0x3FFF) << 4,
           sbo = (desc >> 32 & 0x3FFF) << 4;
  int type = desc >> 62;           // 0 none 1 128B 2 64B 3 32B
  int mode = type ? 4 - type : 0;  // 3 2 1
  uint32_t pitch = 16u << mode, off;
  if (!mn) {
    if (mode)
      off = (r & 7) * pitch + (r >> 3) * sbo + kb;
    else
      off = (r & 7) * 16 + (r >> 3) * sbo + (kb >> 4) * lbo + (kb & 15);
  } else {
    int k = kb / es, w = pitch / es;
    if (mode)
      off = r % w * es + r / w * lbo + (k & 7) * pitch + (k >> 3) * sbo;
    else
      off = r % w * es + r / w * sbo + (k & 7) * 16 + (k >> 3) * lbo;
  }
  return (rank << 24) + swz((start + off) & 0x3FFFF, mode);
}
// Reads rows x kbytes of a matrix into floats, out[r * K + k].
static void read_mat(uint64_t desc, int rows, int K, int type, bool mn, float* out, uint32_t rank,
                     WgArg& lead, uint32_t comp, uint32_t clk) {
  int es = kBits[type] / 8;
  if (desc >> 49 & 7) fail("wgmma descriptor: a base offset is not emulated");
  if (mn && es != 2) fail("wgmma: transposed operands are for 16-bit types only");
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < K; k += mn ? 1 : 4 / es) {
      uint32_t at = desc_addr(desc, r, k * es, es, mn, rank);
      char* p = shp(at, mn ? 2 : 4, "wgmma operand");
      if (race)
        touch(*lead.f->block->cluster, at, mn ? 2 : 4, false, comp, clk, VC(lead.f), PV(lead.f),
              lead.pc);
      if (mn) {
        uint16_t u;
        memcpy(&u, p, 2);
        out[r * K + k] = elem(u, 0, type);
      } else {
        uint32_t u;
        memcpy(&u, p, 4);
        for (int e = 0; e < 4 / es; e++) out[r * K + k + e] = elem(u, e, type);
      }
    }
}
static void wg_run(void** args) {
  WgArg& o = *(WgArg*)args[0];
  int N = o.n, K = o.k, E = 32 / kBits[o.ta];
  alignas(64) static float A[64 * 64], B[256 * 64], BT[64 * 256], D[64 * 256];
  uint32_t rank = cur->block->rank;
  for (int i = 1; i < 128; i++) {
    WgArg& x = *(WgArg*)args[i];
    if (x.db != o.db || (!o.a && x.da != o.da) || x.scale_d != o.scale_d)
      fail("wgmma: threads %d and 0 of the warp group pass different descriptors or scales", i);
  }
  uint32_t comp = 0, clk = 0;
  if (race) {
    Cluster& c = *cur->block->cluster;
    uint32_t per = (g_blockDim.x * g_blockDim.y * g_blockDim.z + 127) / 128,
             g = rank * per + cur->linear / 128;
    comp = 3 * T + g;
    clk = ++c.wgclk[g];
  }
  if (!o.a)
    read_mat(o.da, 64, K, o.ta, o.tra, A, rank, o, comp, clk);
  else
    for (int t = 0; t < 128; t++) {
      WgArg& x = *(WgArg*)args[t];
      int w = t / 32, g = t % 32 / 4, q = t % 4;
      for (int r = 0; r < 4; r++)
        for (int e = 0; e < E; e++)
          A[(16 * w + g + 8 * (r & 1)) * K + (r >> 1) * 4 * E + q * E + e] = elem(x.a[r], e, o.ta);
    }
  read_mat(o.db, N, K, o.tb, o.trb, B, rank, o, comp, clk);
  for (int n = 0; n < N; n++)
    for (int k = 0; k < K; k++) BT[k * N + n] = B[n * K + k];
  float s = (float)(o.sa * o.sb);
  bool ints = o.td == 10;
  for (int m = 0; m < 64; m++) {
    float* d = D + m * N;
    for (int n = 0; n < N; n++) d[n] = 0;
    for (int k = 0; k < K; k++) {
      float a = A[m * K + k];
      const float* b = BT + k * N;
      for (int n = 0; n < N; n++) d[n] += a * b[n];
    }
  }
  for (int t = 0; t < 128; t++) {
    WgArg& x = *(WgArg*)args[t];
    int w = t / 32, g = t % 32 / 4, q = t % 4;
    for (int i = 0; i < N / 2; i++) {
      int row = 16 * w + g + 8 * (i >> 1 & 1), col = i / 4 * 8 + q * 2 + (i & 1);
      float v = D[row * N + col] * s;
      if (ints) {
        int32_t c = o.scale_d ? (int32_t)x.d[i] : 0;
        x.d[i] = (uint32_t)(c + (int32_t)v);
        continue;
      }
      store_acc(x.d, i, (o.scale_d ? load_acc(x.d, i, o.td) : 0.f) + v, o.td);
    }
  }
}
void wgmma(int n, int k, int ta, int tb, int td, uint32_t* d, const uint32_t* a, uint64_t da,
           uint64_t db, int scale_d, int sa, int sb, int tra, int trb, uint64_t key) {
  WgArg x{n, k, ta, tb, td, d, a, da, db, scale_d, sa, sb, tra, trb, cur, race ? EMU_HERE : 0};
  group_collective("wgmma", &x, wg_run, key);
}
static uint32_t wg_index() {
  uint32_t per = (g_blockDim.x * g_blockDim.y * g_blockDim.z + 127) / 128;
  return cur->block->rank * per + cur->linear / 128;
}
void wgmma_commit() {
  if (race) ex(cur).wg_commits.push_back(cur->block->cluster->wgclk[wg_index()]);
}
void wgmma_wait(int n) {
  if (!race) return;
  Extra& e = ex(cur);
  uint32_t& mine = VC(cur)[3 * T + wg_index()];
  while ((int)e.wg_commits.size() > n) {
    mine = std::max(mine, e.wg_commits.front());
    e.wg_commits.pop_front();
  }
}
void wgmma_fence() {}
