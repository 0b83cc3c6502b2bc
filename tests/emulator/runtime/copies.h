// Bulk and tensor copies.
struct TMap {
  uint32_t magic;
  uint8_t type, rank, interleave, swizzle, fill, pad[3];
  uint32_t pad2;
  uint64_t addr, dims[5], strides[4];  // strides of dimensions 1.. in bytes
  uint16_t box[5];
  uint8_t estr[5];
};
static_assert(sizeof(TMap) <= 128);
static const uint32_t kMagic = 0x7A9E11AB;
static int type_bytes(int t) {  // CUtensorMapDataType
  static const int b[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return t < 13 ? b[t] : 0;
}
static uint32_t swz(uint32_t a, int mode) {
  switch (mode) {
    case 1:
      return a ^ ((a >> 7 & 1) << 4);
    case 2:
      return a ^ ((a >> 7 & 3) << 4);
    case 3:
      return a ^ ((a >> 7 & 7) << 4);
  }
  return a;
}
static const TMap& tmap(const void* m) {
  const TMap& t = *(const TMap*)m;
  if (t.magic != kMagic) fail("not a tensor map (made by the host code?) at %p", m);
  return t;
}
// Visits the box: f(shared address, global pointer or null, bytes) in pieces of at most 16 bytes.
template <class F>
static uint32_t walk_box(const TMap& t, uint32_t sh0, const int* c, F f) {
  int es = type_bytes(t.type);
  if (!es) fail("tensor map: packed 4/6-bit types are not emulated");
  uint32_t n[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < t.rank; i++) n[i] = (t.box[i] + t.estr[i] - 1) / t.estr[i];
  uint32_t inner = n[0] * es, off = 0;
  if (inner % 16) fail("tensor map: inner box of %u bytes is no multiple of 16", inner);
  if (t.swizzle && inner > (16u << t.swizzle))
    fail("tensor map: inner box of %u bytes exceeds the swizzle span %u", inner, 16u << t.swizzle);
  if (sh0 & (t.swizzle == 0 ? 15 : 127))
    fail("tensor copy: shared address 0x%x is not aligned to %d", sh0, t.swizzle ? 128 : 16);
  for (uint32_t i4 = 0; i4 < n[4]; i4++)
    for (uint32_t i3 = 0; i3 < n[3]; i3++)
      for (uint32_t i2 = 0; i2 < n[2]; i2++)
        for (uint32_t i1 = 0; i1 < n[1]; i1++) {
          long idx[5] = {0, (long)i1, (long)i2, (long)i3, (long)i4};
          bool in = true;
          uint64_t base = t.addr;
          for (int d = 1; d < t.rank; d++) {
            long x = c[d] + idx[d] * t.estr[d];
            if (x < 0 || x >= (long)t.dims[d]) in = false;
            base += (uint64_t)(x * (long)t.strides[d - 1]);
          }
          for (uint32_t q = 0; q < inner; q += 16) {
            uint32_t sa = swz(sh0 + off + q, t.swizzle);
            long e0 = c[0] + (long)(q / es) * t.estr[0];
            int per = 16 / es;
            if (t.estr[0] == 1 && in && e0 >= 0 && e0 + per <= (long)t.dims[0])
              f(sa, (char*)base + e0 * es, 16u);
            else
              for (int e = 0; e < per; e++) {
                long x = e0 + (long)e * t.estr[0];
                bool ok = in && x >= 0 && x < (long)t.dims[0];
                f(sa + e * es, ok ? (char*)base + x * es : nullptr, (uint32_t)es);
              }
          }
          off += inner;
        }
  return off;
}
static void tensor_load_to(const TMap& t, uint32_t to, const int* c, uint32_t bar, uint32_t total) {
  shp(to, total, "tensor load");
  char* w = window();
  uint32_t bytes = walk_box(t, to, c, [&](uint32_t s, char* g, uint32_t n) {
    if (g)
      memcpy(w + s, g, n);
    else if (t.fill && (t.type >= 6))
      memset(w + s, 0xFF, n);
    else
      memset(w + s, 0, n);
  });
  complete_at(bar, bytes);
}
static uint32_t box_bytes(const TMap& t) {
  uint32_t b = type_bytes(t.type);
  for (int i = 0; i < t.rank; i++) b *= (t.box[i] + t.estr[i] - 1) / t.estr[i];
  return b;
}
static void run_async(AsyncOp& o) {
  // The scheduler has no current fibre of its own; windows are found through the current one.
  Fibre* keep = cur;
  cur = &o.block->fibres[0];
  uint32_t self = o.block->rank << 24;
  int mask = o.mask;
  for (uint32_t r = 0; r < 16; r++) {
    if (o.mask >= 0 && !(mask >> r & 1)) continue;
    uint32_t to = o.to, bar = o.bar;
    if (o.mask >= 0) {
      to = (to & 0xFFFFFF) | r << 24;
      bar = (bar & 0xFFFFFF) | r << 24;
    }
    if (o.kind == 0) {
      memcpy(shp(to, o.bytes, "bulk copy"), o.from, o.bytes);
      complete_at(bar, o.bytes);
    } else if (o.kind == 1)
      tensor_load_to(*(TMap*)o.map, to, o.c, bar, box_bytes(*(TMap*)o.map));
    else {
      memcpy(shp(to, o.bytes, "bulk copy"), shp(o.from_sh, o.bytes, "bulk copy"), o.bytes);
      complete_at(bar, o.bytes);
    }
    if (o.mask < 0) break;
  }
  (void)self;
  cur = keep;
}
static void issue(AsyncOp& o, const void* pc) {
  o.block = cur->block;
  if (race) {
    Cluster& c = *cur->block->cluster;
    for (uint32_t r = 0; r < 16; r++) {
      if (o.mask >= 0 && !(o.mask >> r & 1)) continue;
      uint32_t to = o.to, bar = o.bar;
      if (o.mask >= 0) {
        to = (to & 0xFFFFFF) | r << 24;
        bar = (bar & 0xFFFFFF) | r << 24;
      }
      uint32_t n = o.kind == 1 ? box_bytes(*(TMap*)o.map) : o.bytes;
      shp(to, n, "bulk copy");
      uint32_t h = (bar >> 3) * 2654435761u >> 26, comp = NC - 64 + h, clk = ++c.mclk[h];
      touch(c, to, n, true, comp, clk, VC(cur), PV(cur), (uint64_t)pc);
      if (o.kind == 2) touch(c, o.from_sh, n, false, comp, clk, VC(cur), PV(cur), (uint64_t)pc);
      MB& m = mbr(bar);
      if (m.vc.empty()) {
        m.vc.assign(NC, 0);
        m.pv.assign(NC, 0);
      }
      m.vc[comp] = clk;
      if (o.mask < 0) break;
    }
  }
  if (late)
    async_ops.push_back(o);
  else
    run_async(o);
}
void bulk_g2s(uint32_t to, const void* from, uint32_t bytes, uint32_t bar, int mask) {
  if (bytes & 15 || to & 15 || (uintptr_t)from & 15)
    fail("cp.async.bulk: %u bytes from %p to 0x%x: not multiples of 16", bytes, from, to);
  AsyncOp o{};
  o.kind = 0;
  o.to = to;
  o.from = (const char*)from;
  o.bytes = bytes;
  o.bar = bar;
  o.mask = mask;
  issue(o, (void*)EMU_HERE);
}
void bulk_s2s(uint32_t to, uint32_t from, uint32_t bytes, uint32_t bar) {
  if (bytes & 15 || to & 15 || from & 15)
    fail("cp.async.bulk: %u bytes from 0x%x to 0x%x: not multiples of 16", bytes, from, to);
  AsyncOp o{};
  o.kind = 2;
  o.to = to;
  o.from_sh = from;
  o.bytes = bytes;
  o.bar = bar;
  o.mask = -1;
  issue(o, (void*)EMU_HERE);
}
void tma_load(int rank, bool im2col, uint32_t to, const void* map, const int* c, uint32_t bar,
              int mask, const uint16_t*) {
  if (im2col) fail("im2col tensor maps are not emulated");
  const TMap& t = tmap(map);
  if (t.rank != rank)
    fail("cp.async.bulk.tensor.%dd with a tensor map of %d dimensions", rank, t.rank);
  AsyncOp o{};
  o.kind = 1;
  o.to = to;
  memcpy(o.map, map, sizeof(TMap));
  o.bar = bar;
  o.mask = mask;
  o.rank = rank;
  for (int i = 0; i < rank; i++) o.c[i] = c[i];
  issue(o, (void*)EMU_HERE);
}
static float h2f(uint16_t h) { return _cvtsh_ss(h); }
static uint16_t f2h(float f) { return _cvtss_sh(f, 0); }
static float b2f(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static uint16_t f2b(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}
// op: 0 add 1 min 2 max 3 inc 4 dec 5 and 6 or 7 xor; type: CUtensorMapDataType
static void reduce_into(char* g, const char* s, uint32_t bytes, int op, int type) {
  auto loop = [&](auto z) {
    using T = decltype(z);
    for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
      T a, b;
      memcpy(&a, g + i, sizeof(T));
      memcpy(&b, s + i, sizeof(T));
      T r = a;
      if (op == 0)
        r = a + b;
      else if (op == 1)
        r = std::min(a, b);
      else if (op == 2)
        r = std::max(a, b);
      else if constexpr (std::is_integral_v<T>) {
        if (op == 5)
          r = a & b;
        else if (op == 6)
          r = a | b;
        else if (op == 7)
          r = a ^ b;
      }
      memcpy(g + i, &r, sizeof(T));
    }
  };
  auto small = [&](float (*up)(uint16_t), uint16_t (*down)(float)) {
    for (uint32_t i = 0; i < bytes; i += 2) {
      uint16_t a, b;
      memcpy(&a, g + i, 2);
      memcpy(&b, s + i, 2);
      float x = up(a), y = up(b), r = op == 0 ? x + y : op == 1 ? std::min(x, y) : std::max(x, y);
      a = down(r);
      memcpy(g + i, &a, 2);
    }
  };
  switch (type) {
    case 0:
      loop((uint8_t)0);
      break;
    case 1:
      loop((uint16_t)0);
      break;
    case 2:
      loop((uint32_t)0);
      break;
    case 3:
      loop((int32_t)0);
      break;
    case 4:
      loop((uint64_t)0);
      break;
    case 5:
      loop((int64_t)0);
      break;
    case 6:
      small(h2f, f2h);
      break;
    case 7:
    case 10:
    case 11:
    case 12:
      loop(0.f);
      break;
    case 8:
      loop(0.);
      break;
    case 9:
      small(b2f, f2b);
      break;
  }
}
static void do_store(BulkStore& b) {
  if (b.kind == 0)
    memcpy(b.to, shp(b.from, b.bytes, "bulk store"), b.bytes);
  else if (b.kind == 2)
    reduce_into(b.to, shp(b.from, b.bytes, "bulk reduction"), b.bytes, b.op, b.type);
  else {
    const TMap& t = *(TMap*)b.mapcopy;
    shp(b.from, box_bytes(t), "tensor store");
    char* w = window();
    walk_box(t, b.from, b.c, [&](uint32_t s, char* g, uint32_t n) {
      if (!g) return;
      if (b.op < 0)
        memcpy(g, w + s, n);
      else
        reduce_into(g, w + s, n, b.op, t.type);
    });
  }
}
static void issue_store(BulkStore& b, const void* pc) {
  if (race) {
    Extra& e = ex(cur);
    uint32_t n = b.kind == 1 ? box_bytes(*(TMap*)b.mapcopy) : b.bytes;
    shp(b.from, n, "bulk store");
    touch(*cur->block->cluster, b.from, n, false, 2 * T + e.gid, ++e.bclk, VC(cur), PV(cur),
          (uint64_t)pc);
  }
  if (late)
    ex(cur).bulk_open.push_back(b);
  else
    do_store(b);
}
void bulk_s2g(void* to, uint32_t from, uint32_t bytes) {
  if (bytes & 15 || from & 15 || (uintptr_t)to & 15)
    fail("cp.async.bulk: %u bytes from 0x%x to %p: not multiples of 16", bytes, from, to);
  BulkStore b{};
  b.kind = 0;
  b.to = (char*)to;
  b.from = from;
  b.bytes = bytes;
  issue_store(b, (void*)EMU_HERE);
}
void bulk_red(void* to, uint32_t from, uint32_t bytes, int op, int type) {
  BulkStore b{};
  b.kind = 2;
  b.to = (char*)to;
  b.from = from;
  b.bytes = bytes;
  b.op = op;
  b.type = type;
  issue_store(b, (void*)EMU_HERE);
}
void tma_store(int rank, const void* map, uint32_t from, const int* c, int op) {
  const TMap& t = tmap(map);
  if (t.rank != rank)
    fail("cp.async.bulk.tensor.%dd with a tensor map of %d dimensions", rank, t.rank);
  BulkStore b{};
  b.kind = 1;
  b.from = from;
  b.rank = rank;
  b.op = op;
  memcpy(b.mapcopy, map, sizeof(TMap));
  for (int i = 0; i < rank; i++) b.c[i] = c[i];
  issue_store(b, (void*)EMU_HERE);
}
void bulk_commit() {
  if (race) ex(cur).bulk_commits.push_back(ex(cur).bclk);
  if (!late) return;
  Extra& e = ex(cur);
  e.bulk.emplace_back(std::move(e.bulk_open));
  e.bulk_open.clear();
}
void bulk_wait(uint32_t n, bool) {
  if (race) {
    Extra& e = ex(cur);
    uint32_t& mine = VC(cur)[2 * T + e.gid];
    while (e.bulk_commits.size() > n) {
      mine = std::max(mine, e.bulk_commits.front());
      e.bulk_commits.pop_front();
    }
  }
  if (!late) return;
  Extra& e = ex(cur);
  while (e.bulk.size() > n) {
    for (BulkStore& b : e.bulk.front()) do_store(b);
    e.bulk.erase(e.bulk.begin());
  }
}
