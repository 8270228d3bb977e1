"""The command line: each command parses, makes one call of the library, prints, and leaves with an exit code."""

from ncuview.cli.app import main, run

__all__ = ["main", "run"]
