// Shuffles, votes and whatever a warp or warp group does together.
static bool try_finish(Warp& w, Pending* p) {
  uint32_t need = p->mask & w.live;
  if ((p->arrived & need) != need || !p->arrived) return false;
  w.pending.erase(std::find(w.pending.begin(), w.pending.end(), p));
  if (p->run) p->run(p->arrived, p->args);
  if (race && p->key == 5) {
    Clock vc, pv;
    for (int i = 0; i < 32; i++)
      if (p->arrived >> i & 1) release_to(p->lanes[i], vc, pv);
    for (int i = 0; i < 32; i++)
      if (p->arrived >> i & 1) acquire_from(p->lanes[i], vc, pv);
  }
  for (int i = 0; i < 32; i++)
    if (p->arrived >> i & 1 && p->lanes[i] != cur) wake(p->lanes[i]);
  delete p;
  return true;
}
void warp_collective(const char* what, uint32_t mask, void* arg, WarpFn run, uint64_t key) {
  Warp& w = *cur->warp;
  uint32_t bit = 1u << cur->lane;
  if (!(mask & bit)) fail("%s: lane %u is not in its mask 0x%x", what, cur->lane, mask);
  Pending* p = nullptr;
  for (Pending* q : w.pending)
    if (q->mask == mask && q->key == key && !(q->arrived & bit)) {
      p = q;
      break;
    }
  if (!p) {
    p = new Pending;
    p->what = what;
    p->key = key;
    p->mask = mask;
    p->arrived = 0;
    p->run = run;
    w.pending.push_back(p);
  }
  p->arrived |= bit;
  p->args[cur->lane] = arg;
  p->lanes[cur->lane] = cur;
  if (try_finish(w, p)) {
    idle_rounds = 0;
    return;
  }
  block_on(what, __builtin_return_address(0), mask, 0);
}
void group_collective(const char* what, void* arg, GroupFn run, uint64_t key) {
  Block& b = *cur->block;
  Group& g = b.groups[cur->linear / 128];
  if (g.count && g.key != key)
    fail("%s: threads of a warp group are at different instructions", what);
  g.key = key;
  g.args[cur->linear % 128] = arg;
  if (++g.count == 128) {
    g.count = 0;
    run(g.args);
    for (Fibre* f : g.waiting) wake(f);
    g.waiting.clear();
    return;
  }
  g.waiting.push_back(cur);
  block_on(what, __builtin_return_address(0), 0, 0);
}

struct ShflArg {
  uint64_t v, r;
  int kind, b, c;
  bool ok;
};
static void shfl_run(uint32_t mask, void** a) {
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) {
      ShflArg& s = *(ShflArg*)a[i];
      int clamp = s.c & 31, seg = (s.c >> 8) & 31;
      int max = (i & seg) | (clamp & ~seg), min = i & seg, j;
      switch (s.kind) {
        case 0:
          j = i - (s.b & 31);
          s.ok = j >= max;
          break;  // up: clamp is 0
        case 1:
          j = i + (s.b & 31);
          s.ok = j <= max;
          break;
        case 2:
          j = i ^ (s.b & 31);
          s.ok = j <= max;
          break;
        default:
          j = min | (s.b & 31 & ~seg);
          s.ok = j <= max;
      }
      if (!s.ok) j = i;
      s.r =
          mask >> j & 1 ? ((ShflArg*)a[j])->v : 0xFFFFFFFFFFFFFFFFull;  // a lane that is not there
    }
}
uint64_t shfl(uint32_t mask, uint64_t v, int kind, int b, int c, bool* valid) {
  ShflArg s{v, 0, kind, b, c, false};
  static const char* names[] = {"shfl.up", "shfl.down", "shfl.bfly", "shfl.idx"};
  warp_collective(names[kind], mask, &s, shfl_run, 1);
  if (valid) *valid = s.ok;
  return s.r;
}
struct VoteArg {
  bool p;
  int kind;
  uint32_t r;
};
static void vote_run(uint32_t mask, void** a) {
  uint32_t ballot = 0;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1 && ((VoteArg*)a[i])->p) ballot |= 1u << i;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) {
      VoteArg& v = *(VoteArg*)a[i];
      v.r = v.kind == 0   ? ballot == mask
            : v.kind == 1 ? ballot != 0
            : v.kind == 2 ? ballot
                          : (ballot == 0 || ballot == mask);
    }
}
uint32_t vote(uint32_t mask, bool p, int kind) {
  VoteArg v{p, kind, 0};
  warp_collective("vote", mask, &v, vote_run, 2);
  return v.r;
}
struct MatchArg {
  uint64_t v;
  bool all, p;
  uint32_t r;
};
static void match_run(uint32_t mask, void** a) {
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) {
      MatchArg& m = *(MatchArg*)a[i];
      m.r = 0;
      for (int j = 0; j < 32; j++)
        if (mask >> j & 1 && ((MatchArg*)a[j])->v == m.v) m.r |= 1u << j;
      m.p = m.r == mask;
      if (m.all && !m.p) m.r = 0;
    }
}
uint32_t match_any(uint32_t mask, uint64_t v, bool all, bool* pred) {
  MatchArg m{v, all, false, 0};
  warp_collective("match", mask, &m, match_run, 3);
  if (pred) *pred = m.p;
  return m.r;
}
struct ReduxArg {
  uint32_t v, r;
  int kind;
};
static void redux_run(uint32_t mask, void** a) {
  bool first = true;
  uint32_t r = 0;
  int kind = 0;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) {
      uint32_t v = ((ReduxArg*)a[i])->v;
      kind = ((ReduxArg*)a[i])->kind;
      if (first) {
        r = v;
        first = false;
        continue;
      }
      switch (kind) {
        case 0:
          r += v;
          break;
        case 1:
          r = std::min(r, v);
          break;
        case 2:
          r = std::max(r, v);
          break;
        case 3:
          r = std::min((int)r, (int)v);
          break;
        case 4:
          r = std::max((int)r, (int)v);
          break;
        case 5:
          r &= v;
          break;
        case 6:
          r |= v;
          break;
        case 7:
          r ^= v;
          break;
      }
    }
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) ((ReduxArg*)a[i])->r = r;
}
uint32_t redux(uint32_t mask, uint32_t v, int kind) {
  ReduxArg r{v, 0, kind};
  warp_collective("redux", mask, &r, redux_run, 4);
  return r.r;
}
uint32_t activemask() { return cur->warp->live; }
