"""HTML section of the report that defines its words (``glossary_section``): verdicts, columns, shares of lines."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ncuview.render.html_report.elements import element, section

_WORDS = {
    "kernel": "All launches of one kernel with the same grid and block. The details of a row are those of the longest.",
    "gain": "The predicted speedup of the kernel by its first advice, from a model of all hardware units; the numbers"
    " beside it are its bounds.",
    "saves": "The time that this saves over all launches of the kernel. Kernels are sorted by it at first.",
    "bottleneck": "The hardware unit that limits the kernel now, with its use as a share of its peak; or latency, where"
    " no unit is busy enough to explain the time.",
    "attainable": "The share of its peak that a good kernel reaches on this unit of this GPU.",
    "near its peak": "The bottleneck is used as much as good kernels use it. Stop here.",
    "not judged": "Most rules could not judge it: machine code or metrics are missing from the report. Its state is"
    " unknown.",
    "not yours": "A kernel of a vendor's library, by its name. Only the call can be changed, not the kernel.",
    "unclear": "No rule predicts a gain, and the kernel is not near its peak, or a rule could not judge it.",
    "waste": "A line's share of the waste that the finding measures: replayed wavefronts, unneeded sectors ...",
    "executed": "A line's share of the instructions that warps executed.",
    "samples": "A line's share of the warp samples, which show where warps spend their time.",
}


def glossary_section() -> ET.Element:
    """A list of the words with their definitions."""
    parts = []
    for word, meaning in _WORDS.items():
        parts += [element("dt", word), element("dd", meaning)]
    return section("words", "What the words mean", element("dl", *parts, css="words"))
