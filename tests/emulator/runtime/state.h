// What the runtime keeps: threads as fibres, blocks, clusters, pending operations.
Fibre* cur;
dim3 g_blockDim, g_gridDim, g_clusterDim;
char* g_window;  // kept for is_shared of the only resident cluster

static const size_t kStack = 256 << 10;
static const size_t kSlot = 1 << 24;  // of one block in the window

struct Pending {
  const char* what;
  uint64_t key;
  uint32_t mask, arrived;
  WarpFn run;
  void* args[32];
  Fibre* lanes[32];
};
struct Warp {
  uint32_t live = 0, idx = 0;
  std::vector<Pending*> pending;
};
struct Group {  // a warp group's collective
  std::vector<Fibre*> waiting;
  void* args[128];
  uint64_t key = 0;
  int count = 0;
};
typedef std::vector<uint32_t> Clock;
struct NamedBar {
  Clock vc, pv;
  uint32_t arrived = 0, expected = 0;
  int acc = 0;
  std::vector<Fibre*> waiting;
  int result = 0;
  bool used = false;
};
struct Cluster;
struct Block {
  Cluster* cluster;
  uint3 bid, cid;  // in the grid, in the cluster
  uint32_t rank;
  int live = 0, total = 0;
  NamedBar bars[16];
  std::vector<Warp> warps;
  std::vector<Group> groups;
  std::vector<Fibre> fibres;
};
// ---- what the race detector remembers of a place in shared memory
struct Rd {
  uint32_t clk;
  uint32_t comp;
  uint64_t pc;
};
struct Cell {
  uint32_t wclk = 0, wcomp = 0;
  uint64_t wpc = 0;
  Rd r{0, 0, 0};
  std::vector<Rd>* more = nullptr;
};
struct MB {
  Clock vc, pv, dvc, dpv;
};
struct Cluster {
  std::vector<uint32_t> vc, pv;          // of every thread
  Clock bvc, bpv, rvc, rpv;              // of the cluster's barrier
  std::unordered_map<uint64_t, MB> mbs;  // by address
  uint32_t mclk[64] = {};
  std::vector<uint32_t> wgclk;
  std::vector<std::vector<Cell>> shadow;  // by block
  char* window = nullptr;
  std::vector<Block> blocks;
  int live = 0;  // threads
  uint32_t arrived = 0;
  uint64_t phase = 0;
  std::vector<Fibre*> waiting;
  bool busy = false;
  int stack0 = 0;
};
struct Copy16 {
  uint32_t to;
  const char* from;
  uint32_t bytes, src;
};
struct Extra {
  uint32_t gid = 0, aclk = 0, bclk = 0;
  std::deque<uint32_t> cp_commits, bulk_commits, wg_commits;
  uint64_t cluster_phase = 0;
  bool cluster_arrived = false;
  std::vector<std::vector<Copy16>> groups;
  std::vector<Copy16> open;
  std::vector<std::vector<struct BulkStore>> bulk;
  std::vector<struct BulkStore> bulk_open;
  int poll_index = -1;
  bool ready_by_wake = false;
  Extra();
};
struct BulkStore {
  int kind;  // 0 plain, 1 tensor, 2 reduction
  char* to;
  uint32_t from, bytes;
  int rank;
  const void* map;
  int c[5];
  int op, type;
  char mapcopy[128];
};
Extra::Extra() {}

// ---- scheduler state
static std::deque<Fibre*> ready;
static std::vector<Fibre*> pollers;
static long idle_rounds;
static void* main_sp;
static sigjmp_buf main_jmp;
static std::string message;
static std::vector<Cluster*> clusters;
static uint64_t next_cluster, total_clusters;
static int max_resident;
static void (*entry)(void**);
static void** entry_args;
static bool late;
static bool shuffle_order;
static std::mt19937 rng;
static size_t dyn_bytes, dyn_offset, dyn_pages_end;
struct Static {
  int id;
  size_t bytes, offset, pages, page0;
};
static std::vector<Static> statics;
static size_t static_next;
static std::vector<char*> stacks;

struct AsyncOp {
  Block* block;
  int kind;  // 0 bulk g2s, 1 tensor load, 2 s2s
  uint32_t to;
  const char* from;
  uint32_t bytes, bar;
  int mask;
  int rank;
  char map[128];
  int c[5];
  uint32_t from_sh;
  uint64_t pc;
};
static std::deque<AsyncOp> async_ops;

static uint64_t text_lo, text_hi, kern_lo, kern_hi;
// The place in the kernel that *ra*, somewhere in a function it calls, returns to in the end.
static uint64_t kernel_pc(const void* ra, Fibre* f, const char* sp) {
  if ((uint64_t)ra >= kern_lo && (uint64_t)ra < kern_hi) return (uint64_t)ra;
  if (!f || sp < f->stack || sp >= f->stack + kStack + 4096) return (uint64_t)ra;
  int left = 2048;
  for (const uint64_t* q = (const uint64_t*)((uintptr_t)sp & ~7ull);
       (const char*)q < f->stack + kStack + 4000 && left--; q++)
    if (*q > kern_lo && *q < kern_hi) return *q;
  return (uint64_t)ra;
}
#define EMU_HERE \
  kernel_pc(__builtin_return_address(0), cur, (const char*)__builtin_frame_address(0))
static void emu_report(std::string& out);

[[noreturn]] static void leave() { siglongjmp(main_jmp, 1); }

static std::string here() {
  char b[256];
  if (!cur) return "";
  snprintf(b, sizeof b, " [block (%u,%u,%u) thread (%u,%u,%u)]", cur->bid.x, cur->bid.y, cur->bid.z,
           cur->tid.x, cur->tid.y, cur->tid.z);
  return b;
}
[[noreturn]] void fail(const char* fmt, ...) {
  char b[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(b, sizeof b, fmt, ap);
  va_end(ap);
  message = b + here();
  char r[64];
  snprintf(r, sizeof r, " @0x%llx",
           (unsigned long long)kernel_pc(nullptr, cur, (const char*)__builtin_frame_address(0)));
  message += r;
  leave();
}

static inline Fibre* pop_ready() {
  if (shuffle_order && ready.size() > 1) std::swap(ready[0], ready[rng() % ready.size()]);
  Fibre* f = ready.front();
  ready.pop_front();
  return f;
}
static inline Extra& ex(Fibre* f) { return *(Extra*)f->extra; }
