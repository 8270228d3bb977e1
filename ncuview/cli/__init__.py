"""The command line of ncuview: one module per command; ``main`` and ``run`` parse ``sys.argv`` and start a command.

A command parses its options, calls one library function, prints the answer and exits with a code.
"""

from ncuview.cli.app import main, run

__all__ = ["main", "run"]
