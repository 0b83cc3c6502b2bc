"""Kernels of grouped-query attention."""
