"""What commands answer, and how they refuse a wrong command line, a damaged report and missing metrics."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from ncuview.base.paths import shipped, shown_path
from ncuview.reader.precheck import read_report
from ncuview.reader.scrub import scrub
from ncuview.records.diagnosis import Diagnosis, Optimization
from ncuview.render.document import as_json
from ncuview.render.optimization import MEANINGS
from tests.command_line import DIVERGENCE, RECORDED, ROOT, Ended, assert_failed, environment, ncuview
from tests.render.schema import problems

RULE = shipped("rules") / "shared_memory" / "SMEM001-shared-bank-conflict.toml"


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
        (["analyze", "copy", "-o", "/no/such/x.json"], ["/no/such/x.json", "the folder /no/such does not exist"]),
        (["analyze", "copy", "--format", "text"], ["--format text: unknown format"]),
        (["analyze", "transposeNaive", "--rules", "/no/such/folder"], ["/no/such/folder"]),
        (["analyze", "transposeNaive", "--format", "xml"], ["--format", "xml"]),
        (["analyze"], ["nothing to analyze"]),
        (["ladder", "transpos"], ["'transpos'", "transpose"]),
        (["ladder", "../transpose"], ["'../transpose'"]),
        (["ladder", "matmull"], ["Did you mean matmul?"]),
        (["explain", "SMEM999"], ["'SMEM999'", "ncuview rules"]),
        (["explain", "SMEM01"], ["Did you mean SMEM001"]),
        (
            ["analyze", "copy", "--recorded", "--select", "shared_memory_padding"],
            ["shared_memory_padding is what SMEM001 shared-bank-conflict advises"],
        ),
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


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["analyze", "\x1b]0;owned\x07\udcff"], "\\x1b]0;owned\\x07\\udcff"),
        (["--\x1b[2J"], "No such option: --\\x1b[2J"),
    ],
    ids=["argument", "option"],
)
def test_escape_codes_do_not_reach_the_terminal(args: list[str], says: str) -> None:
    ended = ncuview(*args)
    assert_failed(ended, 2, says)
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


def test_rules_are_checked_by_code_and_the_wrong_ones_stand_last(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    text = RULE.read_text(encoding="utf-8")
    for code, predicted in (("SMEM901", "9.0"), ("SMEM902", ""), ("INST901", "9.0")):
        own = text.replace('"SMEM001"', f'"{code}"').replace('"shared-bank-conflict"', f'"{code.lower()}"')
        own = re.sub(r"(?m)^predicted = .*", f"predicted = {predicted}", own) if predicted else own
        (folder / f"{code}-{code.lower()}.toml").write_text(own, encoding="utf-8")
    shutil.copy(shipped("rules") / "documents.toml", tmp_path)
    ended = ncuview("rules", "check", tmp_path, "--select", "SMEM")
    assert (ended.code, "1 of 2 rules are wrong" in ended.err) == (2, True)
    assert re.findall(r"(?m)^\w+  \w+: \w+", ended.out) == ["SMEM902  smem902: shipped", "SMEM901  smem901: wrong"]
    assert_failed(ncuview("rules", "check", tmp_path, "--select", "smem001"), 2, "no rule 'smem001'")


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
        for outcome in skipped:
            if "only machine code shows" not in outcome["message"]:
                assert outcome["missing"]
                assert f"ncu --metrics {','.join(outcome['missing'])}" in outcome["message"]


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
    assert "Pad each row of the shared array" in coalesced.page
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
    assert "replaces" not in scrubbed.err
    assert (scrubbed.code, scrubbed.out) == (0, "")
    ended = ncuview("analyze", DIVERGENCE, copy, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert_valid(document)
    paths = [shown_path(str(path)) for path in (DIVERGENCE, copy)]
    assert [report["path"] for report in document["reports"]] == paths
    assert {launch.pop("source") for launch in document["launches"]} == {"report"}
    first, second = ([launch for launch in document["launches"] if launch["report"] == path] for path in paths)
    for launch in document["launches"]:
        del launch["report"]
    assert first
    assert first == second


def test_a_report_that_scrub_replaces_is_named(tmp_path: Path) -> None:
    report = shutil.copy(RECORDED, tmp_path / "x.ncu-repz")
    assert "it replaces the original" in ncuview("scrub", report, report).err


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


PROGRAM_22 = ROOT / "validation" / "h200" / "p022.ncu-repz"
SOURCE_22 = ROOT / "validation" / "programs" / "p022-permute-tensor-dimensions.cu"


CONDITION_22 = """\
ncuview: k22b: the patch "Pad tile by one word per row" holds if no index into tile exceeds the end of a row to reach \
the next
"""


@pytest.mark.validation
def test_diff_prints_a_patch_and_its_condition(tmp_path: Path) -> None:
    shutil.copy(SOURCE_22, tmp_path / "p22.cu")  # its name when it was recorded
    ended = ncuview("analyze", PROGRAM_22, "-k", "k22b", "--source-folders", tmp_path, "--diff")
    assert (ended.code, ended.err) == (0, CONDITION_22)
    assert ended.out.startswith("diff --git a/")
    assert "+    __shared__ float tile[TILE][TILE + 1];\n" in ended.out


@pytest.mark.validation
@pytest.mark.parametrize("place", ["beside", "repository"])
def test_diff_finds_the_source_beside_the_report_and_in_its_repository(place: str, tmp_path: Path) -> None:
    reports, elsewhere = tmp_path / "build" / "reports", tmp_path / "elsewhere"
    for folder in (reports, elsewhere, tmp_path / "src"):
        folder.mkdir(parents=True)
    shutil.copy(PROGRAM_22, reports)
    if place == "repository":
        (tmp_path / ".git").mkdir()
    shutil.copy(SOURCE_22, (reports if place == "beside" else tmp_path / "src") / "p22.cu")
    ended = ncuview("analyze", reports / PROGRAM_22.name, "-k", "k22b", "--diff", cwd=elsewhere)
    assert ended.code == 0, ended.err
    assert "+    __shared__ float tile[TILE][TILE + 1];\n" in ended.out


@pytest.mark.validation
def test_diff_says_for_which_kernel_there_is_none_and_where_its_source_was_looked_for(tmp_path: Path) -> None:
    report = shutil.copy(PROGRAM_22, tmp_path)
    ended = ncuview("analyze", report, "-k", "k22b", "--diff", cwd=tmp_path)
    assert (ended.code, ended.out) == (3, "")
    assert "p22.cu is not on this machine: it is not at this path or beside the report; --source-folders" in ended.err
    (tmp_path / "p22.cu").write_text("\n" + SOURCE_22.read_text())
    ended = ncuview("analyze", report, "-k", "k22b", "--diff", cwd=tmp_path.parent)
    assert re.search(r"p22\.cu is not the file that was compiled: line \d+ differs", ended.err)


def test_diff_gives_one_reason_for_all_kernels_without_source(tmp_path: Path) -> None:
    report = shutil.copy(RECORDED, tmp_path)
    ended = ncuview("analyze", report, "-k", "regex:^transpose(Naive|Coalesced)$", "--diff", cwd=tmp_path)
    assert (ended.code, ended.out) == (3, "")
    found = re.findall(r"^ncuview: (.*): its source .* is not on this machine", ended.err, re.MULTILINE)
    assert len(found) == 2, "they are in two files"


def test_diff_writes_the_page_where_there_is_no_patch(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = ncuview("analyze", "tinyBlocks", "--recorded", "--diff", "-o", page)
    assert (ended.code, ended.out) == (3, "")
    assert "tinyBlocks" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("--format", "json"), ("--no-counters",)], ids=" ".join)
def test_diff_prints_nothing_but_patches(words: tuple[str, ...]) -> None:
    assert_failed(ncuview("analyze", "tinyBlocks", "--recorded", "--diff", *words), 2, "--diff", words[0])


@pytest.mark.checkout
def test_diff_of_a_less_exact_function_says_so() -> None:
    ended = ncuview("analyze", "preciseExponential", "--recorded", "--diff")
    assert ended.code == 0
    assert "results may change within rounding: __expf instead of expf" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.checkout
def test_diff_of_a_catalogue_kernel_changes_the_shipped_source() -> None:
    ended = ncuview("analyze", "transposeCoalesced", "--recorded", "--diff")
    assert ended.code == 0
    assert "+    __shared__ float tile[TILE_DIM][TILE_DIM + 1];\n" in ended.out
    assert "kernels/transpose/transposeCoalesced.cu\n" in ended.out


def installed(folder: Path) -> str:
    """Python that makes a folder the one of the installed package, with kernels and rules inside of it."""
    for name in ("kernels", "rules"):
        shutil.copytree(ROOT / name, folder / "_shipped" / name)
    return f"from ncuview.base import paths\npaths._PACKAGE = paths.Path({str(folder)!r})\npaths.shipped.cache_clear()"


@pytest.mark.checkout
def test_diff_changes_no_source_of_an_installed_package(tmp_path: Path) -> None:
    before = installed(tmp_path / "site")
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    command = ("analyze", "transposeCoalesced", "--recorded", "--diff")
    refused = ncuview(*command, before=before, cwd=tmp_path / "mine")
    assert_failed(refused, 3, "transposeCoalesced: a kernel of the catalogue, not your source")
    shutil.copytree(ROOT / "kernels" / "transpose", tmp_path / "mine" / "gpu" / "transpose")
    patched = ncuview(*command, before=before, cwd=tmp_path / "mine")
    assert patched.code == 0
    assert "+++ b/gpu/transpose/transposeCoalesced.cu\n" in patched.out


@pytest.mark.checkout
def test_diff_of_a_report_finds_the_file_below_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    command = ("analyze", shutil.copy(RECORDED, tmp_path / "reports"), "-k", "transposeCoalesced", "--diff")
    source = tmp_path / "kernels" / "transpose" / "transposeCoalesced.cu"
    for folder in (tmp_path / ".git", source.parent, tmp_path / "build"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "kernels" / "transpose" / source.name, source)
    ended = ncuview(*command, cwd=tmp_path)
    assert ended.code == 0
    assert "+++ b/kernels/transpose/transposeCoalesced.cu\n" in ended.out
    source.write_text(f"\n{source.read_text()}")  # its lines have moved
    assert_failed(ncuview(*command, cwd=tmp_path), 3, "is not on this machine", "line 54 differs")


@pytest.mark.checkout
def test_diff_of_advice_without_a_mechanical_change_gives_the_reason_and_exits_with_3() -> None:
    ended = ncuview("analyze", "transposeNaive", "--recorded", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert "transposeNaive: shared_memory_tiling takes decisions" in ended.err


def test_a_cu_file_without_a_gpu_names_what_is_possible_without_one(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }\n")
    launch = ["--kernel", "k", "--grid", "1", "--block", "32", "--arg", "out float32[32]"]
    ways = ("--no-counters", "--dry-run", "ncu --set full", "ncuview analyze mine.ncu-rep")
    assert_failed(ncuview("analyze", tmp_path / "k.cu", *launch), 5, "no NVIDIA GPU here", *ways)


def test_a_program_without_a_gpu_names_what_is_possible_without_one() -> None:
    ways = ("analyze --no-counters -- ./app 3", "--dry-run -- ./app 3", "-o mine ./app 3", "analyze mine.ncu-rep")
    assert_failed(ncuview("analyze", "--", "./app", "3"), 5, "no NVIDIA GPU here", *ways)


def test_of_a_folder_the_good_reports_are_diagnosed_and_the_bad_ones_named(tmp_path: Path) -> None:
    good = Path(shutil.copy(DIVERGENCE, tmp_path / "good.ncu-repz"))
    (tmp_path / "cut.ncu-repz").write_bytes(good.read_bytes()[:3000])
    (tmp_path / "other.ncu-rep").write_text("no report\n")
    ended = ncuview("analyze", tmp_path)
    assert ended.code == 3
    assert "divergentWithinWarp" in ended.out
    for text in (ended.out, ended.err):
        said = " ".join(text.split())
        assert re.search(r"cut\.ncu-repz: .*; \S*other\.ncu-rep: is not an Nsight Compute report", said)
    assert_failed(ncuview("analyze", good, tmp_path / "gone.ncu-rep"), 3, "gone.ncu-rep does not exist")
    good.unlink()
    assert_failed(ncuview("analyze", tmp_path), 3, "cut.ncu-repz")


def test_diff_of_advice_about_no_line_says_so() -> None:
    ended = ncuview("analyze", "tinyBlocks", "--recorded", "--diff")
    assert (ended.code, ended.out) == (3, "")
    assert "tinyBlocks: no source line is known for " in ended.err


def test_a_pattern_of_the_shell_is_answered_with_a_regular_expression() -> None:
    assert_failed(ncuview("analyze", RECORDED, "-k", "transposeN*"), 3, "-k 'regex:^transposeN'", " and 14 more")


def test_a_metric_of_ncu_names_what_is_computed_from_it() -> None:
    ended = ncuview("metrics", "memory_l1_wavefronts_shared")
    assert (ended.code, ended.err) == (0, "")
    assert "computed from it: shared_bank_conflict_ways" in ended.out


@pytest.mark.parametrize("word", ["PROG004", "attention-by-hand"])
def test_a_rule_about_programs_is_explained(word: str) -> None:
    ended = ncuview("explain", word)
    assert (ended.code, ended.err) == (0, "")
    for part in ("PROG004 attention-by-hand: attention", "Where it brings nothing", "https://docs.pytorch.org/"):
        assert part in ended.out


@pytest.mark.parametrize("word", ["coalescing", "shared-memory-padding"])
def test_an_optimization_is_explained_by_its_rules_and_kernels(word: str) -> None:
    ended = ncuview("explain", word)
    assert (ended.code, ended.err) == (0, "")
    assert "Advised by\n  " in ended.out
    assert re.search(r"^  \w+ -> \w+ \(\w+\): ", ended.out, re.MULTILINE)
    assert len(ended.out.splitlines()) <= 40


def test_every_optimization_has_a_meaning() -> None:
    assert set(MEANINGS) == set(get_args(Optimization))


def test_launches_of_one_kernel_differ_by_their_grids_in_the_table() -> None:
    ended = ncuview("analyze", RECORDED, "-k", "transposeGranularity")
    assert "transposeGranularity (512x512)  " in ended.out


def test_diff_without_advice_prints_the_reason_and_no_patch() -> None:
    ended = ncuview("analyze", "transposeNoBankConflicts", "--recorded", "--diff")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "ncuview: there is nothing to change: near its peak\n"


def test_a_dry_run_needs_neither_gpu_nor_ncu() -> None:
    ended = ncuview("analyze", "--dry-run", "-k", "regex:mat", "-c", "3", "--", sys.executable, "app.py", "-k", "its")
    assert (ended.code, ended.err) == (0, "")
    command, _, cost = ended.out.partition("\n\n")
    assert "--kernel-name=regex:mat" in command
    assert "--launch-count=3" in command
    assert "--nvtx" in command.split(), "for the ranges that the hook switches on"
    assert command.endswith("app.py -k its")
    assert re.search(r"^\d+ metrics, \d+( to \d+)? passes per launch$", cost, re.MULTILINE)
    assert not re.search(r"(\d+) to \1 passes", cost)


def test_a_dry_run_of_a_python_program_names_its_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print()\n")
    ended = ncuview("analyze", "--dry-run", "mine.py", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert re.findall(r"^(\d)\. (\w+ \w+)", ended.out, re.MULTILINE) == [
        ("1", "The program"),
        ("2", "Time and"),
        ("3", "Counters of"),
        ("4", "All metrics"),
    ]
    times, counters = (line for line in ended.out.splitlines() if "mine.py" in line)
    assert "--metrics=gpu__time_duration.sum " in times
    assert "--nvtx" in times.split()
    assert "--filter-mode=per-launch-config" in counters
    assert "18 metrics, 1 pass per launch" in ended.out
    without = ncuview("analyze", "--dry-run", "--no-bare-run", "mine.py", cwd=tmp_path).out
    assert without.startswith("1. Time and calls")


@pytest.mark.parametrize("words", [("--no-hook", "--", sys.executable), ("--", "/bin/sh")])
def test_a_dry_run_without_the_hook_records_no_ranges(words: tuple[str, ...]) -> None:
    assert "--nvtx" not in ncuview("analyze", "--dry-run", *words).out


def test_a_dry_run_names_the_report_that_is_exported(tmp_path: Path) -> None:
    command = ("analyze", "--dry-run", "--export", "app.ncu-rep", "--", sys.executable)
    assert "--export=./app.ncu-rep " in ncuview(*command, cwd=tmp_path).out


@pytest.mark.parametrize(
    ("target", "runs_as"), [("mine.py", "mine.py"), ("mine.cu", "ncuview.catalogue.launcher job.json")]
)
def test_a_dry_run_names_what_would_run(target: str, runs_as: str, tmp_path: Path) -> None:
    (tmp_path / target).write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }\n")
    launch = ["--grid", "1", "--block", "32", "--arg", "out float32[32]"] if ".cu" in target else []
    ended = ncuview("analyze", "--dry-run", "--look", "full", target, *launch, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    command = ended.out.partition("\n\n")[0]
    assert str(Path(sys.executable).name) in command
    assert runs_as in command
    assert ("ncuview writes job.json" in ended.out) == ("job.json" in command)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "does not define how its kernel is launched"),
        (("--kernel", "other", "--arg", "out float32[32]"), "mine.cu has no kernel 'other'"),
        (("--arg", "out float64[32]"), "argument 1 of k is float *a"),
        (("--arg", "out float32[32]", "--arg", "int32 = 1"), "k takes 1 arguments, and its launch gives 2"),
    ],
    ids=["no launch", "kernel", "type", "number"],
)
def test_a_dry_run_checks_the_launch_of_a_cu_file(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }\n")
    extents = ("--grid", "1", "--block", "32") if words else ()
    assert_failed(ncuview("analyze", "--dry-run", tmp_path / "mine.cu", *extents, *words), 2, says)


def test_fewer_rules_ask_for_fewer_metrics() -> None:
    def metrics(*options: str) -> int:
        look = () if "--look" in options else ("--look", "full")
        ended = ncuview("analyze", "--dry-run", *look, *options, "--", sys.executable)
        found = re.search(r"^(\d+) metrics", ended.out, re.MULTILINE)
        assert found, ended.err
        return int(found[1])

    assert metrics("--select", "SMEM001") < metrics("--select", "SMEM") < metrics()
    assert metrics("--look", "quick") < metrics()


@pytest.mark.validation
def test_top_ranks_kernels_and_shows_so_many() -> None:
    ended = ncuview("analyze", PROGRAM_22, "--top", "1")
    assert (ended.code, ended.err) == (0, "")
    assert "with all first advice for kernels taken" in " ".join(ended.out.split())
    assert len(re.findall(r"^k22\w+  grid", ended.out, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["analyze", RECORDED, "--look", "quick"], "--look quick is for programs"),
        (["analyze", "--no-bare-run", "--look", "full", "mine.py"], "--no-bare-run is for Python programs"),
        (["analyze", "--no-bare-run", "--", "/bin/true"], "--no-bare-run is for Python programs"),
        (["check", "--no-bare-run", "--save-baseline", "b.json", "mine.py"], "--no-bare-run is for Python programs"),
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
