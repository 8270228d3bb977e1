"""Find the source lines and machine instructions that carry most of the waste that a rule's finding is about.

``Places(analysis).of(rule, launch)`` returns them as a ``Where``, with their shares and the surrounding code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.instruction_table import Executed
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.reader.source import Sources
from ncuview.records.diagnosis import CodeLine, HotInstruction, SourceLine
from ncuview.records.profile import CallSite, Profile
from ncuview.sass import opcode_classes
from ncuview.sass.code import of_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ncuview.engine.rule_file import Rule
    from ncuview.metrics.analysis import Analysis
    from ncuview.sass.opcode_classes import Class

    _Shown = dict[tuple[str, str, int], tuple[CodeLine, ...]]

PLACES_SHOWN = 3
SHARE_SHOWN = 0.05
"""Places with a smaller share of the waste are not shown."""
CONTEXT = 2
"""Lines that are shown before a line, and after it."""
LONGEST = 300
"""Characters of a line that are shown: generated code has very long lines."""
NOT_IN_REPORT = "the report does not hold its source: profile with --import-source yes"
HOW_TO_GET_LINES = (
    "no source line is known for it. Lines come with nvcc -lineinfo; PyTorch extensions:"
    ' extra_cuda_cflags=["-lineinfo"]; Numba: @cuda.jit(lineinfo=True); Triton: unset TRITON_DISABLE_LINE_INFO'
)

ACCESSES: Mapping[str, Class] = {
    "load": opcode_classes.is_operand_load,
    "global_load": opcode_classes.is_global_load,
    "global_store": opcode_classes.is_global_store,
    "atomic": opcode_classes.is_global_atomic,
    "local": opcode_classes.is_local_access,
}
"""The classes of instructions that rules may restrict their lines to."""


@dataclass(frozen=True)
class Where:
    """The places that carry most of a finding's waste, the worst first; shares are of the total waste."""

    lines: tuple[SourceLine, ...] = ()
    instructions: tuple[HotInstruction, ...] = ()
    """For the part of the waste whose lines are unknown."""
    lines_wanted: str = ""
    """How to get those lines."""


