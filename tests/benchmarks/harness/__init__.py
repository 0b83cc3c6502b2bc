"""The benchmark harness: workloads of the manifest, timed on a GPU next to their peers.

Nothing here is part of the package. ``python tests/benchmarks/bench.py --help`` starts it.
"""
