// Shared memory of the blocks of a cluster, and cp.async.
static char* window() { return cur->block->cluster->window; }
char* dyn_smem() { return window() + ((size_t)cur->block->rank << 24) + dyn_offset; }
static void open_pages(size_t from, size_t bytes) {
  for (Cluster* c : clusters)
    for (size_t r = 0; r < c->blocks.size(); r++)
      if (mprotect(c->window + (r << 24) + from, bytes, PROT_READ | PROT_WRITE)) fail("mprotect");
}
void* static_smem(int id, size_t bytes, size_t align) {
  for (Static& s : statics)
    if (s.id == id) return window() + ((size_t)cur->block->rank << 24) + s.offset;
  Static s;
  s.id = id;
  s.bytes = bytes;
  s.pages = (bytes + 4095) & ~4095ull;
  s.page0 = static_next;
  if (align < 16) align = 16;
  s.offset = (static_next + s.pages - bytes) & ~(align - 1);
  static_next += s.pages + 4096;
  if (static_next > kSlot) fail("too much static shared memory");
  statics.push_back(s);
  open_pages(s.page0, s.pages);
  for (Cluster* c : clusters)
    for (size_t r = 0; r < c->blocks.size(); r++)
      memset(c->window + (r << 24) + s.page0, 0xFF, s.pages);
  return window() + ((size_t)cur->block->rank << 24) + s.offset;
}
uint32_t to_shared(const void* p) {
  uint64_t d = (const char*)p - window();
  if (d >= (cur->block->cluster->blocks.size() << 24)) {
    if (d == 0 - (uint64_t)window()) return 0;
    fail("address %p is not in shared memory", p);
  }
  return d;
}
uint32_t mapa(uint32_t a, uint32_t rank) {
  if (rank >= cur->block->cluster->blocks.size())
    fail("mapa: block %u of a cluster of %zu", rank, cur->block->cluster->blocks.size());
  return (a & 0xFFFFFF) | rank << 24;
}
static char* shp(uint32_t a, uint32_t bytes, const char* what) {
  Cluster& c = *cur->block->cluster;
  uint32_t r = a >> 24, o = a & 0xFFFFFF;
  if (r < c.blocks.size()) {
    if (o >= dyn_offset && o + bytes <= dyn_offset + dyn_bytes) return c.window + a;
    for (Static& s : statics)
      if (o >= s.offset && o + bytes <= s.offset + s.bytes) return c.window + a;
  }
  if (o >= dyn_offset && o < dyn_offset + dyn_bytes + 65536)
    fail("%s: shared memory out of bounds: %u bytes at offset %zu of %zu dynamic bytes", what,
         bytes, o - dyn_offset, dyn_bytes);
  fail("%s: shared address 0x%x (%u bytes) out of bounds", what, a, bytes);
}

// ---- cp.async
static void do_cp(const Copy16& c) {
  char* to = shp(c.to, c.bytes, "cp.async");
  if (c.src) memcpy(to, c.from, c.src);
  if (c.src < c.bytes) memset(to + c.src, 0, c.bytes - c.src);
}
void cp_async(uint32_t to, const void* from, uint32_t bytes, uint32_t src) {
  if (src > bytes) src = bytes;
  if (to & (bytes - 1)) fail("cp.async of %u bytes: shared address 0x%x is not aligned", bytes, to);
  if (src && ((uintptr_t)from & (bytes - 1)))
    fail("cp.async of %u bytes: global address %p is not aligned", bytes, from);
  Copy16 c{to, (const char*)from, bytes, src};
  if (race) {
    Extra& e = ex(cur);
    shp(to, bytes, "cp.async");
    touch(*cur->block->cluster, to, bytes, true, T + e.gid, ++e.aclk, VC(cur), nullptr, EMU_HERE);
  }
  if (late)
    ex(cur).open.push_back(c);
  else
    do_cp(c);
}
void cp_async_commit() {
  if (race) ex(cur).cp_commits.push_back(ex(cur).aclk);
  if (!late) return;
  Extra& e = ex(cur);
  e.groups.emplace_back(std::move(e.open));
  e.open.clear();
}
void cp_async_wait(uint32_t n) {
  if (race) {
    Extra& e = ex(cur);
    uint32_t& mine = VC(cur)[T + e.gid];
    if (n == 0xFFFFFFFFu) {
      mine = e.aclk;
      e.cp_commits.clear();
    } else
      while (e.cp_commits.size() > n) {
        mine = std::max(mine, e.cp_commits.front());
        e.cp_commits.pop_front();
      }
  }
  if (!late) return;
  Extra& e = ex(cur);
  if (n == 0xFFFFFFFFu) {
    cp_async_commit();
    n = 0;
  }
  while (e.groups.size() > n) {
    for (Copy16& c : e.groups.front()) do_cp(c);
    e.groups.erase(e.groups.begin());
  }
}
