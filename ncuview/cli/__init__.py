"""The command line of ncuview: one module per command, and ``main`` and ``run``, which start it.

Each command parses its options, makes one call of the library, prints, and leaves with an exit code.
"""

from ncuview.cli.app import main, run

__all__ = ["main", "run"]
