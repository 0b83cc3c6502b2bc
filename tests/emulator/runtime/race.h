// The race detector: vector clocks of threads and of asynchronous operations.
// Components of a clock: threads, their cp.async, their bulk stores, warp groups' wgmma, 64 of
// tensor loads.
static bool race;
static uint32_t T, NC, gran;
static std::set<std::string> races;
static std::set<std::pair<uint64_t, uint64_t>> race_pairs;
static uint64_t race_count;
static inline uint32_t* VC(Fibre* f) {
  return f->block->cluster->vc.data() + (size_t)ex(f).gid * NC;
}
static inline uint32_t* PV(Fibre* f) {
  return f->block->cluster->pv.data() + (size_t)ex(f).gid * NC;
}
static inline void join(uint32_t* d, const uint32_t* s) {
  for (uint32_t i = 0; i < NC; i++) d[i] = std::max(d[i], s[i]);
}
static void release_to(Fibre* f, Clock& vc, Clock& pv) {
  if (vc.empty()) {
    vc.assign(NC, 0);
    pv.assign(NC, 0);
  }
  join(vc.data(), VC(f));
  join(pv.data(), PV(f));
  VC(f)[ex(f).gid]++;
}
static void acquire_from(Fibre* f, const Clock& vc, const Clock& pv) {
  if (vc.empty()) return;
  join(VC(f), vc.data());
  join(PV(f), pv.data());
}
static std::string who(uint32_t comp) {
  char b[128];
  uint32_t per = g_blockDim.x * g_blockDim.y * g_blockDim.z;
  if (comp < 3 * T) {
    static const char* k[] = {"thread", "cp.async of thread", "bulk store of thread"};
    uint32_t t = comp % T;
    snprintf(b, sizeof b, "%s %u", k[comp / T], t % per);
    if (T > per) snprintf(b + strlen(b), 40, " of block rank %u", t / per);
  } else if (comp < NC - 64) {
    uint32_t g = comp - 3 * T, n = (per + 127) / 128;
    snprintf(b, sizeof b, "wgmma of warp group %u of block rank %u", g % n, g / n);
  } else
    snprintf(b, sizeof b, "bulk or tensor load");
  return b;
}
static void report_race(Cluster& c, uint32_t addr, const char* kind1, uint32_t comp1, uint64_t pc1,
                        const char* kind2, uint32_t comp2, uint64_t pc2, const char* why) {
  race_count++;
  if (!race_pairs.insert({pc1, pc2}).second || race_pairs.size() > 12) return;
  char b[1024], place[128];
  uint32_t off = addr & 0xFFFFFF;
  snprintf(place, sizeof place, "shared address 0x%x", addr);
  if (off >= dyn_offset && off < dyn_offset + dyn_bytes)
    snprintf(place, sizeof place, "byte %zu of dynamic shared memory of block rank %u",
             off - dyn_offset, addr >> 24);
  for (Static& st : statics)
    if (off >= st.offset && off < st.offset + st.bytes)
      snprintf(place, sizeof place, "byte %zu of static array %d of block rank %u", off - st.offset,
               st.id, addr >> 24);
  Fibre& f = c.blocks[0].fibres[0];
  snprintf(
      b, sizeof b,
      "%s in block (%u,%u,%u): %s by %s\n     @0x%llx\n   after %s by %s\n     @0x%llx\n   at %s\n",
      why, f.bid.x, f.bid.y, f.bid.z, kind1, who(comp1).c_str(), (unsigned long long)pc1, kind2,
      who(comp2).c_str(), (unsigned long long)pc2, place);
  races.insert(b);
}
// *pv*: clocks as the asynchronous proxy sees them, for accesses through it.
static void touch(Cluster& c, uint32_t addr, uint32_t n, bool write, uint32_t comp, uint32_t clk,
                  const uint32_t* vc, const uint32_t* pv, uint64_t pc) {
  uint32_t rank = addr >> 24, off = addr & 0xFFFFFF;
  if (rank >= c.shadow.size()) return;
  std::vector<Cell>& sh = c.shadow[rank];
  uint32_t first = off / gran, last = (off + n - 1) / gran;
  if (last >= sh.size()) sh.resize(last + 1024);
  for (uint32_t i = first; i <= last; i++) {
    Cell& s = sh[i];
    if (s.wclk) {
      if (vc[s.wcomp] < s.wclk)
        report_race(c, rank << 24 | i * gran, write ? "write" : "read", comp, pc, "write", s.wcomp,
                    s.wpc, "race");
      else if (pv && s.wcomp < 2 * T && pv[s.wcomp] < s.wclk)
        report_race(c, rank << 24 | i * gran, write ? "asynchronous write" : "asynchronous read",
                    comp, pc, "write", s.wcomp, s.wpc, "no fence.proxy.async between");
    }
    if (write) {
      if (s.r.clk && vc[s.r.comp] < s.r.clk)
        report_race(c, rank << 24 | i * gran, "write", comp, pc, "read", s.r.comp, s.r.pc, "race");
      if (s.more) {
        for (Rd& r : *s.more)
          if (vc[r.comp] < r.clk)
            report_race(c, rank << 24 | i * gran, "write", comp, pc, "read", r.comp, r.pc, "race");
        s.more->clear();
      }
      s.r.clk = 0;
      s.wclk = clk;
      s.wcomp = comp;
      s.wpc = pc;
    } else {
      if (!s.r.clk || s.r.comp == comp || vc[s.r.comp] >= s.r.clk) {
        s.r = Rd{clk, comp, pc};
        continue;
      }
      if (!s.more) s.more = new std::vector<Rd>;
      bool put = false;
      std::vector<Rd>& m = *s.more;
      for (size_t j = 0; j < m.size(); j++)
        if (m[j].comp == comp || vc[m[j].comp] >= m[j].clk) {
          m[j] = Rd{clk, comp, pc};
          put = true;
          break;
        }
      if (!put) m.push_back(Rd{clk, comp, pc});
    }
  }
}
static inline void touch_by(Fibre* f, uint32_t addr, uint32_t n, bool write, uint64_t pc) {
  uint32_t g = ex(f).gid;
  touch(*f->block->cluster, addr, n, write, g, VC(f)[g], VC(f), nullptr, pc);
}
static inline void seen(const void* p, uint32_t n, bool write, const void* pc) {
  if (!race || !cur) return;
  Cluster& c = *cur->block->cluster;
  uint64_t d = (const char*)p - c.window;
  if (d >= (uint64_t)c.blocks.size() << 24) return;
  touch_by(cur, (uint32_t)d, n, write, (uint64_t)pc);
}
