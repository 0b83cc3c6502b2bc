// Barriers of blocks, clusters and grids.
static void bar_done(NamedBar& n) {
  if (race && !n.vc.empty()) {
    for (Fibre* f : n.waiting) acquire_from(f, n.vc, n.pv);
    if (cur && cur->state == 0) acquire_from(cur, n.vc, n.pv);
    n.vc.clear();
    n.pv.clear();
  }
  n.arrived = 0;
  n.used = false;
  n.result = n.acc;
  n.acc = 0;
  for (Fibre* f : n.waiting)
    if (f != cur) wake(f);
  n.waiting.clear();
}
static bool bar_arrive(NamedBar& n, uint32_t id, uint32_t count, uint32_t threads) {
  Block& b = *cur->block;
  uint32_t want = count ? count : b.live;
  if (count & 31) fail("barrier %u: %u threads is no multiple of a warp", id, count);
  if (n.used && count && n.expected && n.expected != count)
    fail("barrier %u: %u threads expected here, %u elsewhere", id, count, n.expected);
  n.used = true;
  n.expected = count;
  n.arrived += threads;
  if (race) release_to(cur, n.vc, n.pv);
  if (n.arrived > want) fail("barrier %u: %u threads arrived, %u expected", id, n.arrived, want);
  return n.arrived == want;
}
void bar_sync(const char* what, uint32_t id, uint32_t count, bool wait) {
  if (id > 15) fail("barrier %u: there are 16", id);
  NamedBar& n = cur->block->bars[id];
  if (bar_arrive(n, id, count, 1)) {
    if (!wait) cur->state = 3;  // an arrival alone acquires nothing
    bar_done(n);
    cur->state = 0;
    idle_rounds = 0;
    return;
  }
  if (!wait) return;
  n.waiting.push_back(cur);
  block_on(what, __builtin_return_address(0), id, count);
}
int bar_red(uint32_t id, uint32_t count, int pred, int op) {
  NamedBar& n = cur->block->bars[id];
  if (!n.arrived) n.acc = op == 0 ? 1 : 0;
  if (op == 0)
    n.acc &= pred != 0;
  else if (op == 1)
    n.acc |= pred != 0;
  else
    n.acc += pred != 0;
  if (bar_arrive(n, id, count, 1)) {
    bar_done(n);
    idle_rounds = 0;
    return n.result;
  }
  n.waiting.push_back(cur);
  block_on("__syncthreads_and/or/count", __builtin_return_address(0), id, count);
  return n.result;
}
static void cluster_check(Cluster& c) {
  if (c.arrived && (int)c.arrived == c.live) {
    c.arrived = 0;
    c.phase++;
    if (race) {
      c.rvc.swap(c.bvc);
      c.rpv.swap(c.bpv);
      c.bvc.clear();
      c.bpv.clear();
    }
    for (Fibre* f : c.waiting)
      if (f != cur) wake(f);
    c.waiting.clear();
  }
}
void cluster_arrive() {
  Cluster& c = *cur->block->cluster;
  Extra& e = ex(cur);
  if (e.cluster_arrived) fail("barrier.cluster.arrive twice without a wait");
  e.cluster_arrived = true;
  e.cluster_phase = c.phase;
  c.arrived++;
  if (race) release_to(cur, c.bvc, c.bpv);
  cluster_check(c);
}
void cluster_wait() {
  Cluster& c = *cur->block->cluster;
  Extra& e = ex(cur);
  if (!e.cluster_arrived) fail("barrier.cluster.wait without an arrive");
  e.cluster_arrived = false;
  if (c.phase == e.cluster_phase) {
    c.waiting.push_back(cur);
    block_on("barrier.cluster.wait", __builtin_return_address(0), c.arrived, 0);
  }
  if (race) acquire_from(cur, c.rvc, c.rpv);
}
static Clock order_vc, order_pv;
void atomic_order() {
  if (!race) return;
  acquire_from(cur, order_vc, order_pv);
  release_to(cur, order_vc, order_pv);
}
void proxy_fence() {
  if (!race) return;
  join(PV(cur), VC(cur));
  VC(cur)[ex(cur).gid]++;
}
static uint64_t grid_arrived, grid_phase;
static std::vector<Fibre*> grid_waiting;
void grid_sync() {
  uint64_t all = (uint64_t)g_gridDim.x * g_gridDim.y * g_gridDim.z * g_blockDim.x * g_blockDim.y *
                 g_blockDim.z;
  if (++grid_arrived == all) {
    grid_arrived = 0;
    for (Fibre* f : grid_waiting) wake(f);
    grid_waiting.clear();
    return;
  }
  grid_waiting.push_back(cur);
  block_on("grid sync", __builtin_return_address(0), 0, 0);
}
uint32_t block_rank() { return cur->block->rank; }
