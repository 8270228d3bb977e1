"""A kept diagnosis gives the same bytes as a new one in every format, and is used only where nothing has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ncuview.base import system
from ncuview.base.paths import shipped
from ncuview.base.report_files import seal
from ncuview.pipeline import diagnosis_cache
from ncuview.pipeline.diagnosis_cache import Request, inputs_of, kept
from ncuview.pipeline.examine import Examined, examine
from ncuview.profiling import machine
from ncuview.records.profile import Failure
from ncuview.render.outputs import FORMATS
from tests.command_line import DIVERGENCE, RECORDED, ROOT, Ended, environment, ncuview
from tests.profiles import stored_profiles

USED = "diagnosis of an earlier run is used"
KERNEL = "transposeCoalesced"
CUDA = "__global__ void saxpy() {}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a folder for answers and a report."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.chdir(tmp_path)
    system.leave_out.cache_clear()  # what an earlier test left out would keep every answer from being kept
    shutil.copy(RECORDED, tmp_path / "r.ncu-repz")
    return tmp_path


REPORT = Request(("r.ncu-repz",), kernel_name=KERNEL)


def examined(request: Request) -> Examined:
    with stored_profiles():
        return examine(
            *request.targets,
            live=request.live,
            kernel_name=request.kernel_name,
            source_folders=request.source_folders,
        )


@pytest.fixture
def answer(here: Path) -> Examined:
    """The diagnosis of the report, which is kept."""
    entry = kept(REPORT)
    assert entry
    assert entry.read() is None
    found = examined(REPORT)
    entry.write(found, None)
    assert repr(read(REPORT)) == repr(found.diagnosis)
    return found


def read(request: Request) -> Any:
    entry = kept(request)
    return entry.read() if entry else None


# Output


def outputs(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "forms"),
    [
        ([KERNEL, "--recorded"], set(FORMATS) - {"html"}),
        (["reduce_v1", "--recorded", "--select", "SMEM"], {"terminal", "sarif", "json"}),
        ([RECORDED], {"terminal", "json", "csv"}),
        (["divergence", "--recorded"], {"terminal", "json"}),
        ([RECORDED, DIVERGENCE, "-k", "regex:transpose|diverg"], {"terminal", "markdown"}),
    ],
)
def test_a_kept_answer_gives_the_same_bytes(tmp_path: Path, words: list[str], forms: set[str]) -> None:
    runs: list[tuple[Ended, dict[str, bytes]]] = []
    for number, option in enumerate(("--no-cache", "", "")):
        folder = tmp_path / str(number)
        folder.mkdir()
        to = [word for form in sorted(forms) for word in ("-o", f"{form}:{folder / form}")]
        command = ["--log-level", "info", "analyze", *words, *to, *filter(None, [option])]
        runs.append((ncuview(*command, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache")), outputs(folder)))
    (none, first_files), (made, _), (used, files) = runs
    assert (none.code, none.out, first_files) == (made.code, made.out, runs[1][1]) == (used.code, used.out, files)
    assert len(files) == len(forms)
    assert [USED in run.err for run, _ in runs] == [False, False, True]


@pytest.mark.checkout
def test_patches_are_the_same_and_read_the_sources_of_the_report_again(tmp_path: Path) -> None:
    words = ["--log-level", "info", "analyze", KERNEL, "--recorded", "--diff"]
    none, made, used = (
        ncuview(*words, *option, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
        for option in (["--no-cache"], [], [])
    )
    assert none.out
    assert (none.code, none.out) == (made.code, made.out) == (used.code, used.out)
    assert USED not in used.err


def test_html_shows_all_lines_and_so_reads_the_report_again(tmp_path: Path) -> None:
    words = ["--log-level", "info", "analyze", KERNEL, "--recorded", "-o", "page.html"]
    pages = []
    for _ in range(2):
        run = ncuview(*words, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert USED not in run.err
        pages.append((tmp_path / "page.html").read_bytes())
    assert pages[0] == pages[1]


def test_without_the_option_nothing_is_read_or_kept(tmp_path: Path) -> None:
    ncuview("analyze", KERNEL, "--recorded", "--no-cache", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


def test_a_kept_answer_needs_no_library_of_the_analysis(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.argv = ['ncuview', 'analyze', '{KERNEL}', '--recorded']\n"
        "from ncuview.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    variables = {**environment({}), "XDG_CACHE_HOME": str(tmp_path)}
    loaded = [
        set(
            subprocess.run(
                [sys.executable, "-c", program], env=variables, cwd=ROOT, capture_output=True, text=True, check=True
            ).stderr.split()
        )
        for _ in range(2)
    ]
    heavy = {"pandas", "numpy", "ncuview.engine.rule_file", "ncuview.catalogue.kernel_file", "tree_sitter", "re2"}
    assert heavy - {"tree_sitter", "re2"} <= loaded[0]
    assert not heavy & loaded[1]


# What a diagnosis depends on


def touch_report(here: Path, _: pytest.MonkeyPatch) -> None:
    (here / "r.ncu-repz").write_bytes((here / "r.ncu-repz").read_bytes() + b"\0")


def add_checksum(here: Path, _: pytest.MonkeyPatch) -> None:
    seal(here / "r.ncu-repz")


def other_version(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(diagnosis_cache, "VERSION", "0.0.0")


def other_python(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "version", "4")


def other_library(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(diagnosis_cache, "version", lambda name: f"{name} 99")


def _shipped_elsewhere(here: Path, patch: pytest.MonkeyPatch, name: str) -> Path:
    copy = here / "shipped" / name
    shutil.copytree(shipped(name), copy)
    patch.setattr(diagnosis_cache, "shipped", lambda each: copy if each == name else shipped(each))
    return copy


def other_rule(here: Path, patch: pytest.MonkeyPatch) -> None:
    copy = _shipped_elsewhere(here, patch, "rules")
    before = inputs_of(REPORT)
    rule = next(copy.glob("*/*.toml"))
    status = rule.stat()
    rule.write_text(rule.read_text() + "\n")
    os.utime(rule, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert inputs_of(REPORT) != before


def other_kernel(here: Path, patch: pytest.MonkeyPatch) -> None:
    copy = _shipped_elsewhere(here, patch, "kernels")
    before = inputs_of(REPORT)
    os.utime(next(copy.glob("*/*.cu")), (1, 1))
    assert inputs_of(REPORT) != before


def other_code(here: Path, patch: pytest.MonkeyPatch) -> None:
    package = here / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    patch.setattr(diagnosis_cache, "ncuview", SimpleNamespace(__file__=str(package / "__init__.py")))
    before = inputs_of(REPORT)
    (package / "gpus.toml").write_text("")
    assert inputs_of(REPORT) != before


def users_table(here: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("XDG_CONFIG_HOME", str(here))
    (here / "ncuview").mkdir()
    (here / "ncuview" / "attainable.toml").write_text("")


def pack(here: Path, patch: pytest.MonkeyPatch) -> None:
    (here / "pack" / "category").mkdir(parents=True)
    patch.setattr(diagnosis_cache, "pack_folders", lambda: (("acme = acme:rules", here / "pack"),))
    before = inputs_of(REPORT)
    (here / "pack" / "category" / "ACME001-x.toml").write_text("")
    assert inputs_of(REPORT) != before


CHANGES = [
    touch_report,
    add_checksum,
    other_version,
    other_python,
    other_library,
    other_rule,
    other_kernel,
    other_code,
    users_table,
    pack,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_it_depends_on_is_a_miss(
    answer: Examined, here: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    change(here, monkeypatch)
    assert kept(REPORT)
    assert read(REPORT) is None


@pytest.mark.parametrize(
    "other",
    [
        {"targets": ("./r.ncu-repz",)},
        {"targets": ("r.ncu-repz", "r.ncu-repz")},
        {"kernel_name": ""},
        {"source_folders": (Path("sources"),)},
        {"rules": (Path("sources"),)},
        {"select": ("SMEM",)},
        {"ignore": ("SMEM",)},
        {"mine": ("transpose",)},
    ],
)
def test_another_option_is_a_miss(answer: Examined, here: Path, other: dict[str, Any]) -> None:
    (here / "sources").mkdir()
    request = replace(REPORT, **other)
    assert kept(request)
    assert read(request) is None


def test_every_option_is_part_of_the_name(here: Path) -> None:
    assert {"targets", "live", "kernel_name", "source_folders", "rules", "select", "ignore", "mine"} == {
        *Request.__dataclass_fields__
    }


@pytest.mark.parametrize("option", ["rules", "source_folders"])
def test_what_lies_in_a_named_folder_is_part_of_the_name(here: Path, option: str) -> None:
    (here / "named" / "category").mkdir(parents=True)
    request = replace(REPORT, **{option: (Path("named"),)})  # type: ignore[arg-type]
    names = [json.dumps(inputs_of(request))]
    for name, text in (("A1.toml", "a"), ("a.cu", CUDA), ("A1.toml", "b"), ("a.cu", CUDA * 2)):
        (here / "named" / "category" / name).write_text(text)
        names.append(json.dumps(inputs_of(request)))
    assert len(set(names)) == 3  # each option looks at one of the two kinds of files


def test_recorded_profiles_depend_on_why_they_are_used(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_nvidia_smi", lambda *_: b"")
    names = [json.dumps(inputs_of(Request((KERNEL,), live=live))) for live in (None, False)]
    monkeypatch.setattr(machine, "IS_LINUX", False)
    names.append(json.dumps(inputs_of(Request((KERNEL,)))))
    assert len(set(names)) == 3


# Sources on this machine


@pytest.fixture
def source(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that the report names, with the diagnosis kept."""
    file = here / "repository" / "saxpy.cu"
    file.parent.mkdir()
    file.write_text(CUDA)
    os.utime(file, (1, 1))
    monkeypatch.setattr(diagnosis_cache, "sources_named", lambda _: {str(file), "missing.cu"})
    entry = kept(REPORT)
    assert entry
    entry.write(examined(REPORT), None)
    assert read(REPORT)
    return file


