"""Extract the register's name from the text of one operand: ``R4`` from ``-|R4|``.

``register(operand)`` returns it, the first of a group; empty where the operand is no register.
"""

from __future__ import annotations

import re
from functools import lru_cache

_REGISTER = re.compile(r"[-+~|!]*(?P<name>U?R\d+)(?:[.|]\S*)?$", re.ASCII)


@lru_cache(maxsize=1 << 14)
def register(operand: str) -> str:
    """The register that an operand is, of a group the first: ``R4`` of ``-|R4|``; empty where it is none."""
    found = _REGISTER.match(operand)
    return found["name"] if found else ""
