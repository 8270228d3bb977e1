"""``python -m tests.snapshot groups OLD NEW`` and ``python -m tests.snapshot write catalogue|labelled FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.snapshot import parsed
from tests.snapshot.groups import groups, page
from tests.snapshot.recorded import SETS


def main(arguments: list[str]) -> None:
    """Group two snapshots' differences, or write a snapshot of recorded launches."""
    match arguments:
        case ["groups", old, new]:
            before, after = (parsed(Path(file).read_text(encoding="utf-8")) for file in (old, new))
            sys.stdout.write(page(groups(before, after)))
        case ["write", name, file] if name in SETS:
            Path(file).write_text(str(SETS[name]()), encoding="utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
