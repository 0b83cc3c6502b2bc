// mbarrier objects.
// Their 64 bits: expected:20 pending:20 bytes:22 (signed) phase:1, and a top bit that is 0.
struct MBar {
  uint64_t v;
};
static inline uint64_t* mb(uint32_t a) {
  char* p = shp(a, 8, "mbarrier");
  if (a & 7) fail("mbarrier at 0x%x is not aligned", a);
  return (uint64_t*)p;
}
static inline int exp_of(uint64_t v) { return v & 0xFFFFF; }
static inline int pend_of(uint64_t v) { return v >> 20 & 0xFFFFF; }
static inline int tx_of(uint64_t v) { return (int)(v >> 40 & 0x3FFFFF) << 10 >> 10; }
static inline int ph_of(uint64_t v) { return v >> 62 & 1; }
static inline uint64_t mk(int e, int p, int t, int ph) {
  return (uint64_t)(e & 0xFFFFF) | (uint64_t)(p & 0xFFFFF) << 20 | (uint64_t)(t & 0x3FFFFF) << 40 |
         (uint64_t)ph << 62;
}
static uint64_t get(uint32_t a, const char* what) {
  uint64_t v = *mb(a);
  if (v >> 63 || !exp_of(v))
    fail("%s: no mbarrier was initialised at shared address 0x%x", what, a);
  return v;
}
static void put(uint32_t a, int e, int p, int t, int ph) {
  uint64_t* q = mb(a);
  if (p == 0 && t == 0) {
    *q = mk(e, e, 0, ph ^ 1);
    if (race) {
      MB& m = cur->block->cluster->mbs[(uint64_t)q];
      m.dvc = m.vc;
      m.dpv = m.pv;
    }
    std::vector<Fibre*> hit;
    for (Fibre* f : pollers)
      if (f->a == (uint64_t)q) hit.push_back(f);
    for (Fibre* f : hit) {
      unpoll(f);
      wake(f);
    }
    idle_rounds = 0;
    return;
  }
  *q = mk(e, p, t, ph);
}
static MB& mbr(uint32_t bar) { return cur->block->cluster->mbs[(uint64_t)mb(bar)]; }
static void mb_release(uint32_t bar) {
  if (race) {
    MB& m = mbr(bar);
    release_to(cur, m.vc, m.pv);
  }
}
static void mb_acquire(uint32_t bar) {
  if (race) {
    MB& m = mbr(bar);
    acquire_from(cur, m.dvc, m.dpv);
  }
}
void mbar_init(uint32_t bar, uint32_t count) {
  if (!count || count > 0xFFFFF) fail("mbarrier.init: count %u", count);
  *mb(bar) = mk(count, count, 0, 0);
}
void mbar_inval(uint32_t bar) { *mb(bar) = ~0ull; }
uint64_t mbar_arrive(uint32_t bar, uint32_t count) {
  uint64_t v = get(bar, "mbarrier.arrive");
  mb_release(bar);
  int p = pend_of(v) - (int)count;
  if (p < 0) fail("mbarrier.arrive: more arrivals than the %d expected, at 0x%x", exp_of(v), bar);
  put(bar, exp_of(v), p, tx_of(v), ph_of(v));
  return v;
}
uint64_t mbar_arrive_drop(uint32_t bar, uint32_t count) {
  uint64_t v = get(bar, "mbarrier.arrive_drop");
  mb_release(bar);
  put(bar, exp_of(v) - count, pend_of(v) - (int)count, tx_of(v), ph_of(v));
  return v;
}
void mbar_expect(uint32_t bar, uint32_t bytes) {
  uint64_t v = get(bar, "mbarrier.expect_tx");
  long t = (long)tx_of(v) + bytes;
  if (t >= 1 << 20) fail("mbarrier.expect_tx: %ld bytes are more than the 2^20-1 it counts", t);
  // An expectation alone never completes the phase.
  *mb(bar) = mk(exp_of(v), pend_of(v), (int)t, ph_of(v));
}
static void complete_at(uint32_t bar, uint32_t bytes) {
  uint64_t v = get(bar, "mbarrier.complete_tx");
  put(bar, exp_of(v), pend_of(v), tx_of(v) - (int)bytes, ph_of(v));
}
void mbar_complete(uint32_t bar, uint32_t bytes) {
  mb_release(bar);
  complete_at(bar, bytes);
}
static bool mb_wait(uint32_t bar, int parity, bool block, const void* where) {
  uint64_t v = get(bar, "mbarrier.try_wait");
  if (ph_of(v) != (parity & 1)) {
    mb_acquire(bar);
    return true;
  }
  Fibre* f = cur;
  f->what = block ? "mbarrier.try_wait (a: address, b: parity)"
                  : "mbarrier.test_wait (a: address, b: parity)";
  f->a = (uint64_t)mb(bar);
  f->b = parity;
  f->where = where;
  f->state = 1;
  ex(f).poll_index = pollers.size();
  pollers.push_back(f);
  schedule();
  v = get(bar, "mbarrier.try_wait");
  if (ph_of(v) != (parity & 1)) {
    mb_acquire(bar);
    return true;
  }
  return false;
}
bool mbar_try(uint32_t bar, uint32_t parity, bool block) {
  return mb_wait(bar, parity, block, __builtin_return_address(0));
}
bool mbar_try_state(uint32_t bar, uint64_t state, bool block) {
  return mb_wait(bar, ph_of(state), block, __builtin_return_address(0));
}
uint32_t mbar_pending(uint64_t s) { return pend_of(s); }
void cp_async_mbar(uint32_t bar, bool noinc) {
  if (late) {
    cp_async_commit();
    cp_async_wait(0);
  }
  if (race) {
    MB& m = mbr(bar);
    if (m.vc.empty()) {
      m.vc.assign(NC, 0);
      m.pv.assign(NC, 0);
    }
    m.vc[T + ex(cur).gid] = ex(cur).aclk;
  }
  if (noinc) {
    mbar_arrive(bar, 1);
    return;
  }
  // Increments the pending count now, and arrives when the copies are done, which is now.
  get(bar, "cp.async.mbarrier.arrive");
}
