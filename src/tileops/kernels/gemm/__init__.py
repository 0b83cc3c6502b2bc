"""Matrix product kernels."""
