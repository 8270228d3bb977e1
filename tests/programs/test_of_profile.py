"""The launches of a profile as a program: the call of each launch, the time of each line, and pages with both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.api import load_rules
from ncuview.base.patterns import compiled
from ncuview.engine.rank import diagnose
from ncuview.programs.of_profile import calls_of
from ncuview.records.diagnosis import Diagnosis, Skipped
from ncuview.records.profile import CallStack, Frame, Profile
from ncuview.records.program import ChangeAt, ProgramDiagnosis, ProgramGpu, ProgramLaunch
from ncuview.render import render
from ncuview.render.notebook import answer_html
from ncuview.render.outputs import output_text
from ncuview.render.terminal import quiet_page
from ncuview.render.words import step_words, verdict_reason
from ncuview.speedup.attainable import program_figures
from ncuview.trends.document import read_document
from tests.builders import H200, Launch, make_profile

LIBRARY = "/opt/python/lib/python3.12/site-packages/torch/_ops.py"
ATEN = Frame("at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)", "/opt/torch/lib/libtorch_cpu.so", 0)
KERNEL = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float>>(int)"


def stack(line: int) -> CallStack:
    """A call of an operator in a line of the user's program."""
    return CallStack((Frame("__call__", LIBRARY, 900), Frame("step", "/home/alice/train.py", line)), (ATEN,))


def profile(lines: tuple[int | None, ...], **metrics: float) -> Profile:
    """Elementwise launches of 10 us from these lines of a program; None for one without a call stack."""
    launch = Launch(metrics={"gpu__time_duration.sum": 10_000.0, **metrics}, kernel="vectorized_elementwise_kernel")
    made = make_profile(*[launch] * len(lines))
    made.launches["demangled"] = KERNEL
    stacks = {place: stack(line) for place, line in enumerate(lines) if line is not None}
    return replace(made, call_stacks=stacks)


def judged(found: Profile) -> Diagnosis:
    return diagnose(found, load_rules())


def program(found: Profile) -> ProgramDiagnosis:
    made = judged(found).program
    assert made is not None
    return made


def test_each_launch_names_its_line_and_operator() -> None:
    first, second = judged(profile((12, None))).launches
    assert first.call is not None
    assert (first.call.file, first.call.line, first.call.operator) == ("/home/alice/train.py", 12, "mul")
    assert second.call is None


def test_kernels_of_the_user_have_the_package_that_launches_them(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Frame("run", "/opt/python/lib/python3.12/site-packages/triton/runtime/jit.py", 744)
    made = make_profile(Launch(kernel="scale_rows"), Launch(kernel="scale_rows"))
    made = replace(made, call_stacks={0: CallStack((launcher, Frame("step", "/home/alice/train.py", 5)), ())})
    seen: list[ProgramLaunch] = []

    def advise(launches: list[ProgramLaunch], trace: None, gpu: ProgramGpu) -> tuple[()]:
        assert trace is None
        assert gpu == program_figures(H200)
        seen.extend(launches)
        return ()

    monkeypatch.setattr("ncuview.programs.of_profile.advise", advise)
    program(made)
    assert [launch.owner for launch in seen] == ["triton", ""]


def test_the_size_of_l2_is_that_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ProgramGpu] = []

    def advise(_: list[ProgramLaunch], __: None, gpu: ProgramGpu) -> tuple[()]:
        seen.append(gpu)
        return ()

    monkeypatch.setattr("ncuview.programs.of_profile.advise", advise)
    program(profile((5, 6), device__attribute_l2_cache_size=40_000_000.0))
    assert seen == [replace(program_figures(H200), l2_bytes=40_000_000.0)]


def test_files_that_a_pattern_names_are_the_users() -> None:
    package = Frame("forward", "/opt/python/lib/python3.12/site-packages/own_models/block.py", 31)
    stacks = {0: CallStack((package, Frame("step", "/home/alice/train.py", 12)), (ATEN,))}
    made = replace(profile((None,)), call_stacks=stacks)
    [without] = calls_of(made)
    [named] = calls_of(made, [compiled("own_models/")])
    assert without is not None
    assert named is not None
    assert (without.line, named.line) == (12, 31)


def test_lines_are_ranked_by_their_kernel_time() -> None:
    found = program(profile((7, 12, 12, None)))
    assert [(each.call.line, each.launches) for each in found.calls] == [(12, 2), (7, 1)]
    assert found.time_ns == 40_000.0
    assert [each.share for each in found.calls] == pytest.approx([0.5, 0.25])


def test_a_profile_without_call_stacks_is_no_program() -> None:
    assert judged(profile((None, None))).program is None


def trained() -> Profile:
    """Two launches of a forward pass, and three of its backward pass, on a thread that runs no Python."""
    forward = [("aten::mul, seq = 1, op_id = 4",), ("aten::mul, seq = 2, op_id = 5",)]
    nodes = [2, 1, 1]
    backward = [
        ("autograd::engine::evaluate_function: MulBackward0, op_id = 7", f"MulBackward0, seq = {number}, op_id = 8")
        for number in nodes
    ]
    node = Frame("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)", "/opt/torch.so", 0)
    made = profile((12, 13, None, None, None))
    stacks = {**made.call_stacks, **dict.fromkeys((2, 3, 4), CallStack((), (ATEN, node)))}
    return replace(made, call_stacks=stacks, nvtx_ranges=dict(enumerate([*forward, *backward])))


