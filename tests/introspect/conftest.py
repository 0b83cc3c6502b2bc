"""Makes the fixtures of this folder importable from the folders below."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
