"""What became of the keys of ``ncuview.diagnosis/1`` in the JSON that ncuview writes now, for all recorded diagnoses.

    python -m tools.json_versions compare [COMMIT]
    python -m tools.json_versions write FILE

The first compares the documents of a commit that wrote version 1 with those of this tree: every key must be there with
the same value, renamed keys under their new name. The second only writes this tree's documents, one for each family of
the catalogue.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parents[1]
VERSION_1 = "0f7e0e7"
"""The last commit that wrote version 1."""
RENAMED: Mapping[str, str] = {"wall": "bottleneck", "walls": "units", "wall_after": "bottleneck_after"}
app = typer.Typer(help="What became of the keys of the JSON of version 1.", add_completion=False)
_READ_BY_IMPORT = ("ncuview", "kernels", "rules")


@dataclass
class Compared:
    """What was found in all documents together."""

    launches: int = 0
    keys: int = 0
    renamed: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)


@app.command()
def write(file: Path) -> None:
    """Write this tree's documents."""
    file.write_text(json.dumps(_documents()), encoding="utf-8")


@app.command()
def compare(commit: str = typer.Argument(VERSION_1)) -> None:
    """Compare a commit's documents with this tree's and print the counts."""
    compared = _compared(_documents_of(commit), _documents())
    sys.stdout.write("\n".join(_lines(compared)) + "\n")
    sys.exit(1 if compared.missing or compared.different else 0)


def _documents() -> dict[str, Any]:
    """The document of each family's recorded diagnosis, as the ncuview on Python's path writes it."""
    from ncuview.api import load_rules, read
    from ncuview.base.paths import shipped
    from ncuview.engine.rank import diagnose
    from ncuview.reader.host_times import with_host_times_of
    from ncuview.render.document import as_json

    rules = load_rules()
    found = {}
    for report in sorted(shipped("kernels").glob("*/h200.ncu-repz")):
        profile = with_host_times_of(read(report), report)
        found[report.parent.name] = json.loads(as_json(diagnose(profile, rules, "recorded")))
    return found


def _documents_of(commit: str) -> dict[str, Any]:
    """The same, as another commit writes it."""
    with tempfile.TemporaryDirectory() as folder:
        tree, written = Path(folder, "tree"), Path(folder, "documents.json")
        tree.mkdir()
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit, *_READ_BY_IMPORT], check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", str(tree)], check=True, input=archive.stdout)
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        subprocess.run([sys.executable, __file__, "write", str(written)], check=True, env=environment, cwd=folder)
        documents: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
        return documents


def _compared(version_1: Mapping[str, Any], now: Mapping[str, Any]) -> Compared:
    compared = Compared(launches=sum(len(each["launches"]) for each in version_1.values()))
    for family, document in version_1.items():
        if family in now:
            compare_documents(document, now[family], compared)
        else:
            compared.missing[family] += 1
    return compared


def compare_documents(version_1: Any, now: Any, compared: Compared) -> None:
    """Count what became of the keys of one document."""
    _compare(version_1, now, "", compared)


def _compare(was: Any, now: Any, path: str, compared: Compared) -> None:
    """Count what became of each key below two values that stand at the same place."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key, value in was.items():
            compared.keys += 1
            place, new = f"{path}.{key}".lstrip("."), _new_name(key, now)
            if new not in now:
                compared.missing[place] += 1
                continue
            if new != key:
                compared.renamed[f"{place} -> {new}"] += 1
            _compare(value, now[new], place, compared)
        compared.added.update(f"{path}.{key}".lstrip(".") for key in _added(was, now))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for one, other in zip(was, now, strict=True):
            _compare(one, other, f"{path}[]", compared)
    elif was != now and path not in {"schema", "reports[].path"} and not path.endswith(".report"):
        compared.different[path] += 1


def _new_name(key: str, now: Mapping[str, Any]) -> str:
    return RENAMED[key] if key in RENAMED and key not in now else key


def _added(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    kept = {_new_name(key, now) for key in was}
    return (key for key in now if key not in kept)


def _lines(compared: Compared) -> Iterator[str]:
    yield f"launches       {compared.launches:,}"
    yield f"keys compared  {compared.keys:,}"
    for name in ("renamed", "added", "missing", "different"):
        counts: Counter[str] = getattr(compared, name)
        yield f"{name:14} {sum(counts.values()):,}"
        yield from (f"  {count:9,}  {what}" for what, count in sorted(counts.items()))


if __name__ == "__main__":
    app()
