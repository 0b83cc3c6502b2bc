"""Linear attention kernels."""
