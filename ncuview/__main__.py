"""``python -m ncuview``."""

from ncuview.cli import run

run()