def test_launches_of_a_backward_pass_are_grouped_by_their_forward_lines() -> None:
    found = program(trained()).calls
    assert [(each.call.line, each.call.forward and each.call.forward.line, each.launches) for each in found] == [
        (0, 12, 2),
        (12, None, 1),
        (13, None, 1),
        (0, 13, 1),
    ]
    costliest = program(replace(trained(), nvtx_ranges={})).calls[0]
    assert (costliest.call.line, costliest.call.backward, costliest.launches) == (0, "MulBackward0", 3)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_pages_name_forward_lines(form: str) -> None:
    page = " ".join(str(output_text(judged(trained()), None, form)).replace("<!-- -->", "").split())
    assert "backward of /home/alice/train.py:12 step (mul)" in page


CHAIN = profile((5, 6, 7, 8, 9), **{"dram__bytes_read.sum": 4e8, "dram__bytes_write.sum": 4e8})
"""Five launches in a row from one function that each read and write as much as the one before."""


def test_the_first_change_is_that_of_the_chain() -> None:
    [finding] = program(CHAIN).findings
    assert finding.change == "fuse"
    assert {call.line for call in finding.calls} == {5, 6, 7, 8, 9}
    assert finding.gain.low <= finding.gain.best <= finding.gain.high <= 5.0


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_pages_name_calls_and_the_change(form: str) -> None:
    page = " ".join(str(output_text(judged(CHAIN), None, form)).replace("<!-- -->", "").split())
    for words in ("5 launches", "train.py:7", "torch.compile", "20%"):
        assert words in page, words


def test_a_notebook_cell_names_calls_and_the_change() -> None:
    page = answer_html(judged(CHAIN))
    assert "train.py:7" in page
    assert "torch.compile" in page


def test_the_quiet_page_begins_with_the_change_of_the_program() -> None:
    first = quiet_page(judged(CHAIN), width=100, color=False).splitlines()[0]
    assert first.startswith("/home/alice/train.py:")
    assert first.endswith("x faster")


def test_the_document_reads_back_as_the_same_program(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(render(judged(CHAIN), "json"), encoding="utf-8")
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["program"]["findings"][0]["change"] == "fuse"
    back = read_document(file)
    assert back is not None
    assert render(back, "json") == file.read_text(encoding="utf-8")


def test_the_document_has_forward_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(render(judged(trained()), "json"), encoding="utf-8")
    forward = json.loads(file.read_text(encoding="utf-8"))["launches"][3]["call"]["forward"]
    assert forward == {"file": "/home/alice/train.py", "line": 12, "function": "step"}
    back = read_document(file)
    assert back is not None
    assert render(back, "json") == file.read_text(encoding="utf-8")


def test_launches_that_wait_for_peers_have_no_part_in_a_program() -> None:
    found = profile((12, 12, 13))
    found.launches.loc[1, "demangled"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"
    made = program(found)
    assert (made.time_ns, made.launches) == (20_000.0, 3)
    assert [(each.call.line, each.launches, each.share) for each in made.calls] == [(12, 1, 0.5), (13, 1, 0.5)]


def test_findings_name_positions_among_all_launches() -> None:
    found = profile((5, 5, 6, 7, 8, 9), **{"dram__bytes_read.sum": 4e8, "dram__bytes_write.sum": 4e8})
    found.launches.loc[0, "demangled"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"
    [finding] = program(found).findings
    assert finding.launches == (1, 2, 3, 4, 5)


THEIRS = replace(CHAIN, instructions=CHAIN.instructions.iloc[:0])
"""The chain without lines of the user: its kernels are PyTorch's."""


def test_a_launch_that_is_not_yours_has_its_shares_and_the_finding_at_its_call() -> None:
    launches = judged(THEIRS).launches
    assert [launch.time_share for launch in launches] == [0.2] * 5
    assert {launch.changed_by for launch in launches} == {ChangeAt("PROG001", "/home/alice/train.py", 5)}
    assert step_words(replace(launches[0], attained=0.87)) == (
        "not-yours: PyTorch, 20% of the time, 87% of what is attainable, see PROG001 at /home/alice/train.py:5"
    )
    assert verdict_reason(launches[0]).startswith("It takes 20% of the time of all launches. The bottleneck is ")
    assert verdict_reason(launches[0]).endswith(" See PROG001 at /home/alice/train.py:5.")


def test_a_launch_that_no_change_shortens_names_none() -> None:
    launch = judged(profile((12, 13))).launches[0]
    assert launch.changed_by is None
    assert "see PROG" not in step_words(launch)


def test_of_an_only_launch_no_share_of_the_time_is_said() -> None:
    alone = profile((12,))
    launch = judged(replace(alone, instructions=alone.instructions.iloc[:0])).launches[0]
    assert (launch.verdict, launch.time_share) == ("not-yours", 1.0)
    assert "of the time" not in step_words(launch) + verdict_reason(launch)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "json"])
def test_pages_name_the_finding_at_a_launch(form: str) -> None:
    text = " ".join(str(output_text(judged(THEIRS), None, form)).split())
    assert ('"changed_by": { "rule": "PROG001"' if form == "json" else "ee PROG001") in text


def test_shares_and_changes_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(render(judged(CHAIN), "json"), encoding="utf-8")
    document = read_document(tmp_path / "a.json")
    assert document is not None
    assert document.launches[0].time_share == 0.2
    assert document.launches[0].changed_by is not None
    assert document.launches[0].changed_by.rule == "PROG001"


def test_of_kernels_that_are_not_the_users_nothing_is_missing() -> None:
    found = judged(replace(THEIRS, metrics=THEIRS.metrics[["gpu__time_duration.sum"]]))
    assert {launch.verdict for launch in found.launches} == {"not-yours"}
    assert not any(isinstance(outcome, Skipped) for launch in found.launches for outcome in launch.outcomes)
    assert "counters alone" not in found.remark


def test_the_page_of_a_program_is_called_after_its_file() -> None:
    page = str(output_text(judged(CHAIN), None, "html")).replace("<!-- -->", "")
    assert "<title>train.py on NVIDIA H200: what to do next</title>" in page
