// How threads, blocks and clusters begin and end.
static void fibre_end() {
  Fibre* f = cur;
  if (late) {
    // Copies into shared memory that nobody awaited need not have landed; results still must.
    bulk_commit();
    bulk_wait(0, false);
  }
  Block& b = *f->block;
  Cluster& c = *b.cluster;
  Warp& w = *f->warp;
  f->state = 2;
  b.live--;
  c.live--;
  w.live &= ~(1u << f->lane);
  std::vector<Pending*> ps(w.pending);
  for (Pending* p : ps) try_finish(w, p);
  for (NamedBar& n : b.bars)
    if (n.used && !n.expected && n.arrived == (uint32_t)b.live && b.live) bar_done(n);
  if (ex(f).cluster_arrived) {
    c.arrived--;
  }  // arrived and left
  cluster_check(c);
  if (!c.live) {
    for (Block& bb : c.blocks)
      for (Fibre& ff : bb.fibres)
        if (ff.state != 2) abort();
    for (size_t i = 0; i < async_ops.size(); i++)
      if (async_ops[i].block->cluster == &c)
        fail("the block ends with bulk copies under way that nobody waits for");
    c.busy = false;
  }
  schedule();
  abort();
}
static void fibre_main() {
  entry(entry_args);
  fibre_end();
}
static void init_fibre(Fibre& f, int stack) {
  while ((int)stacks.size() <= stack) {
    char* s = (char*)mmap(nullptr, kStack + 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s == MAP_FAILED) fail("no memory for stacks");
    mprotect(s, 4096, PROT_NONE);
    stacks.push_back(s);
  }
  f.stack = stacks[stack];
  // Tops differ so that threads' frames do not share cache sets.
  char* top = stacks[stack] + kStack + 4096 - 64 - (stack * 37 % 61) * 64;
  void** sp = (void**)((uintptr_t)top & ~15ull);
  *--sp = nullptr;  // alignment: at entry rsp % 16 == 8
  *--sp = (void*)fibre_main;
  for (int i = 0; i < 6; i++) *--sp = nullptr;
  f.sp = sp;
}
static void setup_cluster(Cluster& c, uint64_t index) {
  uint32_t cx = g_clusterDim.x, cy = g_clusterDim.y, cz = g_clusterDim.z;
  uint64_t nx = g_gridDim.x / cx, ny = g_gridDim.y / cy;
  uint32_t ix = index % nx, iy = index / nx % ny, iz = index / nx / ny;
  uint32_t threads = g_blockDim.x * g_blockDim.y * g_blockDim.z;
  c.arrived = 0;
  c.phase = 0;
  c.waiting.clear();
  c.busy = true;
  c.live = 0;
  if (race) {
    c.vc.assign((size_t)T * NC, 0);
    c.pv.assign((size_t)T * NC, 0);
    for (uint32_t i = 0; i < T; i++) c.vc[(size_t)i * NC + i] = 1;
    c.bvc.clear();
    c.bpv.clear();
    c.rvc.clear();
    c.rpv.clear();
    c.mbs.clear();
    memset(c.mclk, 0, sizeof c.mclk);
    c.wgclk.assign(NC - 64 - 3 * T, 0);
    for (auto& sh : c.shadow)
      for (Cell& x : sh) delete x.more;
    c.shadow.assign(c.blocks.size(), std::vector<Cell>((dyn_pages_end + 65536) / gran));
  }
  uint32_t rank = 0;
  for (uint32_t z = 0; z < cz; z++)
    for (uint32_t y = 0; y < cy; y++)
      for (uint32_t x = 0; x < cx; x++, rank++) {
        Block& b = c.blocks[rank];
        b.cluster = &c;
        b.rank = rank;
        b.cid = uint3{x, y, z};
        b.bid = uint3{ix * cx + x, iy * cy + y, iz * cz + z};
        b.live = b.total = threads;
        for (NamedBar& n : b.bars) n = NamedBar();
        for (Warp& w : b.warps)
          for (Pending* p : w.pending) delete p;
        b.warps.assign((threads + 31) / 32, Warp());
        b.groups.assign((threads + 127) / 128, Group());
        char* base = c.window + ((size_t)rank << 24);
        if (dyn_bytes) memset(base + dyn_offset, 0xFF, dyn_bytes);
        for (Static& s : statics) memset(base + s.page0, 0xFF, s.pages);
        if (b.fibres.size() != threads) {
          for (Fibre& f : b.fibres) delete (Extra*)f.extra;
          b.fibres.assign(threads, Fibre());
          for (Fibre& f : b.fibres) f.extra = new Extra;
        }
        uint32_t i = 0;
        for (uint32_t tz = 0; tz < g_blockDim.z; tz++)
          for (uint32_t ty = 0; ty < g_blockDim.y; ty++)
            for (uint32_t tx = 0; tx < g_blockDim.x; tx++, i++) {
              Fibre& f = b.fibres[i];
              *(Extra*)f.extra = Extra();
              ((Extra*)f.extra)->gid = rank * threads + i;
              f.tid = uint3{tx, ty, tz};
              f.bid = b.bid;
              f.block = &b;
              f.warp = &b.warps[i / 32];
              f.warp->idx = i / 32;
              f.lane = i % 32;
              f.linear = i;
              f.state = 0;
              f.what = nullptr;
              f.warp->live |= 1u << f.lane;
              init_fibre(f, c.stack0 + rank * threads + i);
              ready.push_back(&f);
            }
        c.live += threads;
      }
}
static bool start_cluster() {
  Cluster* c = nullptr;
  for (Cluster* q : clusters)
    if (!q->busy) {
      c = q;
      break;
    }
  size_t n = (size_t)g_clusterDim.x * g_clusterDim.y * g_clusterDim.z;
  if (!c) {
    c = new Cluster;
    c->blocks.resize(n);
    c->window = (char*)mmap(nullptr, n << 24, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->window == MAP_FAILED) fail("no memory for shared memory");
    c->stack0 = clusters.size() * n * g_blockDim.x * g_blockDim.y * g_blockDim.z;
    clusters.push_back(c);
    for (size_t r = 0; r < n; r++) {
      char* b = c->window + (r << 24);
      if (dyn_bytes)
        mprotect(b + (dyn_offset & ~4095ull), dyn_pages_end - (dyn_offset & ~4095ull),
                 PROT_READ | PROT_WRITE);
      for (Static& s : statics) mprotect(b + s.page0, s.pages, PROT_READ | PROT_WRITE);
    }
  }
  setup_cluster(*c, next_cluster++);
  return true;
}
