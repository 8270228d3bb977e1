"""``html_report``: a ``Diagnosis``, with gate, ladders and comparison where given, as one self-contained HTML page.

Without a script the page shows the next steps and all kernels; with the ``Profile`` it has each source line's share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ncuview.engine.priority import priorities
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.records.ladder import Ladder
from ncuview.render.html_report.changes import changes_section
from ncuview.render.html_report.checks import Ids, checks_section
from ncuview.render.html_report.data import report_data
from ncuview.render.html_report.details import kernel_section
from ncuview.render.html_report.elements import dim, element, section
from ncuview.render.html_report.kernels import VERDICTS, kernels_section
from ncuview.render.html_report.ladders import ladders_section
from ncuview.render.html_report.page import page, shipped
from ncuview.render.html_report.program import program_section
from ncuview.render.html_report.roofline import counted_operations, rooflines
from ncuview.render.html_report.roofline_chart import roofline_section
from ncuview.render.html_report.rows import LISTED, KernelRow, rows_of
from ncuview.render.html_report.summary import summary_section, unmeasured
from ncuview.render.words import failure_sentence, gpu_words, provenance

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.records.profile import Profile

_NAMED = 2
"""Up to this number, all kernels are named in the title."""
_WORDS = {
    "kernel": "All launches of one kernel with the same grid and block. The details of a row are those of the longest.",
    "gain": "The predicted speedup of the kernel by its first advice, from a model of all hardware units; the numbers"
    " beside it are its bounds.",
    "saves": "The time that this saves over all launches of the kernel. Kernels are sorted by it at first.",
    "bottleneck": "The hardware unit that limits the kernel now, with its use as a share of its peak; or latency, where"
    " no unit is busy enough to explain the time.",
    "attainable": "The share of its peak that a good kernel reaches on this unit of this GPU.",
    "near its peak": "The bottleneck is used as much as good kernels use it.",
    "not judged": "Most rules could not judge it: machine code or metrics are missing from the report. Its state is"
    " unknown.",
    "not yours": "A kernel of a vendor's library or a framework, whose call you can change; or one that a compiler has"
    " written from your code, which you can change.",
    "unclear": "No rule predicts a gain, and the kernel is not near its peak, or a rule could not judge it.",
    "waste": "A line's share of the waste that the finding measures: replayed wavefronts, unneeded sectors ...",
    "executed": "A line's share of the instructions that warps executed.",
    "samples": "A line's share of the warp samples, which show where warps spend their time.",
}


def html_report(
    diagnosis: Diagnosis,
    gate: Gate | None = None,
    ladders: Sequence[Ladder] = (),
    comparison: Comparison | None = None,
    *,
    profile: Profile | None = None,
) -> str:
    """A diagnosis as one self-contained page.

    Args:
        diagnosis: The diagnosis to show.
        gate: The result of a budget or baseline.
        ladders: Families, each from naive to best.
        comparison: The comparison with an earlier profile.
        profile: The profile of ``diagnosis``. With it, the page shows every line of each kernel with its share of
            executed instructions and of warp samples, and the floating-point operations from the machine code.
    """
    ranked = priorities(diagnosis)
    rows = rows_of(diagnosis, ranked, gate)
    listed = rows[:LISTED]
    ids: Ids = {(row.group.demangled, row.group.grid, row.group.block): row.id for row in reversed(listed)}
    line_data = None
    if profile is not None:
        from ncuview.render.html_report.lines import LineData

        line_data = LineData(profile)

    def parts() -> Iterator[ET.Element]:
        if not comparison:  # its section names both sides
            yield dim(provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark))
        failure = comparison.failure if comparison else diagnosis.failure
        if missing := failure_sentence(failure):
            yield element("p", missing, css="warn", role="alert")
        if diagnosis.program and not comparison:
            yield program_section(diagnosis.program)
        if ladders:
            yield ladders_section(ladders, ids)
        if comparison:
            yield changes_section(comparison, ids)
        yield kernel_section(rows[0], unmeasured(ranked)) if len(rows) == 1 else summary_section(rows, ranked, gate)
        if gate:
            yield checks_section(gate, ids)
        if len(rows) > 1:
            yield kernels_section(rows)
        if lines := rooflines(listed, counted_operations(profile) if profile is not None else {}):
            yield roofline_section(lines)
        if rows:
            yield _glossary()

    data = report_data(rows, line_data)
    return page(
        _title(diagnosis, rows, ladders, comparison),
        list(parts()),
        data,
        style=shipped("report.css"),
        script=shipped("report.js"),
    )


def _title(
    diagnosis: Diagnosis, rows: Sequence[KernelRow], ladders: Sequence[Ladder], comparison: Comparison | None
) -> str:
    """The family of a ladder, the program, the kernels or else the reports; the GPU; what the page shows of them."""
    gpus = gpu_words(diagnosis.launches)
    where = f" on {gpus}" if gpus else ""
    if ladders:
        families = ", ".join(ladder.family for ladder in ladders)
        return f"{families}{where}: ladder{'s'[: len(ladders) != 1]} from naive to best"
    paths = [report.path.replace(chr(92), "/").rpartition("/")[2] for report in diagnosis.reports]
    reports = f"{len(paths)} reports" if len(paths) > 1 else "".join(paths)
    kernels = " to ".join((comparison and comparison.two_kernels) or ())
    subject = kernels or _program(diagnosis) or _kernels(rows) or reports
    subject += where if subject else ""
    if comparison:
        words = "what changed"
    elif not rows:
        words = "no launch to show"
    elif len(rows) == 1 and not rows[0].group.advice and not (diagnosis.program and diagnosis.program.findings):
        words = VERDICTS[rows[0].shown.verdict]
    else:
        words = "what to do next"
    return f"{subject}: {words}" if subject else words.capitalize()


def _program(diagnosis: Diagnosis) -> str:
    """The file of the program whose lines take most time; empty where no line is known."""
    calls = diagnosis.program.calls if diagnosis.program else ()
    costliest = next((each.call.file for each in calls if each.call.file), "")
    return costliest.replace(chr(92), "/").rpartition("/")[2]


def _kernels(rows: Sequence[KernelRow]) -> str:
    """The kernel whose advice saves most, and how many others there are; empty where it has no name."""
    names = list(dict.fromkeys(row.group.kernel.strip() for row in rows))
    if len(names) <= _NAMED:
        return " and ".join(filter(None, names))
    return f"{names[0]} and {len(names) - 1:,} other kernels" if names[0] else ""


def _glossary() -> ET.Element:
    """A list of the words with their definitions."""
    parts = []
    for word, meaning in _WORDS.items():
        parts += [element("dt", word), element("dd", meaning)]
    return section("words", "What the words mean", element("dl", *parts, css="words"))
