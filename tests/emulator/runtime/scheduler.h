// Which fibre runs next, and the report of a deadlock.
static void unpoll(Fibre* f) {
  int i = ex(f).poll_index;
  if (i < 0) return;
  pollers[i] = pollers.back();
  ex(pollers[i]).poll_index = i;
  pollers.pop_back();
  ex(f).poll_index = -1;
}
static void wake(Fibre* f) {
  f->state = 0;
  idle_rounds = 0;
  ready.push_back(f);
}
static bool start_cluster();
static void run_async(AsyncOp& op);

// Give up the processor; the caller has put the fibre where it will be found.
static void schedule() {
  if (!ready.empty()) {
    Fibre* f = pop_ready();
    if (f == cur) return;
    Fibre* old = cur;
    cur = f;
    g_window = f->block->cluster->window;
    emu_switch(&old->sp, f->sp);
    return;
  }
  emu_switch(&cur->sp, main_sp);
}
// On the main stack: find something to do. False when all is done.
static bool refill() {
  cur = nullptr;
  for (;;) {
    if (!ready.empty()) return true;
    if (!async_ops.empty()) {
      size_t i = shuffle_order ? rng() % async_ops.size() : 0;
      AsyncOp op = async_ops[i];
      async_ops.erase(async_ops.begin() + i);
      run_async(op);
      continue;
    }
    int busy = 0;
    for (Cluster* c : clusters) busy += c->busy;
    if (!busy && next_cluster >= total_clusters) return false;
    if (!pollers.empty() && idle_rounds < 8) {
      idle_rounds++;
      std::vector<Fibre*> p(pollers);
      for (Fibre* f : p) {
        unpoll(f);
        f->state = 0;
        ready.push_back(f);
      }
      continue;
    }
    if (next_cluster < total_clusters && busy < max_resident) {
      start_cluster();
      idle_rounds = 0;
      continue;
    }
    if (!pollers.empty() && idle_rounds < 64) {
      idle_rounds++;
      std::vector<Fibre*> p(pollers);
      for (Fibre* f : p) {
        unpoll(f);
        f->state = 0;
        ready.push_back(f);
      }
      continue;
    }
    message = "deadlock: no thread can go on\n";
    emu_report(message);
    return false;
  }
}
static void block_on(const char* what, const void* where, uint64_t a, uint64_t b) {
  Fibre* f = cur;
  f->state = 1;
  f->what = what;
  f->where = where;
  f->a = a;
  f->b = b;
  schedule();
}

static void emu_report(std::string& out) {
  // Group threads of a block by what they wait for.
  for (Cluster* c : clusters) {
    if (!c->busy) continue;
    for (Block& b : c->blocks) {
      std::map<std::string, std::vector<int>> by;
      for (Fibre& f : b.fibres) {
        if (f.state == 2) {
          by["has ended"].push_back(f.linear);
          continue;
        }
        char t[512];
        snprintf(t, sizeof t, "%s a=0x%llx b=%lld @%p", f.what ? f.what : "ready",
                 (unsigned long long)f.a, (long long)f.b,
                 (void*)kernel_pc(f.where, &f, (const char*)f.sp));
        by[t].push_back(f.linear);
      }
      char t[128];
      snprintf(t, sizeof t, " block (%u,%u,%u) rank %u:\n", b.bid.x, b.bid.y, b.bid.z, b.rank);
      out += t;
      for (auto& kv : by) {
        out += "   threads ";
        auto& v = kv.second;
        for (size_t i = 0; i < v.size();) {
          size_t j = i;
          while (j + 1 < v.size() && v[j + 1] == v[j] + 1) j++;
          snprintf(t, sizeof t, i == j ? "%d " : "%d-%d ", v[i], v[j]);
          out += t;
          i = j + 1;
        }
        out += ": " + kv.first + "\n";
      }
    }
  }
}

void yield_poll(const char* what, uint64_t a, uint64_t b) {
  Fibre* f = cur;
  f->what = what;
  f->a = a;
  f->b = b;
  f->where = __builtin_return_address(0);
  f->state = 1;
  ex(f).poll_index = pollers.size();
  pollers.push_back(f);
  schedule();
}
