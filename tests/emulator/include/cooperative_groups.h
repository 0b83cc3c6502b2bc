// Stands in for CUDA's header of that name.
#pragma once
#include "emu_prelude.h"
namespace cooperative_groups {
struct grid_group {
  void sync() const { emu::grid_sync(); }
  bool is_valid() const { return true; }
};
inline grid_group this_grid() { return {}; }
struct thread_block {
  void sync() const { __syncthreads(); }
  unsigned thread_rank() const { return emu::cur->linear; }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
};
inline thread_block this_thread_block() { return {}; }
struct cluster_group {
  void sync() const {
    emu::cluster_arrive();
    emu::cluster_wait();
  }
  unsigned block_rank() const { return emu::block_rank(); }
  template <class T>
  T* map_shared_rank(T* p, unsigned r) const {
    return (T*)emu::sh(emu::mapa(emu::to_shared(p), r));
  }
};
inline cluster_group this_cluster() { return {}; }
}  // namespace cooperative_groups
