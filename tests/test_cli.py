"""The command line as users meet it: a process with exit code, standard output and standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ncuview import __version__
from ncuview.base.paths import shipped
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES
from ncuview.reader.precheck import read_report
from ncuview.reader.scrub import scrub
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.document import as_json
from tests.render.schema import problems
from tests.warm import run_warm, starts_python_differently

ROOT = Path(__file__).resolve().parents[1]
RECORDED = shipped("kernels") / "transpose" / "h200.ncu-repz"
CALIBRATION = shipped("kernels") / "calibration" / "h200.ncu-repz"
DIVERGENCE = shipped("kernels") / "divergence" / "h200.ncu-repz"
RULE = shipped("rules") / "shared_memory" / "SMEM001-shared-bank-conflict.toml"
PATIENCE_S = 240
LEAVE = {"COLUMNS", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "FORCE_COLOR", "NO_COLOR", "PYTHONIOENCODING", "TERM"}
MAIN = "from ncuview.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    """What a run left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def environment(more: dict[str, str], path: Path = ROOT / "no-such-folder") -> dict[str, str]:
    """This process's, without what changes the output, and with no program on PATH but those in a folder."""
    kept = {name: value for name, value in os.environ.items() if name not in LEAVE}
    search = os.pathsep.join(filter(None, [more.get("PYTHONPATH", ""), str(ROOT)]))
    return {**kept, **more, "PATH": str(path), "PYTHONPATH": search}


def ncuview(
    *args: str | Path, before: str = "", path: Path = ROOT / "no-such-folder", cwd: Path | None = None, **env: str
) -> Ended:
    """Run ncuview on a machine without GPU; ``before`` is Python that runs first, to change what it finds."""
    variables = environment(env, path)
    if starts_python_differently(env):
        program = ["-c", f"{before}\n{MAIN}"] if before else ["-m", "ncuview"]
        done = subprocess.run(
            [sys.executable, *program, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=variables,
            cwd=cwd,
            timeout=PATIENCE_S,
            check=False,
        )
    else:
        done = run_warm(list(map(str, args)), before, variables, cwd, PATIENCE_S)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_failed(ended: Ended, code: int, *says: str) -> None:
    """It left with this code, wrote nothing to standard output, and named the error in plain words."""
    assert ended.code == code, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert "Warning" not in ended.err
    for part in says:
        assert part in ended.err


# What the user typed


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["analyze", "transposeCoalesd"], ["transposeCoalesd", "Did you mean transposeCoalesced", "ncuview kernels"]),
        (["analyze", "nothing-like-it"], ["'nothing-like-it'", "ncuview kernels"]),
        (["analyze", "transposeNaive", "transposeCoalesced"], ["either reports or the name of one kernel"]),
        (["analyze", RECORDED, "--live"], ["--live", "not for reports"]),
        (["analyze", RECORDED, "--kernel-name", "regex:("], ["regex:("]),
        (["analyze", "transposeNaive", "--kernel-name", "copy"], ["--kernel-name", "reports"]),
        (["analyze", RECORDED, "--recorded"], ["--recorded", "not for reports"]),
        (["analyze", "transposeNaive", "--output", "x.pdf"], ["x.pdf", ".json", ".txt", "gitlab:FILE"]),
        (["analyze", "transposeNaive", "--output", "/no/such/folder/x.json"], ["/no/such/folder/x.json", "folder"]),
        (["analyze", "transposeNaive", "--rules", "/no/such/folder"], ["/no/such/folder"]),
        (["analyze", "transposeNaive", "--format", "xml"], ["--format", "xml"]),
        (["analyze"], ["nothing to analyze"]),
        (["ladder", "transpos"], ["'transpos'", "transpose"]),
        (["ladder", "../transpose"], ["'../transpose'"]),
        (["ladder", "matmull"], ["Did you mean matmul?"]),
        (["explain", "SMEM999"], ["'SMEM999'", "ncuview rules"]),
        (["explain", "SMEM01"], ["Did you mean SMEM001"]),
        (["explain", "shared_memory_padding"], ["shared_memory_padding is what SMEM001 shared-bank-conflict advises"]),
        (["analyze", "copy", "--select", "shared-bank-conflicts"], ["Did you mean shared-bank-conflict"]),
        (["analyze", "copy", "--format", "jsn"], ["Did you mean json?"]),
        (["analyze", "nothing.cu"], ["nothing.cu", "Check its path"]),
        (["metrics", "exected"], ["Did you mean executed"]),
        (["metrics", "gld_eficiency"], ["'gld_eficiency'", "Did you mean gld_efficiency"]),
        (["rules", "check", "/no/such/folder"], ["/no/such/folder"]),
        (["rules", "--rules", "/no/such/folder"], ["/no/such/folder"]),
        (["scrub", RECORDED], ["OUT"]),
        (["scrub", RECORDED, "/no/such/folder/x.ncu-rep"], ["/no/such/folder/x.ncu-rep"]),
        (["--no-such-option"], ["--no-such-option"]),
        (["no-such-command"], ["no-such-command"]),
        ([], ["Usage", "analyze", "ladder"]),
    ],
    ids=lambda value: " ".join(Path(part).name for part in value) if value and value[0] != "TARGET" else None,
)
def test_a_wrong_command_line_leaves_with_2_and_says_what_is_wrong(args: list[str], says: list[str]) -> None:
    assert_failed(ncuview(*args), 2, *says)


