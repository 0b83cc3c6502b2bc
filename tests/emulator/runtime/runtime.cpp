// The emulator's runtime is one translation unit; its parts build on those before them.
#include "emu_api.h"
#include <immintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <cmath>
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>
#include <random>
#include <set>
#include <unordered_map>

extern "C" void emu_switch(void** save, void* to);
asm(R"(
.text
.globl emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");

namespace emu {
#include "state.h"
#include "race.h"
#include "scheduler.h"
#include "barriers.h"
#include "collectives.h"
#include "shared_memory.h"
#include "mbarriers.h"
#include "copies.h"
#include "matrices.h"
#include "fibres.h"
#include "launch.h"
}  // namespace emu

using namespace emu;
#include "exported.h"
#include "sanitizer.h"
