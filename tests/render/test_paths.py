"""No output names a folder of the machine that wrote it, whether the package is installed or the sources are near."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.base.paths import shown_path
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import CallSite
from ncuview.render.outputs import FORMATS, output_text
from tests.render.report_pages import gate
from tests.render.sample import advice_finding, column_read, diagnosis, launch_with_advice

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [name for name, form in FORMATS.items() if not form.binary]


@pytest.mark.checkout
def test_recorded_kernels_of_an_installed_package_name_no_folder(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "site-packages" / "ncuview"
    shutil.copytree(ROOT / "ncuview", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "rules", package / "_shipped" / "rules")
    kernels, report = package / "_shipped" / "kernels", Path("transpose", "h200.ncu-repz")
    shutil.copytree(ROOT / "kernels", kernels, ignore=shutil.ignore_patterns("*.ncu-repz"))
    shutil.copy(ROOT / "kernels" / report, kernels / report)
    work = tmp_path / "work"
    work.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": str(tmp_path / "home")}
    environment |= {f"XDG_{name}_HOME": str(tmp_path / "home") for name in ("CACHE", "CONFIG", "STATE")}
    outputs = [word for name in FORMATS for word in ("-o", f"{name}:one.{name}")]
    ladder = ["-o", "ladder.html", "-o", "ladder.json"]
    for words in (["analyze", "transposeCoalesced", *outputs], ["ladder", "transpose", *ladder]):
        command = [sys.executable, "-c", "from ncuview.cli.app import main; main()", *words, "--recorded"]
        done = subprocess.run(command, cwd=work, env=environment, check=False, capture_output=True)
        assert done.returncode == 0, done.stderr
    written = sorted(work.iterdir())
    assert len(written) == len(FORMATS) + 2
    for file in written:
        content = file.read_bytes()
        for word in (tmp_path, ROOT, Path.home(), "site-packages", "_shipped"):
            assert str(word).encode() not in content, f"{word} in {file.name}"
    assert "kernels/transpose/h200.ncu-repz" in (work / "one.json").read_text()


def below(folder: Path) -> Diagnosis:
    """A report in a folder, of a program whose source and header are in it."""
    calls = (CallSite(f"{folder}/src/a.cu", 7, "f();"),)
    lines = tuple(replace(column_read(), file=f"{folder}/src/{name}", called_from=calls) for name in ("a.cu", "b.h"))
    launch: LaunchDiagnosis = replace(
        launch_with_advice(),
        report=f"{folder}/runs/a.ncu-rep",
        outcomes=(replace(advice_finding(), where=lines),),
    )
    return Diagnosis((launch,), (replace(diagnosis().reports[0], path=launch.report),))


@pytest.mark.parametrize("to", TEXTS)
def test_what_is_below_the_current_folder_is_named_from_there(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checks = tuple(replace(check, where=below(tmp_path).launches[0].findings[0].where) for check in gate().checks)
    for found in (None, replace(gate(), checks=checks)):
        text = output_text(below(tmp_path), found, to)
        assert isinstance(text, str)
        assert str(tmp_path) not in text


def test_a_path_elsewhere_stays_as_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("a/b.cu", "../a.cu", "/somewhere/else/a.cu", "", str(tmp_path)):
        assert shown_path(path) == path
    assert shown_path(f"{tmp_path}/a b/c.cu") == "a b/c.cu"