def change_content(file: Path) -> None:
    file.write_text(CUDA.replace("saxpy", "daxpy"))
    os.utime(file, (1, 1))


def change_time(file: Path) -> None:
    os.utime(file, (2, 2))


def leave_the_folder(file: Path) -> None:
    report = Path("r.ncu-repz").resolve()
    os.chdir(file.parent)
    shutil.copy(report, file.parent)


def remove(file: Path) -> None:
    file.unlink()


def replace_by_link(file: Path) -> None:
    shutil.copy2(file, file.with_name("other.cu"))
    file.unlink()
    file.symlink_to("other.cu")


def make_repository(file: Path) -> None:
    (file.parent / ".git").mkdir()


def add_the_missing(file: Path) -> None:
    Path("missing.cu").write_text(CUDA)


@pytest.mark.parametrize(
    "change", [change_content, change_time, leave_the_folder, remove, replace_by_link, make_repository, add_the_missing]
)
def test_a_changed_source_is_a_miss(source: Path, change: Callable[[Path], None]) -> None:
    change(source)
    assert read(REPORT) is None


def test_the_current_folder_matters_only_where_patches_are_relative_to_it(source: Path) -> None:
    make_repository(source)
    entry = kept(REPORT)
    assert entry
    entry.write(examined(REPORT), None)
    leave_the_folder(source)
    assert read(REPORT)


