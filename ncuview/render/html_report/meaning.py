"""HTML section of the report that defines its words: verdicts, columns and the shares of source lines."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ncuview.render.html_report.elements import element, section

_WORDS = {
    "kernel": "All launches of one kernel with the same grid and block. What opens below a row is the longest of them.",
    "gain": "How many times faster the kernel becomes when its first advice is taken, after a model of all hardware"
    " units; the numbers beside it are bounds that should hold.",
    "saves": "The time that this takes away in all launches of the kernel. Kernels are in this order at first.",
    "wall": "The hardware unit that limits the kernel now, with its use as a share of its peak; or latency, where no"
    " unit is busy enough to explain the time.",
    "attainable": "The share of its peak that a good kernel reaches on this unit of this GPU.",
    "near its peak": "The wall is used as far as good kernels use it. Stop here.",
    "not judged": "Most rules could not look: machine code or metrics are missing from the report. Nothing is known.",
    "not yours": "A kernel of a vendor's library, by its name. Only the call can be changed, not the kernel.",
    "unclear": "No rule promises a gain, and the kernel is not near its peak, or a rule could not judge it.",
    "waste": "A line's share of what the finding is about: replayed wavefronts, sectors that were not needed ...",
    "executed": "A line's share of the instructions that warps executed.",
    "samples": "A line's share of the samples of warps: where they spent their time.",
}


def meaning_section() -> ET.Element:
    """A list of the words."""
    parts = []
    for word, meaning in _WORDS.items():
        parts += [element("dt", word), element("dd", meaning)]
    return section("words", "What the words mean", element("dl", *parts, css="words"))
