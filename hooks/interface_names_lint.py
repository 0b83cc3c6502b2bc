"""Check the names of kernel interfaces in the files passed: ``interface-names-lint``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tileops.cli import main

if __name__ == "__main__":
    main(["lint", "--select", "interface-name", *sys.argv[1:]])
