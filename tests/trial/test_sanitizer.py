"""compute-sanitizer's output is read by kinds of findings, and nothing that failed is taken for a pass."""

from __future__ import annotations

import pytest

from ncuview.trial.sanitizer import TOOLS, Inconclusive, Printed, compared, findings_of, remembered

BEGIN = "========= COMPUTE-SANITIZER\n"
MEMCHECK = (
    BEGIN
    + """the program's own words
========= Invalid __global__ write of size 4 bytes
=========     at scale(const float *, float *, int)+0x90 in scale.cu:3
=========     by thread (63,0,0) in block (3,0,0)
=========     Access at 0x7f4c8fa00320 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f4c8fa00000 of size 800 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at scale(const float *, float *, int)+0x90 in scale.cu:3
=========     by thread (62,0,0) in block (3,0,0)
=========     Access at 0x7f4c8fa0031c is misaligned
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
"""
)
RACECHECK = (
    BEGIN
    + """========= Error: Race reported between Write access at 0x140 in tile.cu:12:k(float *)
=========     and Read access at 0xe0 in tile.cu:15:k(float *) [4 hazards]
=========     and Write access at 0x140 in tile.cu:12:k(float *) [5 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
)
SYNCCHECK = (
    BEGIN
    + """========= Barrier error detected. Divergent thread(s) in block.
=========     at k(float *)+0x160 in tile.cu:14
=========     by thread (40,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
)
CLEAN = {
    "memcheck": BEGIN + "========= ERROR SUMMARY: 0 errors\n",
    "synccheck": BEGIN + "========= ERROR SUMMARY: 0 errors\n",
    "racecheck": BEGIN + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
}


def found(tool: str, output: str, *, ended: bool = True) -> dict[str, int]:
    return dict(findings_of(tool, Printed(output, ended)))


def test_findings_are_counted_by_kind_without_places() -> None:
    assert found("memcheck", MEMCHECK, ended=False) == {"Invalid __global__ write of size 4 bytes": 2}
    assert found("racecheck", RACECHECK) == {"Race reported between Write access": 1}
    assert found("synccheck", SYNCCHECK) == {"Barrier error detected. Divergent thread(s) in block": 1}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_clean_run_finds_nothing(tool: str) -> None:
    assert found(tool, CLEAN[tool]) == {}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "output",
    [
        "",
        "compute-sanitizer: command not found\n",
        BEGIN,
        BEGIN + "the program's words: ERROR SUMMARY: 0 errors\n",
        BEGIN + "========= Error: No attachable process found. compute-sanitizer timed-out.\n",
        BEGIN + "========= Internal Sanitizer Error: The Sanitizer encountered an internal error.\n",
        BEGIN + "========= Error: Failed to initialize the device\n",
        BEGIN + "========= Unable to find injection library\n",
    ],
)
def test_a_tool_that_failed_is_inconclusive(tool: str, output: str) -> None:
    with pytest.raises(Inconclusive, match=tool):
        found(tool, output)
    with pytest.raises(Inconclusive, match=tool):
        found(tool, output + CLEAN[tool].removeprefix(BEGIN) if "Error: " in output else output)


def test_the_summary_of_another_tool_is_none() -> None:
    with pytest.raises(Inconclusive, match="summary"):
        found("racecheck", CLEAN["memcheck"])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_program_that_ended_early_without_a_finding_is_inconclusive(tool: str) -> None:
    with pytest.raises(Inconclusive, match="ended early"):
        found(tool, CLEAN[tool], ended=False)


def test_findings_that_are_only_counted_are_findings() -> None:
    assert found("memcheck", BEGIN + "========= ERROR SUMMARY: 7 errors\n") == {"findings beyond the printed ones": 7}
    more = MEMCHECK.replace("2 errors", "2000 errors")
    assert found("memcheck", more) == {
        "Invalid __global__ write of size 4 bytes": 2,
        "findings beyond the printed ones": 1998,
    }


def test_only_new_findings_are_the_variants() -> None:
    race = {"Race reported between Write access": 1}
    assert not compared(race, race)
    assert not compared(race, {})
    assert compared({}, race) == "Race reported between Write access (1)"
    assert compared(race, {"Race reported between Write access": 3}) == "Race reported between Write access (2 more)"
    assert "Invalid" in compared(race, race | {"Invalid __shared__ read of size 4 bytes": 9})


def test_a_tool_runs_once_over_a_version_and_again_where_it_failed() -> None:
    runs: list[tuple[str, str]] = []

    def run(tool: str, version: str) -> Printed:
        runs.append((tool, version))
        failed = version == "bad" and runs.count((tool, version)) == 1
        return Printed("" if failed else MEMCHECK, ended=True)

    asked = remembered(run, str)
    for _ in range(2):
        assert asked("memcheck", "good").output == MEMCHECK
    with pytest.raises(Inconclusive, match="did not start"):
        asked("memcheck", "bad")
    for _ in range(2):
        assert asked("memcheck", "bad").output == MEMCHECK
    assert runs == [("memcheck", "good"), ("memcheck", "bad"), ("memcheck", "bad")]
