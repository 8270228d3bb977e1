"""Show that a variant of a kernel computes what the original does: verified, refuted or unproven.

``verify`` runs both on five inputs and six sizes, in fresh poisoned memory between guard bands, and under
compute-sanitizer -> ``Verification``. ``wrong_launches`` compares a profile with the launch that was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from ncuview.base.at_once import IN_TURN, AtOnce
from ncuview.base.errors import CompileFailed, KernelFileError
from ncuview.catalogue.kernels import Launch, Sizes
from ncuview.catalogue.launcher.inputs import PATTERNS, RUNS
from ncuview.records.profile import Extent
from ncuview.trial.cases import Build, Reordering, further_sizes, job_of, shown, small_sizes
from ncuview.trial.sanitizer import TOOLS, Inconclusive, Printed, compared, findings_by_tool

Verdict = Literal["verified", "refuted", "unproven"]
Check = Literal[
    "",
    "launch",
    "guards",
    "inputs",
    "poison",
    "outputs",
    "stability",
    "process",
    "memcheck",
    "racecheck",
    "synccheck",
    "lanes",
    "work",
]
"""What decided: ``guards``, ``inputs`` and ``poison`` are of memory that was written wrongly, or not at all; ``lanes``
is of the lanes that warp operations name, ``work`` of counters."""
_ORIGINAL, _VARIANT = "original", "variant"
FEWEST_INPUTS = 3
"""Contents of the inputs that must be left where the original does not take all of them."""

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the process that launches variants left.

    Attributes:
        lines: The lines of its result file.
        failure: Why it did not end by itself; empty where it did.
    """

    lines: Sequence[Line]
    failure: str = ""


Process = Callable[[Mapping[str, Any]], Answer]
"""Does a job of ``launcher/variants.py`` on the GPU."""
Sanitizer = Callable[[str, Mapping[str, Any]], Printed]
"""Does a job under a tool of compute-sanitizer, which is the first argument; may raise ``Inconclusive``."""


@dataclass(frozen=True)
class Counterexample:
    """An element that the variant computes wrongly.

    Attributes:
        case: Sizes and contents of the inputs.
        output: The output's name.
        index: The element.
        expected: The original's element.
        found: The variant's.
        elements: How many elements of the output are wrong.
    """

    case: str
    output: str
    index: tuple[int, ...]
    expected: str
    found: str
    elements: int


@dataclass(frozen=True)
class Verification:
    """Whether a variant computes what the original does.

    Attributes:
        verdict: ``verified`` where no check objects; ``unproven`` where one could not be made.
        check: The check that decided; empty where it is verified.
        reason: What it found, as a clause; empty where it is verified.
        counterexample: The first wrong element, where outputs are wrong.
        cases: The cases on which both computed the same.
        unused: Sizes and cases that could not be used, each with the reason.
        largest_allowed: The largest difference that was allowed, where sums are reordered or the original's own vary.
        passed: What was checked without objection, as clauses.
    """

    verdict: Verdict
    check: Check = ""
    reason: str = ""
    counterexample: Counterexample | None = None
    cases: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    largest_allowed: float = 0.0
    passed: tuple[str, ...] = ()


class _Decided(Exception):
    """A check objects, or could not be made."""

    def __init__(self, verdict: Verdict, check: Check, reason: str, example: Counterexample | None = None) -> None:
        super().__init__(reason)
        self.verification = Verification(verdict, check, reason, example)


