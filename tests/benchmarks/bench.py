"""Benchmark the public ops; see ``python tests/benchmarks/bench.py --help``."""

from harness.cli import main

if __name__ == "__main__":
    main()
