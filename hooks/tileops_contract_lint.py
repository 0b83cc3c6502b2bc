"""Check the whole tree, from the cache, against the kernel contract: ``tileops-contract-lint``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tileops.cli import main

if __name__ == "__main__":
    main(["lint", *sys.argv[1:]])