class _UnusableCase(Exception):
    """The original itself fails on a case, or its results there cannot be compared with."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"the original {reason}")
        self.number = number


@dataclass
class _Seen:
    """What the checks have passed so far."""

    cases: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    largest_allowed: float = 0.0


def verify(
    original: Build,
    variant: Build,
    process: Process,
    sanitizer: Sanitizer,
    *,
    reordered: Sequence[Reordering] = (),
    sizes: Sequence[Sizes] | None = None,
    at_once: AtOnce = IN_TURN,
) -> Verification:
    """Compare a variant with the original.

    Args:
        original: The kernel as it is.
        variant: The edited kernel, with the launch of its own front matter.
        process: Does a job on the GPU.
        sanitizer: Does a job under a tool of compute-sanitizer.
        reordered: The floating-point sums that the change reorders; without any, outputs must have equal bytes.
        sizes: The sizes to compare at, the first of which the original must run at; the file's own,
            ``further_sizes`` and ``small_sizes`` where it is None.
        at_once: Makes runs of small sizes, and those of compute-sanitizer, since none is timed.
    """
    tried = [original.kernel.text.sizes, *further_sizes(original.kernel)] if sizes is None else sizes
    seen = _Seen()
    try:
        usable = _compared(original, variant, tried, process, reordered, seen)
        if sizes is None:
            _compared_small(original, variant, process, reordered, seen, at_once)
        # In a launch of one block, as small sizes have, tools see less.
        smallest = min(usable, key=lambda each: sum(map(abs, each.values())))
        _sanitized(
            [job_of({_ORIGINAL: each}, smallest, patterns=("random",)) for each in (original, variant)],
            shown(smallest),
            sanitizer,
            at_once,
        )
    except _Decided as decided:
        found = decided.verification
    else:
        found = Verification("verified")
    return replace(
        found,
        cases=tuple(seen.cases),
        unused=tuple(seen.unused),
        largest_allowed=seen.largest_allowed,
    )


def _compared(
    original: Build,
    variant: Build,
    tried: Sequence[Sizes],
    process: Process,
    reordered: Sequence[Reordering],
    seen: _Seen,
) -> list[Sizes]:
    """The sizes at which both computed the same; raises ``_Decided`` where they did not, or the first is unusable."""
    usable = []
    for sizes in tried:
        reason = _same_at(original, variant, sizes, process, reordered, seen)
        if not reason:
            usable.append(sizes)
        elif sizes is tried[0]:
            raise _Decided("unproven", "process", f"nothing can be compared at {shown(sizes)}: {reason}")
        else:
            seen.unused.append(f"{shown(sizes)}: {reason}")
    return usable


def _compared_small(
    original: Build,
    variant: Build,
    process: Process,
    reordered: Sequence[Reordering],
    seen: _Seen,
    at_once: AtOnce,
) -> None:
    """Raise ``_Decided`` where they differ at a small size; one that cannot be used is left out."""
    sizes = small_sizes(original.kernel, variant.kernel)
    apart = [_Seen() for _ in sizes]
    decided: dict[int, _Decided] = {}

    def compare(number: int) -> None:
        try:
            if reason := _same_at(original, variant, sizes[number], process, reordered, apart[number]):
                apart[number].unused.append(f"{shown(sizes[number])}: {reason}")
        except _Decided as found:
            decided[number] = found

    at_once([partial(compare, number) for number in range(len(sizes))])
    for each in apart:
        seen.cases += each.cases
        seen.unused += each.unused
        seen.largest_allowed = max(seen.largest_allowed, each.largest_allowed)
    for number in sorted(decided):
        raise decided[number]


def _same_at(
    original: Build,
    variant: Build,
    sizes: Sizes,
    process: Process,
    reordered: Sequence[Reordering],
    seen: _Seen,
) -> str:
    """Why the sizes cannot be used, empty where they can; raises ``_Decided`` where the variant differs there."""
    try:
        job_of({_ORIGINAL: original}, sizes)
    except (KernelFileError, CompileFailed) as error:
        return str(error)
    patterns = list(PATTERNS)
    while True:
        try:
            builds = {_ORIGINAL: original, _VARIANT: variant}
            job = job_of(builds, sizes, patterns=patterns, reordered=reordered)
        except (KernelFileError, CompileFailed) as error:
            raise _Decided("refuted", "launch", f"its launch is not defined at {shown(sizes)}: {error}") from error
        try:
            seen.cases += _judge(job, process(job), seen)
        except _UnusableCase as unusable:
            # Contents that the original was not written for leave the others; numbers as in every profile must do.
            if unusable.number == 0 or len(patterns) == FEWEST_INPUTS:
                return str(unusable)
            seen.unused.append(f"{job['cases'][unusable.number]['name']}: {unusable}")
            del patterns[unusable.number]
        else:
            return ""


def _judge(job: Mapping[str, Any], answer: Answer, seen: _Seen) -> list[str]:
    """Compare what the process wrote of each case -> the cases in which all was well."""
    made = [line for line in answer.lines if "key" in line and "begins" not in line]
    complete = bool(answer.lines) and answer.lines[-1].get("ended") is True and not answer.failure
    for number in range(len(job["cases"])):
        _check_original(number, [line for line in made if line["case"] == number and line["key"] == _ORIGINAL])
    cases: list[str] = []
    for number, case in enumerate(job["cases"]):
        lines = [line for line in made if line["case"] == number]
        originals, variants = ([line for line in lines if line["key"] == key] for key in (_ORIGINAL, _VARIANT))
        for line in variants:
            _check_variant(case, originals[0], line)
            seen.largest_allowed = max([seen.largest_allowed, *(each["allowed"] for each in line["differences"])])
        if len(variants) == RUNS:
            cases.append(case["name"])
    if not complete:
        _explain(answer)
    if len(cases) < len(job["cases"]):
        raise _Decided("unproven", "process", "the process left out cases")
    first_runs = [line for line in made if line["key"] == _ORIGINAL and not line["run"]]
    if len(first_runs) > 1 and all(line["crc"] == first_runs[0]["crc"] for line in first_runs):
        raise _UnusableCase(0, "gives the same outputs for all inputs")
    return cases


def _explain(answer: Answer) -> None:
    """What a process that did not come to its end says of the launch that it began last."""
    begun = next((line for line in reversed(answer.lines) if line.get("begins")), None)
    failure = answer.failure or "the process ended early"
    if begun is None:
        raise _Decided("unproven", "process", failure)
    if begun["key"] == _ORIGINAL:
        raise _UnusableCase(begun["case"], f"fails: {failure}")
    raise _Decided("refuted", "launch", f"{failure}, in a launch of the variant")


def _check_original(number: int, lines: Sequence[Line]) -> None:
    """Raise where the original cannot be compared with: on this case, or at all."""
    for line in lines:
        if line["error"]:
            raise _UnusableCase(number, f"fails: {line['error']}")
        if outside := [*line["guards"], *line["inputs"]]:
            raise _UnusableCase(number, f"writes outside its outputs: {', '.join(outside)}")
    # The second launch may differ where further ones follow, from which the tolerance was taken.
    repeats = [line for line in lines if line["run"] >= RUNS]
    if any(each["elements"] for line in repeats for each in line["differences"]):
        raise _UnusableCase(number, "gives results that differ by more than the widest tolerance")
    if not repeats and any(each["elements"] for line in lines for each in line["differences"]):
        raise _Decided("unproven", "stability", "the original's own results differ from launch to launch")


def _check_variant(case: Mapping[str, Any], original: Line, line: Line) -> None:
    """Raise ``_Decided`` where a launch of the variant is wrong."""
    where = f"at {case['name']}"
    if line["error"]:
        raise _Decided("refuted", "launch", f"its launch fails {where}: {line['error']}")
    if line["guards"]:
        raise _Decided("refuted", "guards", f"it writes outside {', '.join(line['guards'])} {where}")
    if line["inputs"]:
        raise _Decided("refuted", "inputs", f"it overwrites the input {', '.join(line['inputs'])} {where}")
    example = next(_wrong_elements(case, line), None)
    if line["poison"] > original["poison"]:
        left = line["poison"] - original["poison"]
        raise _Decided("refuted", "poison", f"it leaves {left:,} elements unwritten {where}", example)
    if example:
        element = f"{example.output}[{', '.join(map(str, example.index))}]"
        reason = f"{element} is {example.found} instead of {example.expected} {where}"
        raise _Decided("refuted", "outputs", reason, example)


def _wrong_elements(case: Mapping[str, Any], line: Line) -> Iterator[Counterexample]:
    outputs = [argument["name"] for argument in case["arguments"] if argument["role"] in {"out", "zeroed"}]
    for name, each in zip(outputs, line["differences"], strict=True):
        if each["elements"]:
            yield Counterexample(
                case["name"], name, tuple(each["first"]), each["expected"], each["found"], each["elements"]
            )


def _sanitized(jobs: Sequence[Mapping[str, Any]], where: str, sanitizer: Sanitizer, at_once: AtOnce) -> None:
    """Raise ``_Decided`` where a tool finds more in the second job, or fails."""
    found_by = findings_by_tool(sanitizer, jobs, at_once)
    for tool in TOOLS:
        try:
            before, after = found_by(tool)
        except Inconclusive as error:
            raise _Decided("unproven", _check_of(tool), str(error)) from error
        if new := compared(before, after):
            raise _Decided("refuted", _check_of(tool), f"{tool} finds at {where}: {new}")


def _check_of(tool: str) -> Check:
    checks: dict[str, Check] = {"memcheck": "memcheck", "racecheck": "racecheck", "synccheck": "synccheck"}
    return checks[tool]


def wrong_launches(meant: Launch, count: int, seen: Sequence[tuple[str, Extent, Extent]]) -> str:
    """How the launches in a profile differ from those that were meant, as a clause; empty where they do not.

    Args:
        meant: The launch.
        count: How many times it is made.
        seen: The name of the kernel, grid and block of each launch in the profile.
    """
    function = meant.kernel.function
    if others := [name for name, *_ in seen if name != function]:
        return f"{others[0]} was launched instead of {function}"
    for _, grid, block in seen:
        if (grid, block) != (meant.grid, meant.block):
            return f"{function} was launched with grid {grid} and block {block}, not {meant.grid} and {meant.block}"
    if len(seen) != count:
        return f"{function} was launched {len(seen)} times, not {count}"
    return ""
