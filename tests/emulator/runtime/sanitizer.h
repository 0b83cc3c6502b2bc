// What instrumented kernels call at every access.
// Their names are those of g++ -fsanitize=thread.
extern "C" {
#define EMU_PC __builtin_return_address(0)
#define EMU_TSAN(n)                                                     \
  void __tsan_read##n(void* p) { seen(p, n, false, EMU_PC); }           \
  void __tsan_write##n(void* p) { seen(p, n, true, EMU_PC); }           \
  void __tsan_unaligned_read##n(void* p) { seen(p, n, false, EMU_PC); } \
  void __tsan_unaligned_write##n(void* p) { seen(p, n, true, EMU_PC); } \
  void __tsan_volatile_read##n(void*) {}                                \
  void __tsan_volatile_write##n(void*) {}                               \
  void __tsan_unaligned_volatile_read##n(void*) {}                      \
  void __tsan_unaligned_volatile_write##n(void*) {}
EMU_TSAN(1)
EMU_TSAN(2) EMU_TSAN(4) EMU_TSAN(8) EMU_TSAN(16) void __tsan_read_range(void* p, unsigned long n) {
  seen(p, n, false, EMU_PC);
}
void __tsan_write_range(void* p, unsigned long n) { seen(p, n, true, EMU_PC); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** a, void* b) {
  (void)a;
  (void)b;
}
void __tsan_vptr_read(void**) {}
#define EMU_TSAN_ATOMIC(bits, type)                                                                \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                   \
    atomic_order();                                                                                \
    return *p;                                                                                     \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type* p, type v, int) {                                \
    atomic_order();                                                                                \
    *p = v;                                                                                        \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) {                             \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = v;                                                                                        \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_add(volatile type* p, type v, int) {                            \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = o + v;                                                                                    \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_sub(volatile type* p, type v, int) {                            \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = o - v;                                                                                    \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_and(volatile type* p, type v, int) {                            \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = o & v;                                                                                    \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_or(volatile type* p, type v, int) {                             \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = o | v;                                                                                    \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_xor(volatile type* p, type v, int) {                            \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    *p = o ^ v;                                                                                    \
    return o;                                                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_nand(volatile type* p, type v, int) {                           \
    type o = *p;                                                                                   \
    *p = ~(o & v);                                                                                 \
    return o;                                                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* c, type v, int, int) { \
    atomic_order();                                                                                \
    if (*p == *c) {                                                                                \
      *p = v;                                                                                      \
      return 1;                                                                                    \
    }                                                                                              \
    *c = *p;                                                                                       \
    return 0;                                                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* c, type v, int a,        \
                                                  int b) {                                         \
    return __tsan_atomic##bits##_compare_exchange_strong(p, c, v, a, b);                           \
  }                                                                                                \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type c, type v, int, int) {    \
    atomic_order();                                                                                \
    type o = *p;                                                                                   \
    if (o == c) *p = v;                                                                            \
    return o;                                                                                      \
  }
EMU_TSAN_ATOMIC(8, uint8_t)
EMU_TSAN_ATOMIC(16, uint16_t) EMU_TSAN_ATOMIC(32, uint32_t)
    EMU_TSAN_ATOMIC(64, uint64_t) void __tsan_atomic_thread_fence(int) {
  atomic_order();
}
void __tsan_atomic_signal_fence(int) {}
}
