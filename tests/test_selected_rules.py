"""A selection of the rules: rules that were left out may have advice, so that no kernel is near its peak."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview import diagnose, load_rules
from tests.command_line import ncuview
from tests.profiles import recorded_profile

PREDICTED = '[[budget]]\nkernel = "*"\npredicted = true\nmax = 1.2\n'


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (["--select", "SMEM"], "No advice of the 5 selected rules."),
        (["--select", "SMEM001"], "No advice of the selected rule."),
        (["--ignore", "GMEM"], "selected rules."),
    ],
)
def test_no_advice_of_some_rules_is_no_reason_to_stop(words: list[str], headline: str) -> None:
    page = ncuview("analyze", "transposeNaive", *words)
    assert page.code == 0
    assert headline in page.out
    assert "Stop here" not in page.out
    assert "Rules that were left out may have" in page.out
    document = ncuview("analyze", "transposeNaive", *words, "--format", "json").document
    assert document["launches"][0]["verdict"] == "unclear"
    assert "evaluated" in document["remark"]


def test_the_library_claims_no_peak_by_some_of_the_rules() -> None:
    profile = recorded_profile("transpose")
    rules = [rule for rule in load_rules() if rule.text.code.startswith("SMEM")]
    some, every = (diagnose(profile, chosen) for chosen in (rules, load_rules()))
    finished = [at for at, launch in enumerate(every.launches) if launch.verdict == "near-peak"]
    assert finished
    assert {some.launches[at].verdict for at in finished} == {"unclear"}
    assert all(launch.selected for launch in some.launches)
    assert not any(launch.selected for launch in every.launches)
    assert some.remark.startswith("only 5 selected rules were evaluated")


def test_advice_of_some_rules_is_still_advice() -> None:
    page = ncuview("analyze", "transposeCoalesced", "--select", "SMEM")
    assert "tile[TILE_DIM][TILE_DIM + 1]" in page.out
    assert "only 5 selected rules were evaluated" in page.out


@pytest.mark.parametrize(
    ("kernel", "words", "code"),
    [
        ("transposeNaive", ["--select", "SMEM"], 3),
        ("transposeNaive", [], 1),
        ("transposeCoalesced", ["--select", "SMEM"], 1),
    ],
)
def test_a_budget_of_the_prediction_is_not_judged_by_some_rules(
    kernel: str, words: list[str], code: int, tmp_path: Path
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text(PREDICTED)
    gate = ncuview("check", kernel, "--budget", budget, *words)
    assert gate.code == code, gate.out
    assert ("leave out --select" in gate.out.replace("\n", " ")) == (code == 3)


@pytest.mark.parametrize("words", [["--select", "SMEM001"], ["-v"]])
def test_the_page_of_a_few_rules_and_the_long_page_show_conditions_and_effects(words: list[str]) -> None:
    page = " ".join(ncuview("analyze", "transposeCoalesced", *words).out.split())
    assert "Holds ways >= 1.1 (ways 16.5); conflict_lanes >= 20 or one_bank_share >= 0.5 (conflict_lanes 32" in page
    assert "Effects l1_wavefronts 14% left (l1_data); 51% of the latency goes away" in page
    assert "Effects" not in ncuview("analyze", "transposeCoalesced").out
