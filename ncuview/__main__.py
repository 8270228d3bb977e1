"""``python -m ncuview``."""

from ncuview.cli import main

main()
