"""Run the command line of ncuview, as ``python -m ncuview``."""

from ncuview.cli import run

run()