def test_the_repository_of_a_searched_folder_matters(here: Path) -> None:
    request = replace(REPORT, source_folders=(Path("named"),))
    (here / "named" / "inner").mkdir(parents=True)
    (here / "named" / "inner" / "a.cu").write_text(CUDA)
    before = inputs_of(request)
    (here / "named" / "inner" / ".git").mkdir()
    assert inputs_of(request) != before


def test_sources_are_those_that_instructions_name(answer: Examined) -> None:
    from ncuview.reader.source import sources_named

    named = sources_named(answer.profile)
    assert any(name.endswith(f"{KERNEL}.cu") for name in named)


def test_regions_of_the_users_rules_are_sources(here: Path) -> None:
    rule = SimpleNamespace(
        path=here / "pack" / "category" / "ACME001-x.toml",
        text=SimpleNamespace(fix=[SimpleNamespace(before="../own.cu#a", after="kernels/transpose/x.cu#b")]),
    )
    regions = [*diagnosis_cache._regions([rule])]  # type: ignore[list-item]
    assert regions == [str(rule.path.parent / "../own.cu")]


# What is not kept


def test_what_has_changed_since_the_start_is_not_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, found = kept(REPORT), examined(REPORT)
    (here / "late.cu").write_text(CUDA)
    monkeypatch.setattr(diagnosis_cache, "sources_named", lambda _: {"late.cu"})
    assert entry
    entry.write(found, None)
    assert read(REPORT) is None


def test_a_report_that_is_replaced_meanwhile_is_not_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, found = kept(REPORT), examined(REPORT)
    touch_report(here, monkeypatch)
    assert entry
    entry.write(found, None)
    assert not (here / "cache").exists()


def test_incomplete_answers_and_those_with_a_warning_are_not_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, found = kept(REPORT), examined(REPORT)
    assert entry
    failed = replace(found.diagnosis, failure=Failure("ReportDamaged", "damaged", "", 3))
    entry.write(replace(found, diagnosis=failed), None)
    monkeypatch.setattr(diagnosis_cache, "left_out", lambda: True)
    entry.write(found, None)
    assert read(REPORT) is None


def test_what_is_left_out_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    system.leave_out.cache_clear()
    assert not system.left_out()
    system.leave_out("a test", "None.")
    assert system.left_out()
    system.leave_out.cache_clear()


@pytest.mark.parametrize(
    "request_",
    [
        Request((KERNEL,), live=True),
        Request(("r.ncu-repz",), live=False),
        Request(("missing.ncu-rep",)),
        Request((".",), source_folders=(Path("missing"),)),
        Request(("pipe",)),
    ],
)
def test_what_cannot_be_kept_has_no_entry(here: Path, request_: Request) -> None:
    os.mkfifo("pipe")
    assert kept(request_) is None


def test_where_a_gpu_may_be_nothing_is_asked_and_nothing_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(machine, "_nvidia_smi", lambda *_: pytest.fail("it takes a second"))
    assert kept(Request((KERNEL,))) is None
    assert kept(Request((KERNEL,), live=False))


def test_large_reports_are_not_hashed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis_cache, "LARGEST_REPORTS", 1000)
    assert kept(REPORT) is None


def test_root_keeps_nothing_in_the_home_of_who_called_sudo(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1000")
    assert kept(REPORT) is None


@pytest.mark.parametrize("broken", [b"", b"{}", b"[]\n[]", b"[[1]]\n[]", b"[]\n" + b"[" * 100_000])
def test_a_broken_entry_is_judged_again(answer: Examined, here: Path, broken: bytes) -> None:
    entry = kept(REPORT)
    assert entry
    entry._folder.write(entry._name, broken)
    assert read(REPORT) is None
    entry.write(answer, None)
    assert read(REPORT)
