// Signals, and the launch of a grid.
static struct sigaction old_segv, old_bus, old_fpe, old_alrm, old_int, old_ill, old_abrt;
static void on_signal(int sig, siginfo_t* si, void* uc) {
  void* ip = (void*)((ucontext_t*)uc)->uc_mcontext.gregs[REG_RIP];
  char b[512];
  const char* a = (const char*)si->si_addr;
  if (sig == SIGSEGV || sig == SIGBUS) {
    const char* kind = "global memory";
    long off = 0;
    char more[128] = "";
    for (Cluster* c : clusters) {
      uint64_t d = a - c->window;
      if (d < c->blocks.size() << 24) {
        kind = "shared memory";
        off = (long)(d & 0xFFFFFF) - (long)dyn_offset;
        snprintf(more, sizeof more,
                 " (block rank %llu of the cluster, byte %ld of %zu dynamic bytes)",
                 (unsigned long long)(d >> 24), off, dyn_bytes);
        for (Static& s : statics)
          if ((d & 0xFFFFFF) + 4096 >= s.page0 && (d & 0xFFFFFF) <= s.page0 + s.pages + 4096)
            snprintf(more, sizeof more, " (block rank %llu, byte %ld of %zu of static array %d)",
                     (unsigned long long)(d >> 24), (long)(d & 0xFFFFFF) - (long)s.offset, s.bytes,
                     s.id);
      }
    }
    if (cur && a >= cur->stack && a < cur->stack + 4096) kind = "stack overflow: local memory";
    snprintf(b, sizeof b, "invalid access to %s at %p%s (unmapped, out of bounds or misaligned)",
             kind, (void*)a, more);
  } else if (sig == SIGALRM)
    snprintf(b, sizeof b, "timeout");
  else if (sig == SIGINT)
    snprintf(b, sizeof b, "interrupted");
  else
    snprintf(b, sizeof b, "signal %d", sig);
  message = b + here();
  snprintf(b, sizeof b, " @%p", ip);
  message += b;
  if (sig == SIGALRM || sig == SIGINT) {
    message += "\n";
    emu_report(message);
  }
  siglongjmp(main_jmp, 1);
}

struct Launch {
  uint32_t grid[3], block[3], cluster[3];
  uint64_t dyn;
  uint32_t late, resident;
  int64_t seed;  // negative: in order
  uint32_t timeout;
  uint64_t text_lo, text_hi;
  uint32_t race;
  uint64_t kern_lo, kern_hi;
};
static void cleanup() {
  for (Cluster* c : clusters) {
    for (Block& b : c->blocks) {
      for (Warp& w : b.warps)
        for (Pending* p : w.pending) delete p;
      for (Fibre& f : b.fibres) delete (Extra*)f.extra;
    }
    for (auto& sh : c->shadow)
      for (Cell& x : sh) delete x.more;
    munmap(c->window, c->blocks.size() << 24);
    delete c;
  }
  clusters.clear();
  ready.clear();
  pollers.clear();
  async_ops.clear();
  statics.clear();
  cur = nullptr;
}
