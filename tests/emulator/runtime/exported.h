// The functions that Python calls.
extern "C" const char* emu_launch(void (*kernel)(void**), void** args, const Launch* l) {
  g_gridDim = dim3(l->grid[0], l->grid[1], l->grid[2]);
  g_blockDim = dim3(l->block[0], l->block[1], l->block[2]);
  g_clusterDim = dim3(l->cluster[0], l->cluster[1], l->cluster[2]);
  entry = kernel;
  race = l->race;
  gran = l->race ? l->race : 2;
  races.clear();
  race_pairs.clear();
  race_count = 0;
  order_vc.clear();
  order_pv.clear();
  text_lo = l->text_lo;
  text_hi = l->text_hi;
  kern_lo = l->kern_lo;
  kern_hi = l->kern_hi;
  entry_args = args;
  late = l->late;
  shuffle_order = l->seed >= 0;
  if (shuffle_order) rng.seed(l->seed);
  max_resident = l->resident;
  dyn_bytes = l->dyn;
  size_t up = (dyn_bytes + 1023) & ~1023ull;
  dyn_pages_end = (4096 + up + 4095) & ~4095ull;
  dyn_offset = dyn_pages_end - up;
  static_next = dyn_pages_end + 4096;
  uint64_t n = (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
  total_clusters = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] / n;
  T = l->block[0] * l->block[1] * l->block[2] * n;
  NC = 3 * T + (l->block[0] * l->block[1] * l->block[2] + 127) / 128 * n + 64;
  next_cluster = 0;
  grid_arrived = 0;
  grid_waiting.clear();
  idle_rounds = 0;
  message.clear();
  if (!total_clusters) return "";
  static char* alt = nullptr;
  if (!alt) alt = (char*)malloc(1 << 16);
  stack_t ss{}, old{};
  ss.ss_sp = alt;
  ss.ss_size = 1 << 16;
  sigaltstack(&ss, &old);
  struct sigaction sa{};
  sa.sa_sigaction = on_signal;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &sa, &old_segv);
  sigaction(SIGBUS, &sa, &old_bus);
  sigaction(SIGFPE, &sa, &old_fpe);
  sigaction(SIGILL, &sa, &old_ill);
  sigaction(SIGALRM, &sa, &old_alrm);
  sigaction(SIGINT, &sa, &old_int);
  struct itimerval tv{}, otv{};
  tv.it_value.tv_sec = l->timeout;
  if (l->timeout) setitimer(ITIMER_REAL, &tv, &otv);
  if (!sigsetjmp(main_jmp, 1)) {
    while (refill()) {
      Fibre* f = pop_ready();
      cur = f;
      g_window = f->block->cluster->window;
      emu_switch(&main_sp, f->sp);
    }
  }
  if (l->timeout) setitimer(ITIMER_REAL, &otv, nullptr);
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  sigaction(SIGFPE, &old_fpe, nullptr);
  sigaction(SIGILL, &old_ill, nullptr);
  sigaction(SIGALRM, &old_alrm, nullptr);
  sigaction(SIGINT, &old_int, nullptr);
  sigaltstack(&old, nullptr);
  cleanup();
  if (!races.empty()) {
    message += "\nraces: " + std::to_string(race_count) + " conflicts of accesses, " +
               std::to_string(race_pairs.size()) + " pairs of places; the first:\n";
    for (auto& r : races) message += " - " + r;
  }
  return message.c_str();
}
extern "C" void emu_tensor_map(void* out, int type, int rank, uint64_t addr, const uint64_t* dims,
                               const uint64_t* strides, const uint32_t* box, const uint32_t* estr,
                               int interleave, int swizzle, int fill) {
  TMap t{};
  t.magic = kMagic;
  t.type = type;
  t.rank = rank;
  t.addr = addr;
  t.interleave = interleave;
  t.swizzle = swizzle;
  t.fill = fill;
  for (int i = 0; i < rank; i++) {
    t.dims[i] = dims[i];
    t.box[i] = box[i];
    t.estr[i] = estr[i];
  }
  for (int i = 1; i < rank; i++) t.strides[i - 1] = strides[i];
  memset(out, 0, 128);
  memcpy(out, &t, sizeof t);
}
