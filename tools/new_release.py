"""What a new release of ncu or the driver changes for ncuview: metrics, passes, sections, options, failure texts.

    python -m tools.new_release save FOLDER [PROGRAM ARGS...]
    python -m tools.new_release compare OLD NEW

The first saves what the installed ncu prints, and profiles a program with the plan of metrics where one is given.
Outputs of runs that failed go into FOLDER/failures by hand, each named after the failure that ncuview reports for it:
``NCU-PERM.txt``, ``NCU-PERM.2.txt``. The second compares two such folders and ends with 1 where something that ncuview
uses is gone or has another meaning. What only one of the folders holds is not compared, and the answer says so.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.profiling.machine import find_ncu
from ncuview.profiling.ncu import ncu_command
from ncuview.profiling.ncu_failures import first_match, remarks
from ncuview.profiling.options import OPTIONS, Form

ASKED: Mapping[str, tuple[str, ...]] = {
    "version": ("--version",),
    "help": ("--help",),
    "metrics": ("--query-metrics",),
    "sections": ("--list-sections",),
    "sets": ("--list-sets",),
    "chips": ("--list-chips",),
}
"""Name of a saved text -> what ncu is asked for it."""
OURS = {"apply-rules", "clock-control", "config-file", "export", "list-chips", "metrics", "version"}
"""Options that ncuview gives beside those of its table."""
_METRIC = re.compile(r"^\s*(?P<name>[a-z][a-z0-9_]*__[a-z0-9_]+)\b[ \t]*(?P<about>.*?)\s*$", re.MULTILINE)
_ROW = re.compile(r"^(?P<name>[A-Za-z]\w*)[ \t]{2,}(?P<about>\S.*?)\s*$", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--(?P<name>[a-z][a-z0-9-]+)")
_PASSES = re.compile(r"100% - (\d+) pass")
_SHOWN = 40


def save(folder: Path, program: list[str]) -> None:
    """Save what the installed ncu prints."""
    ncu = find_ncu()
    if ncu is None:
        sys.exit("there is no ncu here")
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in ASKED.items():
        (folder / f"{name}.txt").write_text(_said([str(ncu), *words]), encoding="utf-8")
    if program:
        with tempfile.TemporaryDirectory() as private:
            command = ncu_command(ncu, metrics_for(load_rules()), Path(private, "plan"), program)
            (folder / "plan.txt").write_text(_said(command), encoding="utf-8")


def _said(command: list[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def compare(old: Path, new: Path) -> Iterator[tuple[str, bool]]:
    """Lines of what changed, each with whether ncuview must follow."""
    yield f"ncu {_release(old)} -> {_release(new)}", False
    comparisons: dict[str, Callable[[str, str], Iterator[tuple[str, bool]]]] = {
        "metrics": _metrics,
        "plan": _passes,
        "sections": _rows("section"),
        "sets": _rows("set"),
        "help": _options,
    }
    for name, changed in comparisons.items():
        texts = _read(old / f"{name}.txt"), _read(new / f"{name}.txt")
        if None in texts:
            yield f"{name}: not compared: {name}.txt is missing", False
        else:
            yield from changed(*map(str, texts))
    for folder in (old, new):
        yield from _failures(folder / "failures")


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def _release(folder: Path) -> str:
    found = re.search(r"Version (\S+)", _read(folder / "version.txt") or "")
    return found[1] if found else "(unknown)"


def _table(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    return {row["name"]: " ".join(row["about"].split()) for row in pattern.finditer(text)}


def _metrics(old: str, new: str) -> Iterator[tuple[str, bool]]:
    """Metrics of the plan that are gone or have another unit or description, and how many others came and went.

    ncu lists names without roll-ups (``.sum.per_second``), and none of ``launch__`` and the warp sampler.
    """
    was, now = _table(_METRIC, old), _table(_METRIC, new)
    planned = {metric.partition(".")[0] for metric in metrics_for(load_rules())}
    for name in sorted(planned & was.keys()):
        if name not in now:
            yield f"metric of the plan is gone: {name}", True
        elif was[name] != now[name]:
            yield f"metric of the plan is described otherwise: {name}: {was[name]!r} -> {now[name]!r}", True
    listed = len(planned & now.keys())
    yield f"metrics: {listed} of the plan's {len(planned)} names are listed, and {len(now)} in all", False
    yield from _names("metric", was.keys() - planned, now.keys() - planned)


def _passes(old: str, new: str) -> Iterator[tuple[str, bool]]:
    was, now = ([int(passes) for passes in _PASSES.findall(text)] for text in (old, new))
    if not now:
        yield "plan: no launch was profiled with it", True
    elif was != now:
        yield f"passes of the plan, launch by launch: {was} -> {now}; measure them: benchmarks/passes.py", True


def _rows(kind: str) -> Callable[[str, str], Iterator[tuple[str, bool]]]:
    """Ncuview collects metrics by name and no section, so that nothing must follow."""

    def changed(old: str, new: str) -> Iterator[tuple[str, bool]]:
        yield from _names(kind, _table(_ROW, old).keys(), _table(_ROW, new).keys())

    return changed


def _options(old: str, new: str) -> Iterator[tuple[str, bool]]:
    was, now = (set(_OPTION.findall(text)) for text in (old, new))
    used = OURS | {option.flag for option in OPTIONS if option.form is not Form.FURTHER}
    yield from ((f"option that ncuview gives is gone: --{name}", True) for name in sorted(used & was - now))
    yield from _names("option", was - used, now - used)


def _names(kind: str, was: AbstractSet[str], now: AbstractSet[str]) -> Iterator[tuple[str, bool]]:
    for what, names in (("new", now - was), ("gone", was - now)):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{kind}s, {what}: {', '.join(sorted(names)[:_SHOWN])}{more}", False


def _failures(folder: Path) -> Iterator[tuple[str, bool]]:
    """Outputs that the failure catalogue takes for another failure than the one in their file's name, or for none."""
    for file in sorted(folder.glob("*.txt")):
        wanted = file.name.partition(".")[0]
        found = first_match(["cause", "symptom"], remarks(_read(file) or "", started=False))
        reported = found[0].id if found else "none"
        if reported != wanted:
            yield f"failure text: {folder.parent.name}/{file.name} is taken for {reported}, not {wanted}", True


def main(words: list[str]) -> int:
    """Save or compare."""
    match words:
        case ["save", folder, *program]:
            save(Path(folder), program)
            return 0
        case ["compare", old, new]:
            lines = list(compare(Path(old), Path(new)))
            for line, must_follow in lines:
                print(f"{'! ' if must_follow else '  '}{line}")
            return int(any(must_follow for _, must_follow in lines))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