def test_escape_codes_of_an_argument_do_not_reach_the_terminal() -> None:
    ended = ncuview("analyze", "\x1b]0;owned\x07\udcff")
    assert_failed(ended, 2, "\\x1b]0;owned\\x07\\udcff")
    assert "\x1b" not in ended.err


def test_nor_do_those_of_an_option() -> None:
    ended = ncuview("--\x1b[2J")
    assert_failed(ended, 2, "No such option: --\\x1b[2J")
    assert "\x1b" not in ended.err


def test_a_rule_folder_without_rules_is_not_taken_for_a_good_one(tmp_path: Path) -> None:
    assert_failed(ncuview("rules", "check", tmp_path), 2, str(tmp_path), "<category>/<CODE>-<name>.toml")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("summary = ", "sumary = ", "summary"),
        ('optimization = "shared_memory_padding"', 'optimization = "overclocking"', "optimization"),
        (
            '"ways >= threshold.ways"',
            "\"__import__('os').getpid()\"",
            "evidence.when",
        ),
        ("schema = 2", "schema =", "TOML"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named_with_its_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    rule = tmp_path / "mine" / RULE.name
    rule.parent.mkdir()
    text = RULE.read_text(encoding="utf-8")
    assert old in text
    rule.write_text(text.replace(old, new), encoding="utf-8")
    assert_failed(ncuview("rules", "check", tmp_path), 2, str(rule), key)


def test_a_rule_of_the_user_that_takes_a_shipped_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    shutil.copy(RULE, tmp_path / "mine")
    ended = ncuview("analyze", "transposeNaive", "--rules", tmp_path)
    assert_failed(ended, 2, "SMEM001", str(tmp_path / "mine" / RULE.name), str(RULE))


# Reports without usable data


def complete_report() -> bytes:
    return read_report(DIVERGENCE)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def write(path: Path, content: Callable[[], bytes]) -> None:
    path.write_bytes(content())


BAD_REPORTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "does not exist"),
    "empty": (Path.touch, "is empty"),
    "random bytes": (partial(write, content=lambda: bytes(range(256)) * 40), "not an Nsight Compute report"),
    "text": (partial(write, content=lambda: b"Hello\n"), "not an Nsight Compute report"),
    "folder": (Path.mkdir, "holds no report"),
    "pipe without writer": (make_pipe, "a pipe or device"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "a pipe or device"),
    "header only": (partial(write, content=lambda: complete_report()[:4]), "damaged"),
}
PARTIAL_REPORTS: dict[str, tuple[Callable[[], bytes], int]] = {
    "cut after a quarter": (lambda: complete_report()[: len(complete_report()) // 4], 2),
    "cut in the middle": (lambda: complete_report()[: len(complete_report()) // 2], 7),
    "last byte missing": (lambda: complete_report()[:-1], 14),
    "one byte more": (lambda: complete_report() + b"\n", 15),
    "two reports joined": (lambda: complete_report() * 2, 15),
}
"""What each holds, and how many of its launches are complete."""


@pytest.mark.parametrize(("make", "says"), BAD_REPORTS.values(), ids=BAD_REPORTS)
def test_a_bad_report_leaves_with_3(tmp_path: Path, make: Callable[[Path], object], says: str) -> None:
    report = tmp_path / "bad.ncu-rep"
    make(report)
    ended = ncuview("analyze", report)
    assert_failed(ended, 3, str(report), says)
    assert ended.err.count("\n") == 2, "a message and a hint"


@pytest.mark.parametrize(("content", "complete"), PARTIAL_REPORTS.values(), ids=PARTIAL_REPORTS)
def test_the_complete_launches_of_a_partial_report_are_shown_and_it_exits_with_3(
    tmp_path: Path, content: Callable[[], bytes], complete: int
) -> None:
    report, answer = tmp_path / "bad.ncu-rep", tmp_path / "answer.json"
    report.write_bytes(content())
    ended = ncuview("analyze", report, "--output", answer)
    assert f"Incomplete: {report}" in " ".join(" ".join(ended.out.splitlines()[:3]).split())
    assert f"launches 0 to {complete - 1} were read" in ended.err
    assert [launch["index"] for launch in json.loads(answer.read_text())["launches"]] == list(range(complete))
    assert_failed(replace(ended, out=""), 3, str(report), "damaged")
    assert ended.err.removeprefix(f"{answer}: written\n").count("\n") == 2, "a message and a hint"


def test_one_bad_report_among_good_ones_is_not_passed_over(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(complete_report()[:-1])
    ended = ncuview("analyze", DIVERGENCE, bad)
    assert "Incomplete: " in ended.out
    assert_failed(replace(ended, out=""), 3, str(bad))


def test_a_kernel_that_a_report_does_not_hold_is_no_empty_answer() -> None:
    assert_failed(ncuview("analyze", DIVERGENCE, "--kernel-name", "nothing"), 3, "'nothing'", "divergentWithinWarp")


def test_a_bad_report_is_not_scrubbed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.ncu-rep", tmp_path / "good.ncu-rep"
    bad.write_bytes(complete_report()[:-1])
    assert_failed(ncuview("scrub", bad, target), 3, str(bad))
    assert not target.exists()


# Reports with too few metrics


def scrubbed_to(path: Path, *names: str) -> Path:
    scrub(DIVERGENCE, path, keep=lambda name: name.startswith(names))
    return path


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, str]:
    """A report that only has the times, as JSON and as a page."""
    folder = tmp_path_factory.mktemp("poor")
    report = scrubbed_to(folder / "poor.ncu-rep", "gpu__time_duration.sum", "launch__", "device__")
    ended = ncuview("analyze", report, "--format", "json", "--output", folder / "page.txt")
    return ended, (folder / "page.txt").read_text(encoding="utf-8")


def test_missing_metrics_are_no_error_but_skip_the_rules_that_need_them(poor: tuple[Ended, str]) -> None:
    ended, _ = poor
    assert ended.code == 0
    assert re.fullmatch(r"\S+page.txt: written\n", ended.err)
    for launch in ended.document["launches"]:
        skipped = [outcome for outcome in launch["outcomes"] if outcome["outcome"] == "skipped"]
        assert len(skipped) > 5
        assert all(f"ncu --metrics {','.join(outcome['missing'])}" in outcome["message"] for outcome in skipped)
        assert all(outcome["missing"] for outcome in skipped)


def test_missing_metrics_are_never_a_finding_or_a_verdict(poor: tuple[Ended, str]) -> None:
    for launch in poor[0].document["launches"]:
        assert launch["verdict"] == "not-judged"
        assert "finding" not in {outcome["outcome"] for outcome in launch["outcomes"]}


def test_the_document_of_a_poor_report_is_valid_too(poor: tuple[Ended, str]) -> None:
    assert_valid(poor[0].document)


def test_the_page_names_the_command_that_collects_what_is_missing(poor: tuple[Ended, str]) -> None:
    assert 'Collect them with: ncu --import-source yes --metrics "$(ncuview rules --metrics)"' in " ".join(
        poor[1].split()
    )


def test_a_report_without_times_says_so_instead_of_failing(tmp_path: Path) -> None:
    report = scrubbed_to(tmp_path / "timeless.ncu-rep", "launch__", "device__")
    ended = ncuview("analyze", report, "--format", "json", "--output", tmp_path / "page.txt")
    assert (ended.code, ended.err) == (0, f"{tmp_path / 'page.txt'}: written\n")
    assert_valid(ended.document)
    assert all(launch["duration_ns"] is None for launch in ended.document["launches"])
    page = (tmp_path / "page.txt").read_text(encoding="utf-8")
    assert "nan" not in page
    assert "unknown" in page


# Machines that cannot profile

SMI = "<nvidia_smi_log><gpu><product_name>NVIDIA H200</product_name><uuid>GPU-0</uuid></gpu></nvidia_smi_log>"
BARE = """
from pathlib import Path
import sys
from ncuview.profiling import machine
machine._NSIGHT_COMPUTE = machine._CUDA = Path("/no/such/folder")
sys.modules["pycuda"] = None
"""
"""The machine has nothing that is not on PATH, and no PyCUDA."""


def install(folder: Path, *programs: str) -> Path:
    for program in programs:
        file = folder / program
        file.write_text(f"#!/bin/sh\necho '{SMI if program == 'nvidia-smi' else 'Version 2025.3.1'}'\n")
        file.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("programs", "says"),
    [
        ((), ["NVIDIA GPU", "nvidia-smi", "recorded profiles need no GPU"]),
        (("nvidia-smi",), ["Nsight Compute", "Install Nsight Compute"]),
        (("nvidia-smi", "ncu"), ["nvcc", "CUDA_HOME"]),
        (("nvidia-smi", "ncu", "nvcc"), ["PyCUDA", "pip install 'ncuview[gpu]'"]),
    ],
    ids=["no GPU", "no ncu", "no nvcc", "no PyCUDA"],
)
@pytest.mark.parametrize(
    "command",
    [("analyze", "transposeNaive", "--live"), ("ladder", "divergence", "--live"), ("calibrate",)],
    ids=lambda args: args[0],
)
def test_live_without_what_it_needs_leaves_with_5_and_says_what_to_install(
    tmp_path: Path, command: tuple[str, ...], programs: tuple[str, ...], says: list[str]
) -> None:
    path = install(tmp_path, *programs)
    assert_failed(ncuview(*command, before=BARE, path=path, XDG_CONFIG_HOME=str(tmp_path)), 5, *says)


def test_without_live_the_recorded_profile_says_what_is_missing(tmp_path: Path) -> None:
    path = install(tmp_path, "nvidia-smi", "ncu", "nvcc")
    ended = ncuview("analyze", "divergentWithinWarp", "--format", "json", before=BARE, path=path)
    assert ended.code == 0
    assert "PyCUDA" in ended.document["remark"]
    assert ended.document["launches"][0]["source"] == "recorded"


# The user's own table


def test_a_calibration_is_printed_saved_and_used(tmp_path: Path) -> None:
    table = tmp_path / "ncuview" / "attainable.toml"
    before = ncuview("analyze", "transposeCoalesced", "--recorded", XDG_CONFIG_HOME=str(tmp_path))
    ended = ncuview("calibrate", "--from", CALIBRATION, "--from", RECORDED, XDG_CONFIG_HOME=str(tmp_path))
    assert ended.code == 0
    assert ended.out.startswith("NVIDIA H200, measured 2026-11-21, ncu 2025.3.1\n")
    assert re.search(r"^l1_data +0\.881 +0\.996 +1\.000 +sharedWavefronts$", ended.out, re.MULTILINE)
    assert re.search(r"^tex .* not measured: no kernel of the catalogue saturates it$", ended.out, re.MULTILINE)
    assert re.search(r"^launch_ns +1664 +emptyKernel$", ended.out, re.MULTILINE)
    assert ended.err == f"{table}: written, for NVIDIA H200\n"
    assert 'NVIDIA H200"]' in table.read_text(encoding="utf-8")
    after = ncuview("analyze", "transposeCoalesced", "--recorded", XDG_CONFIG_HOME=str(tmp_path))
    assert (before.code, after.code) == (0, 0)
    assert before.out != after.out


def test_a_calibration_can_be_written_elsewhere(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    ended = ncuview("calibrate", "--from", CALIBRATION, "--output", table, XDG_CONFIG_HOME=str(tmp_path))
    assert ended.code == 0
    assert list(tmp_path.iterdir()) == [table]


def test_a_table_that_cannot_be_used_leaves_with_2_wherever_it_counts(tmp_path: Path) -> None:
    table = tmp_path / "ncuview" / "attainable.toml"
    table.parent.mkdir()
    table.write_text("[GPU]\ndram = { low = 0.5, best = 7.0, high = 1.0 }\n", encoding="utf-8")
    for command in (["analyze", "divergentWithinWarp", "--recorded"], ["calibrate", "--from", CALIBRATION]):
        ended = ncuview(*command, XDG_CONFIG_HOME=str(tmp_path))
        assert_failed(ended, 2, str(table), "GPU.dram.best", "ncuview calibrate")
    assert ncuview("kernels", XDG_CONFIG_HOME=str(tmp_path)).code == 0


def test_a_table_that_cannot_be_written_leaves_with_2() -> None:
    ended = ncuview("calibrate", "--from", CALIBRATION, XDG_CONFIG_HOME="/dev/null")
    assert_failed(ended, 2, "/dev/null/ncuview/attainable.toml cannot be written", "--output")


def test_a_report_that_shows_nothing_of_what_is_attainable_leaves_with_3(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    assert_failed(ncuview("calibrate", "--from", DIVERGENCE, "--output", table), 3, "NVIDIA H200", "dramRead")
    assert_failed(ncuview("calibrate", "--from", tmp_path / "none.ncu-rep", "--output", table), 3, "none.ncu-rep")
    assert not table.exists()


# Ends that are not ours to choose


def closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_a_reader_that_has_gone_ends_the_run_silently() -> None:
    pipe = closed_pipe()
    done = subprocess.run(
        [sys.executable, "-m", "ncuview", "rules"],
        stdout=pipe,
        stderr=subprocess.PIPE,
        env=environment({}),
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(pipe)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("word", ["rules", "--help"])
def test_a_full_disk_is_no_bug_of_ours(word: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ncuview", word],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment({}),
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"ncuview: standard output cannot be written: No space left on device\n"


@pytest.mark.checkout  # in the folder of an installed ncuview is NVIDIA's reader, which the child then finds first
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_a_signal_ends_the_run_and_the_child_that_reads_the_report(tmp_path: Path, sent: signal.Signals) -> None:
    ready = tmp_path / "ready"
    # In place of NVIDIA's reader, something that never ends.
    (tmp_path / "ncu_report.py").write_text(
        "import os, time\n"
        f"with open({str(ready) + '.part'!r}, 'w') as file:\n    file.write(str(os.getpid()))\n"
        f"os.rename(file.name, {str(ready)!r})\n"
        "time.sleep(600)\n"
    )
    # A shell starts background jobs, and so perhaps these tests, deaf to SIGINT.
    hearing = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    with subprocess.Popen(
        [sys.executable, "-c", hearing, "analyze", DIVERGENCE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONPATH": str(tmp_path)}),
    ) as running:
        try:
            wait_for(ready.exists)
            child = int(ready.read_text())
            running.send_signal(sent)
            out, err = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    said = {signal.SIGINT: b"ncuview: interrupted\n", signal.SIGTERM: b"ncuview: terminated\n"}[sent]
    assert (running.returncode, out, err) == (128 + sent, b"", said)
    wait_for(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_signal_in_a_callback_whose_exceptions_python_drops_ends_the_run_all_the_same(sent: str) -> None:
    code = (
        "import signal, time, weakref, ncuview.api\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def load_rules(*_):\n"
        "    thing = type('Thing', (), {})()\n"
        f"    seen = weakref.ref(thing, lambda _: signal.raise_signal(signal.{sent}))\n"
        "    del thing\n"
        "    time.sleep(60)\n"
        "ncuview.api.load_rules = load_rules"
    )
    ended = ncuview("rules", before=code)
    said = {"SIGINT": "interrupted", "SIGTERM": "terminated"}[sent]
    assert (ended.code, ended.out, ended.err) == (128 + signal.Signals[sent], "", f"ncuview: {said}\n")


def test_other_exceptions_that_python_drops_are_shown() -> None:
    code = (
        "import weakref, ncuview.api\n"
        "def load_rules(*_):\n"
        "    thing = type('Thing', (), {})()\n"
        "    seen = weakref.ref(thing, lambda _: 1 / 0)\n"
        "    del thing\n"
        "    return ()\n"
        "ncuview.api.load_rules = load_rules"
    )
    ended = ncuview("rules", before=code)
    assert ended.code == 0
    assert "ZeroDivisionError" in ended.err


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_full_disk_elsewhere_is_not_blamed_on_standard_output() -> None:
    broken = "import ncuview.api\ndef load_rules(*_): raise OSError(28, 'No space left on device')\n"
    ended = ncuview("rules", before=f"{broken}ncuview.api.load_rules = load_rules")
    assert ended.code == 70
    assert "standard output" not in ended.err


def test_a_bug_of_ours_leaves_with_70_and_asks_for_a_report() -> None:
    broken = "import ncuview.api\ndef load_rules(*_): raise ZeroDivisionError('boom \\x1b[2J')\n"
    ended = ncuview("rules", before=f"{broken}ncuview.api.load_rules = load_rules")
    assert (ended.code, ended.out) == (70, "")
    assert "Traceback" in ended.err
    assert "\x1b" not in ended.err
    *_, what, hint = ended.err.splitlines()
    assert what.startswith("ncuview: internal error: ZeroDivisionError: ")
    assert "boom \\x1b[2J" in what
    assert "please report it" in hint


# Answers


def assert_valid(document: Any) -> None:
    assert not problems(document)


@dataclass(frozen=True)
class Answers:
    """One run that answers in three ways."""

    ended: Ended
    json_file: str
    page: str


@pytest.fixture(scope="module")
def coalesced(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("coalesced")
    outputs = (folder / "a.json", folder / "b.txt")
    ended = ncuview(
        "analyze", "transposeCoalesced", "--format", "json", "--output", outputs[0], "-o", outputs[1], cwd=folder
    )
    assert (ended.code, ended.err) == (0, "".join(f"{output}: written\n" for output in outputs))
    return Answers(ended, *(output.read_text(encoding="utf-8") for output in outputs))


def test_the_document_of_a_kernel_is_as_the_schema_says(coalesced: Answers) -> None:
    assert_valid(coalesced.ended.document)


def test_the_first_advice_for_the_textbook_s_kernel_is_the_textbook_s(coalesced: Answers) -> None:
    launch = coalesced.ended.document["launches"][0]
    assert (launch["kernel"], launch["source"], launch["verdict"]) == ("transposeCoalesced", "recorded", "advice")
    first = launch["findings"][0]
    assert (first["rank"], first["optimization"]) == (1, "shared_memory_padding")
    assert first["predicted_speedup"]["low"] <= first["predicted_speedup"]["best"] <= first["predicted_speedup"]["high"]
    assert first["where"][0]["file"].endswith("transposeCoalesced.cu")


def test_a_document_says_why_the_profile_is_a_recorded_one(coalesced: Answers) -> None:
    assert "NVIDIA GPU" in coalesced.ended.document["remark"]


def test_output_files_hold_what_their_ending_says(coalesced: Answers) -> None:
    assert coalesced.json_file == coalesced.ended.out
    assert coalesced.page.startswith("recorded profile: NVIDIA H200, ")
    assert "Pad the tile by one column" in coalesced.page
    assert "\x1b" not in coalesced.page


def test_a_page_printed_into_a_pipe_is_the_page_of_the_file_without_color(coalesced: Answers) -> None:
    ended = ncuview("analyze", "transposeCoalesced", FORCE_COLOR="1", TERM="xterm-256color")
    assert (ended.code, ended.out, ended.err) == (0, coalesced.page, "")


def on_a_terminal(*args: str, **env: str) -> str:
    """What ncuview prints on a terminal."""
    ours, its = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ncuview", *args], stdin=subprocess.DEVNULL, stdout=its, env=environment(env)
    ) as running:
        os.close(its)
        printed = b""
        try:
            while part := os.read(ours, 65536):
                printed += part
        except OSError:
            pass  # that is how Linux says that the other side has been closed
        os.close(ours)
    assert running.returncode == 0
    return printed.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def colored() -> str:
    return on_a_terminal("analyze", "divergentWithinWarp", TERM="xterm-256color", COLUMNS="70")


def test_on_a_terminal_there_is_color(colored: str) -> None:
    assert "\x1b[1" in colored


@pytest.mark.parametrize("env", [{"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}], ids=min)
def test_color_can_be_switched_off_and_nothing_else_changes(colored: str, env: dict[str, str]) -> None:
    plain = on_a_terminal("analyze", "divergentWithinWarp", COLUMNS="70", **env)
    assert "\x1b" not in plain
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")] == plain.split("\n")


def test_with_only_errors_in_the_log_a_written_file_is_not_named(tmp_path: Path) -> None:
    ended = ncuview("--log-level", "error", "analyze", DIVERGENCE, "-o", tmp_path / "page.html")
    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "page.html").exists()


def test_letters_that_a_terminal_cannot_show_do_not_stop_a_page() -> None:
    ended = ncuview("explain", "SMEM001", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.err) == (0, "")
    assert "Filipovi\\u010d" in ended.out


def test_two_reports_are_one_document_and_a_scrubbed_copy_says_the_same(tmp_path: Path) -> None:
    copy = tmp_path / "copy.ncu-rep"
    scrubbed = ncuview("scrub", DIVERGENCE, copy)
    assert (scrubbed.code, scrubbed.out) == (0, "")
    ended = ncuview("analyze", DIVERGENCE, copy, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert_valid(document)
    assert [report["path"] for report in document["reports"]] == [str(DIVERGENCE), str(copy)]
    assert {launch.pop("source") for launch in document["launches"]} == {"report"}
    of = {
        path: [launch for launch in document["launches"] if launch["report"] == str(path)]
        for path in (DIVERGENCE, copy)
    }
    for launch in document["launches"]:
        del launch["report"]
    assert of[DIVERGENCE]
    assert of[DIVERGENCE] == of[copy]


def test_a_kernel_is_chosen_by_name_or_pattern() -> None:
    for name in ("divergentWithinWarp", "regex:.*WithinWarp$"):
        launches = ncuview("analyze", DIVERGENCE, "--kernel-name", name, "--format", "json").document["launches"]
        assert {launch["kernel"] for launch in launches} == {"divergentWithinWarp"}


def test_a_ladder_is_a_document_with_prediction_and_measurement_for_each_step() -> None:
    ended = ncuview("ladder", "transpose", "--recorded", "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert (document["schema"], document["family"]) == ("ncuview.ladder/2", "transpose")
    assert [step["number"] for step in document["steps"]] == sorted(step["number"] for step in document["steps"])
    by_name = {step["kernel"]: step for step in document["steps"]}
    step = by_name["transposeCoalesced"]
    assert step["better"] == "transposeNoBankConflicts"
    assert step["measured_speedup"] > 1.1
    assert by_name["transposeNoBankConflicts"]["launch"]["verdict"] == "near-peak"
    assert_valid(diagnosis_of(document))


def diagnosis_of(ladder: Any) -> dict[str, Any]:
    launches = [step["launch"] for step in ladder["steps"]]
    empty = json.loads(as_json(Diagnosis((), ())))
    return {**empty, "reports": ladder["reports"], "launches": launches}


def test_a_ladder_is_a_page_too() -> None:
    ended = ncuview("ladder", "divergence")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("recorded profile: NVIDIA H200")
    assert "divergentWithinWarp" in ended.out


@pytest.mark.parametrize(
    ("command", "version", "member"), [("kernels", 1, "transposeCoalesced"), ("rules", 2, "shared-bank-conflict")]
)
def test_lists_are_for_people_and_for_programs(command: str, version: int, member: str) -> None:
    page, document = ncuview(command), ncuview(command, "--format", "json")
    assert (page.code, page.err, document.code, document.err) == (0, "", 0, "")
    assert member in page.out
    assert document.document["schema"] == f"ncuview.{command}/{version}"
    names = [entry["name"] for entry in document.document[command]]
    assert member in names
    assert len(page.out.splitlines()) > len(names)


def test_the_shipped_rules_are_right() -> None:
    ended = ncuview("rules", "check", shipped("rules"))
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    rules = [
        line for line in lines if re.fullmatch(r"[A-Z]+\d{3}  [a-z0-9-]+: (shipped|draft), \d+ examples hold", line)
    ]
    assert len(rules) == len(list(shipped("rules").glob("*/*.toml")))
    assert all(line.startswith("    to ship: ") for line in lines if line not in rules), "of drafts"


def test_a_rule_is_explained_by_code_and_by_name_in_any_case() -> None:
    pages = [ncuview("explain", rule) for rule in ("SMEM001", "shared-bank-conflict", "smem001")]
    assert [(page.code, page.err) for page in pages] == [(0, "")] * 3
    assert pages[0].out.startswith("SMEM001 shared-bank-conflict: shared_memory_padding\n")
    assert len({page.out for page in pages}) == 1


def test_a_metric_of_the_textbooks_is_defined() -> None:
    ended = ncuview("metrics", "gld_efficiency")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("gld_efficiency (nvprof metric)\n")
    assert "Computed from:" in ended.out


def test_all_metrics_are_listed() -> None:
    ended = ncuview("metrics")
    assert (ended.code, ended.err) == (0, "")
    assert len(re.findall(r"^\w+ \(", ended.out, re.MULTILINE)) > 100


def test_a_quantity_of_rules_is_defined_and_a_short_name_too() -> None:
    ended = ncuview("metrics", "own_waits")
    assert (ended.code, ended.err) == (0, "")
    assert "waits_for_loads" in ended.out
    assert "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct" in ended.out
    assert ncuview("metrics", "l1_load_hit_pct").out.startswith("l1_load_hit_pct: l1tex__")
    assert_failed(ncuview("metrics", "own_wait"), 2, "own_waits")


def test_metrics_of_instructions_and_names_that_nvprof_has_too_are_answered() -> None:
    assert ncuview("metrics", "samples_wait").out.startswith(
        "samples_wait: smsp__pcsamp_warps_issue_stalled_wait, of each"
    )
    assert_failed(ncuview("metrics", "sampels_wait"), 2, "samples_wait")
    both = ncuview("metrics", "stall_wait").out
    assert both.startswith("stall_wait (ncuview)\n")
    assert "\n\nstall_wait, a quantity that rules read\n" in both
    assert "is divided by the sum over all 19 reasons" in both


def test_all_quantities_are_listed() -> None:
    ended = ncuview("metrics", "--quantities")
    assert (ended.code, ended.err) == (0, "")
    assert all(f"{name} (" in ended.out or f"{name}:" in ended.out for name in QUANTITIES)
    assert all(f"\n{name}: {metric}" in ended.out for name, metric in OF_INSTRUCTIONS.items())


def test_the_version_is_printed() -> None:
    ended = ncuview("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"ncuview {__version__}\n", "")


HELP = [
    [],
    ["analyze"],
    ["check"],
    ["diff"],
    ["report"],
    ["ladder"],
    ["calibrate"],
    ["doctor"],
    ["kernels"],
    ["rules"],
    ["rules", "check"],
    ["explain"],
    ["metrics"],
    ["scrub"],
]


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_every_command_has_help(command: list[str]) -> None:
    ended = ncuview(*command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Usage: ")


def test_help_names_every_command() -> None:
    listed = set(re.findall(r"^  (\w+)  ", ncuview("--help").out.partition("Commands:")[2], re.MULTILINE))
    assert listed == {command[0] for command in HELP if command}


PROGRAM_22 = ROOT / "validation" / "h200" / "p022.ncu-repz"
SOURCE_22 = ROOT / "validation" / "programs" / "p022-permute-tensor-dimensions.cu"


@pytest.mark.validation
def test_diff_prints_a_patch_and_nothing_else(tmp_path: Path) -> None:
    shutil.copy(SOURCE_22, tmp_path / "p22.cu")  # its name when it was recorded
    ended = ncuview("analyze", PROGRAM_22, "-k", "k22b", "--source-folders", tmp_path, "--diff")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("--- a/")
    assert "+    __shared__ float tile[TILE][TILE + 1];\n" in ended.out


@pytest.mark.validation
def test_diff_says_for_which_kernel_there_is_none() -> None:
    ended = ncuview("analyze", PROGRAM_22, "-k", "k22b", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert "k22b: its source is not on this machine" in ended.err


def test_diff_gives_one_hint_for_all_kernels_without_source() -> None:
    ended = ncuview("analyze", RECORDED, "-k", "regex:^transpose(Naive|Coalesced)$", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.count("its source is not on this machine") == 2
    assert ended.err.count("--source-folders names where to look.") == 1


def test_diff_of_a_catalogue_kernel_changes_the_shipped_source() -> None:
    ended = ncuview("analyze", "transposeCoalesced", "--recorded", "--diff")
    assert (ended.code, ended.err) == (0, "")
    assert "+    __shared__ float tile[TILE_DIM][TILE_DIM + 1];\n" in ended.out
    assert "kernels/transpose/transposeCoalesced.cu\n" in ended.out


def test_diff_of_advice_without_a_mechanical_change_gives_the_reason_and_exits_with_3() -> None:
    ended = ncuview("analyze", "transposeNaive", "--recorded", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert "transposeNaive: shared_memory_tiling takes decisions" in ended.err


def test_a_cu_file_without_a_gpu_names_what_is_possible_without_one(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }\n")
    launch = ["--kernel", "k", "--grid", "1", "--block", "32", "--arg", "out float32[32]"]
    assert_failed(ncuview("analyze", tmp_path / "k.cu", *launch), 5, "no NVIDIA GPU here", "--no-counters")


def test_diff_of_advice_about_no_line_says_so() -> None:
    ended = ncuview("analyze", "tinyBlocks", "--recorded", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert "tinyBlocks: no source line is known for " in ended.err


def test_diff_without_advice_prints_nothing() -> None:
    ended = ncuview("analyze", "transposeNoBankConflicts", "--recorded", "--diff")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_dry_run_needs_neither_gpu_nor_ncu() -> None:
    ended = ncuview("analyze", "--dry-run", "-k", "regex:mat", "-c", "3", "--", sys.executable, "app.py", "-k", "its")
    assert (ended.code, ended.err) == (0, "")
    command, _, cost = ended.out.partition("\n\n")
    assert "--kernel-name=regex:mat" in command
    assert "--launch-count=3" in command
    assert command.endswith("app.py -k its")
    assert re.search(r"^\d+ metrics, \d+ to \d+ passes per launch$", cost, re.MULTILINE)


@pytest.mark.parametrize(
    ("target", "runs_as"), [("mine.py", "mine.py"), ("mine.cu", "ncuview.catalogue.launcher job.json")]
)
def test_a_dry_run_names_what_would_run(target: str, runs_as: str, tmp_path: Path) -> None:
    (tmp_path / target).touch()
    ended = ncuview("analyze", "--dry-run", target, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    command = ended.out.partition("\n\n")[0]
    assert str(Path(sys.executable).name) in command
    assert runs_as in command


def test_fewer_rules_ask_for_fewer_metrics() -> None:
    def metrics(*options: str) -> int:
        ended = ncuview("analyze", "--dry-run", *options, "--", sys.executable)
        found = re.search(r"^(\d+) metrics", ended.out, re.MULTILINE)
        assert found, ended.err
        return int(found[1])

    assert metrics("--select", "SMEM001") < metrics("--select", "SMEM") < metrics()
    assert metrics("--look", "quick") < metrics()


@pytest.mark.validation
def test_top_ranks_kernels_and_shows_so_many() -> None:
    ended = ncuview("analyze", PROGRAM_22, "--top", "1")
    assert (ended.code, ended.err) == (0, "")
    assert "with all first advice taken" in " ".join(ended.out.split())
    assert len(re.findall(r"^k22\w+  grid", ended.out, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["analyze", RECORDED, "--look", "quick"], "samples the launches of a program"),
        (["analyze", RECORDED, "--dry-run"], "--dry-run is for programs"),
        (["analyze", RECORDED, "--top", "-1"], "--top takes a number"),
        (["analyze", RECORDED, "--export", "kept"], "--export keeps the report of a program"),
        (["analyze", RECORDED, "--timeout", "3"], "--timeout and --no-progress-timeout are for programs"),
        (["analyze", RECORDED, "-c", "3"], "options of ncu are for programs"),
        (["analyze", RECORDED, "--grid", "4"], "are for .cu files"),
        (["analyze", RECORDED, "--select", "NOSUCH"], "NOSUCH"),
        (["diff", RECORDED, RECORDED, "--renamed", "old"], "--renamed takes OLD=NEW"),
    ],
    ids=lambda value: " ".join(str(part) for part in value[2:]) if isinstance(value, list) else None,
)
def test_options_for_another_kind_of_target_are_refused(args: list[str | Path], says: str) -> None:
    assert_failed(ncuview(*args), 2, says)


@pytest.mark.parametrize("target", ["mine.cu", "mine.py"])
def test_a_program_of_the_user_needs_a_gpu(target: str, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text('extern "C" __global__ void k(float *a) { a[0] = 1; }\n', encoding="utf-8")
    (tmp_path / "mine.py").write_text("print(1)\n", encoding="utf-8")
    launch = ["--kernel", "k", "--grid", "1", "--block", "32", "--arg", "out float32[32]"] if ".cu" in target else []
    assert_failed(ncuview("analyze", target, *launch, cwd=tmp_path), 5, "GPU")


def test_the_same_report_twice_differs_in_nothing() -> None:
    ended = ncuview("diff", DIVERGENCE, DIVERGENCE)
    assert (ended.code, ended.err) == (0, "")
    assert "time unchanged" in ended.out


def test_a_comparison_is_a_document() -> None:
    ended = ncuview("diff", DIVERGENCE, DIVERGENCE, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.document["schema"] == "ncuview.comparison/2"


def test_reports_of_other_kernels_are_not_compared() -> None:
    assert_failed(ncuview("diff", DIVERGENCE, RECORDED), 4, "no kernel is in both", "--renamed")
