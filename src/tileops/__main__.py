"""``python -m tileops``."""

from tileops.cli import main

main()
