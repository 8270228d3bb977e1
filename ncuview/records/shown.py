"""``Shown``, the base of answers that notebooks show as HTML: by ``as_html``, which the package ``ncuview`` sets.

Records import no renderer, and importing ``ncuview`` loads no record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Shown:
    """An answer with the method that notebooks call."""

    as_html: ClassVar[Callable[[Any], str]]

    def _repr_html_(self) -> str:
        return type(self).as_html(self)
