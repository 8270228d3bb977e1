"""What is no SIMT kernel, or waits for peers, is named on every page, and no rule judges it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ncuview.base.patterns import compiled
from ncuview.engine.first_look import joined, second_look
from ncuview.engine.priority import priorities
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.records.diagnosis import Diagnosis, NotApplicable
from ncuview.records.profile import Profile
from ncuview.render.outputs import output_text
from ncuview.render.terminal import quiet_page
from ncuview.render.words import step_words
from ncuview.trends.document import diagnosis_of
from tests.builders import Launch, make_profile, store

WASTEFUL = Launch(instructions=(store(sectors=3.2e6),), metrics={"gpu__time_duration.sum": 100_000.0})
PAGES = ("terminal", "markdown", "html", "junit", "json")


def of(workload: str, demangled: str = "kernel(float *)") -> Profile:
    """A launch like others, but for what it is.

    ``Tile kernel`` is constructed: no ncu here can profile one, so that no report has the attribute.
    """
    made = make_profile(WASTEFUL, WASTEFUL)
    made.launches.loc[1, ["workload", "demangled"]] = [workload, demangled]
    return made


def judged(profile: Profile) -> Diagnosis:
    return diagnose(profile, shipped_rules())


@pytest.mark.parametrize(
    ("workload", "named"),
    [
        ("Tile kernel", "not Tile kernels"),
        ("range", "not ranges"),
        ("graph", "not CUDA graphs"),
        ("command list", "not command lists"),
        ("subgrid schedule", "not subgrid schedules"),
    ],
)
def test_no_rule_of_simt_kernels_judges_it(workload: str, named: str) -> None:
    ours, other = judged(of(workload)).launches
    assert any(not isinstance(each, NotApplicable) for each in ours.outcomes)
    assert (other.verdict, other.findings) == ("not-judged", ())
    assert other.not_judged.split(":")[0].endswith(named)
    assert {type(each) for each in other.outcomes} == {NotApplicable}
    assert {each.message for each in other.outcomes} == {other.not_judged}
    assert len(other.outcomes) == len(shipped_rules())


@pytest.mark.parametrize("form", PAGES)
def test_every_page_names_the_reason(form: str) -> None:
    text = str(output_text(judged(of("Tile kernel")), None, form))
    assert "not Tile kernels" in " ".join(text.split())


def test_the_quiet_page_names_the_reason() -> None:
    assert "No rule judges 1 of 2 launches: rules are about SIMT kernels" in quiet_page(
        judged(of("Tile kernel")), width=200, color=False
    )


NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [
        (NCCL, "not-yours"),
        ("nvshmemi_transfer_quiet(int)", "not-yours"),
        ("void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, 16>(T1 *)", "not-judged"),
        ("void <unnamed>::two_shot_all_reduce_kernel<float, 16, 8>(T1 *)", "not-judged"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)8>(vllm::RankData *)", "not-yours"),
    ],
)
def test_what_waits_for_peers_is_named_and_its_time_counts_for_nothing(kernel: str, verdict: str) -> None:
    found = of("kernel", kernel)
    found = replace(found, instructions=found.instructions.query("launch == 0"), launches=found.launches)
    ours, waiting = (answer := judged(found)).launches
    assert (waiting.verdict, waiting.waits_for_peers, waiting.findings) == (verdict, True, ())
    assert "waits for peers" in waiting.not_judged
    assert step_words(waiting).endswith(", waits for peers")
    shares = {group.example.demangled: group.share for group in priorities(answer).groups}
    assert shares == {ours.demangled: 1.0, kernel: 0.0}


@pytest.mark.parametrize("kernel", ["all_reduce_of_blocks(float *)", "my_nccl(float *)", "reduce_scatter(int)"])
def test_names_that_only_sound_like_it_do_not_wait(kernel: str) -> None:
    assert not judged(of("kernel", kernel)).launches[1].waits_for_peers


@pytest.mark.parametrize("form", PAGES)
def test_every_page_says_that_it_waits(form: str) -> None:
    text = str(output_text(judged(of("kernel", NCCL)), None, form))
    assert "waits for peers" in " ".join(text.split())


def test_documents_keep_both() -> None:
    document = json.loads(str(output_text(judged(of("kernel", NCCL)), None, "json")))
    assert [launch["waits_for_peers"] for launch in document["launches"]] == [False, True]
    assert document["judged"]["why"].count("all shares leave it out") == 1
    again = diagnosis_of(document).launches[1]
    assert (again.waits_for_peers, again.not_judged) == (True, document["launches"][1]["not_judged"])


@pytest.mark.parametrize(("workload", "name"), [("Tile kernel", "kernel(float *)"), ("kernel", f"void {NCCL}")])
def test_the_second_look_leaves_it_out(workload: str, name: str) -> None:
    both = of(workload, name)
    assert second_look(make_profile(WASTEFUL, WASTEFUL), shipped_rules()).launches == (0, 1)
    assert second_look(both, shipped_rules(), mine=[compiled("nccl")]).launches == (0,)


def test_the_first_look_passes_no_rule_on_it() -> None:
    found = of("range")
    first, look = judged(found), second_look(found, shipped_rules())
    assert joined(first, None, look, {}).launches[1] == first.launches[1]
