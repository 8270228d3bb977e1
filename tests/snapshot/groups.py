"""The differences between two snapshots, grouped by what changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.snapshot import NO_ADVICE, Line, Snapshot

_NAMED = 6
"""Launches that are named of each group."""
_KINDS = {
    "A": "advice",
    "r": "rejected",
    ".": "passed",
    "-": "not applicable",
    "s": "skipped",
    "B": "broken",
    "": "no rule",
}


def groups(before: Snapshot, after: Snapshot) -> dict[str, list[str]]:
    """What changed, in words, and the launches that it changed for, with both values; the largest group first."""
    old, new = ({line.launch: line for line in side.lines} for side in (before, after))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for launch in [*old, *(each for each in new if each not in old)]:
        if launch not in new:
            found["launch is gone"].append(launch)
        elif launch not in old:
            found["launch is new"].append(launch)
        else:
            for change, values in _changes(old[launch], new[launch], before.codes, after.codes):
                found[change].append(f"{launch} ({values})" if values else launch)
    return dict(sorted(found.items(), key=lambda group: (-len(group[1]), group[0])))


def page(found: Mapping[str, list[str]]) -> str:
    """The groups as text, a line each, with the first launches of each."""
    lines = []
    for change, launches in found.items():
        more = f" and {len(launches) - _NAMED} more" if len(launches) > _NAMED else ""
        lines.append(f"{len(launches):5}  {change}: {', '.join(launches[:_NAMED])}{more}")
    return "\n".join(lines) + "\n" if lines else "no difference\n"


def _changes(old: Line, new: Line, old_codes: tuple[str, ...], new_codes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each change, and its old and new value where the change does not name them."""
    if old.verdict != new.verdict:
        yield f"verdict {old.verdict} -> {new.verdict}", ""
    if old.bottleneck != new.bottleneck:
        yield f"bottleneck {old.bottleneck} -> {new.bottleneck}", ""
    was, now = (dict(zip(codes, line.outcomes, strict=True)) for codes, line in ((old_codes, old), (new_codes, new)))
    kinds = [
        f"{code} {_KINDS[was.get(code, '')]} -> {_KINDS[now.get(code, '')]}"
        for code in dict.fromkeys([*was, *now])
        if was.get(code, "") != now.get(code, "")
    ]
    yield from ((kind, "") for kind in kinds)
    predicted, predicts = (_advice(line) for line in (old, new))
    numbers = [
        (f"{code} predicts another speedup", f"{predicted[code]} -> {predicts[code]}")
        for code in predicted
        if predicts.get(code, predicted[code]) != predicted[code]
    ]
    yield from numbers
    if not kinds and not numbers and list(predicted) != list(predicts):
        yield "order of advice", f"{', '.join(predicted)} -> {', '.join(predicts)}"
    if old.rest != new.rest and not kinds and not numbers:
        yield "bounds, lines or rejected predictions", ""


def _advice(line: Line) -> dict[str, str]:
    """Code -> predicted speedup, as it stands there."""
    if line.advice == NO_ADVICE:
        return {}
    return {part.split(" ")[0]: part.split(" ")[1] for part in line.advice.split(", ")}