class Places:
    """The source lines and instructions of the launches under analysis.

    Launches of one kernel have their waste in the same few lines, whose text they share.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._shown: _Shown = {}
        self._sources = Sources(analysis.profile)
        self._reports: list[str] = analysis.profile.launches["report"].tolist()

    def text(self, launch: int, file: str, line: int) -> str:
        """A source line without indentation; empty where the report does not hold it."""
        lines = self._sources.lines(self._reports[launch], file)
        return lines[line - 1].strip()[:LONGEST] if 0 < line <= len(lines) else ""

    def of(self, rule: Rule, launch: int) -> Where:
        """The places of one launch; none where the rule has no ``where``, or the report has no instructions."""
        executed = self._analysis.instructions.get(launch)
        if executed is None:
            return Where()
        waste = _waste(rule, executed)
        total = waste.sum()
        if total <= 0:
            return Where()
        share = waste / total
        wasting, known = share > 0, executed.lines > 0
        code = _Source(launch, self._reports[launch], self._analysis.profile, executed, self._sources, self._shown)
        instructions = _instructions(executed, np.where(known, 0.0, share))
        lines = code.worst(np.where(known & wasting, share, 0.0))
        return Where(lines, instructions, HOW_TO_GET_LINES if instructions else "")


def _waste(rule: Rule, executed: Executed) -> NDArray[np.float64]:
    """What each instruction of a launch adds to the waste, 0 or more; all 0 where that is unknown."""
    if rule.waste is None or not all(OF_INSTRUCTIONS[name] in executed for name in rule.waste.names):
        return np.zeros(len(executed))
    waste = rule.waste.evaluate({name: executed[OF_INSTRUCTIONS[name]] for name in rule.waste.names})
    waste = np.nan_to_num(np.broadcast_to(waste, (len(executed),)), posinf=0.0, neginf=0.0)
    if rule.text.where and rule.text.where.among:
        waste = waste * of_class(executed.code, ACCESSES[rule.text.where.among])
    return waste.clip(min=0.0)


def _instructions(executed: Executed, share: NDArray[np.float64]) -> tuple[HotInstruction, ...]:
    """Those with the most waste; in unrolled code each may have little of it."""
    if share.sum() < SHARE_SHOWN:
        return ()
    worst = [at for at in np.argsort(-share, kind="stable")[:PLACES_SHOWN].tolist() if share[at] > 0]
    return tuple(HotInstruction(int(executed.addresses[at]), executed.code.texts[at], float(share[at])) for at in worst)


class _Source:
    """The source code of one launch."""

    def __init__(
        self, launch: int, report: str, profile: Profile, executed: Executed, sources: Sources, shown: _Shown
    ) -> None:
        self._sources = sources
        self._profile = profile
        self._executed = executed
        self._report = report
        self._calls = profile.call_sites.get(launch)
        self._known = shown

    def worst(self, share: NDArray[np.float64]) -> tuple[SourceLine, ...]:
        """The worst lines; at least one, where there is any."""
        files, numbers = self._executed.files, self._executed.lines
        of_line: dict[tuple[str, int], dict[int, float]] = {}
        for at in np.flatnonzero(share).tolist():
            of_line.setdefault((files[at], int(numbers[at])), {})[at] = float(share[at])
        ranked = sorted(of_line.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:PLACES_SHOWN]
        return tuple(
            self._line(file, line, shares)
            for place, ((file, line), shares) in enumerate(ranked)
            if place == 0 or sum(shares.values()) >= SHARE_SHOWN
        )

    def _line(self, file: str, line: int, shares: dict[int, float]) -> SourceLine:
        """A line with the shares of its instructions, by their place in the code."""
        called_from = self._called_from(shares)
        elsewhere = self._calls is None and file != self._kernels_file
        around = self._around(file, line)
        return SourceLine(
            file=file,
            line=line,
            share=sum(shares.values()),
            code=self._code(file, line),
            around=around,
            inlined=bool(called_from) or elsewhere,
            called_from=called_from,
            remark=self._profile.source_remarks.get((self._report, file), "" if around else NOT_IN_REPORT),
        )

    @cached_property
    def _kernels_file(self) -> str:
        """The file of the kernel's first line, where execution starts."""
        known = np.flatnonzero(self._executed.lines > 0)
        return self._executed.files[known[self._executed.addresses[known].argmin()]] if len(known) else ""

    def _called_from(self, of_line: dict[int, float]) -> tuple[CallSite, ...]:
        shares: dict[CallSite, float] = {}
        for at, share in of_line.items():
            if call := (self._calls or {}).get(int(self._executed.addresses[at])):
                shares[call] = shares.get(call, 0.0) + share
        worst = sorted(shares, key=lambda call: -shares[call])[:PLACES_SHOWN]
        return tuple(replace(call, code=self._code(call.file, call.line)) for call in worst)

    def _code(self, file: str, line: int) -> str:
        return "".join(each.text.strip() for each in self._around(file, line) if each.line == line)

    def _around(self, file: str, line: int) -> tuple[CodeLine, ...]:
        """The line, and those before and after it; nothing where the text does not reach so far."""
        place = (self._report, file, line)
        if place not in self._known:
            self._known[place] = _lines_around(self._sources.lines(self._report, file), line)
        return self._known[place]


def _lines_around(texts: Sequence[str], line: int) -> tuple[CodeLine, ...]:
    if line > len(texts):
        return ()
    numbers = range(max(1, line - CONTEXT), min(len(texts), line + CONTEXT) + 1)
    shown = [CodeLine(number, texts[number - 1][:LONGEST].expandtabs(4).rstrip()) for number in numbers]
    while shown[-1].line > line and not shown[-1].text:  # a file's end, or a gap before what is next
        shown.pop()
    while shown[0].line < line and not shown[0].text:
        shown.pop(0)
    return tuple(shown)
