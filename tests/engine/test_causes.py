"""What the stalled instructions of a launch wait for, with lines and shares of the samples."""

from __future__ import annotations

import pytest

from ncuview.api import load_rules
from ncuview.engine.causes import Causes, stall_reasons
from ncuview.engine.locate import Places
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import SAMPLES
from ncuview.records.diagnosis import Awaited
from ncuview.records.profile import Profile
from tests.builders import FILE, Instruction, Launch, make_profile

RULES = {rule.text.name: rule for rule in load_rules()}
LISTING = (
    ("LDG.E R4, desc[UR4][R2.64]", 3, 0),
    ("LDG.E R5, desc[UR4][R2.64+0x10]", 3, 0),
    ("LDG.E R6, desc[UR4][R2.64+0x20]", 4, 0),
    ("FADD R7, R4, R7", 5, 60),
    ("FADD R8, R5, R7", 5, 20),
    ("FADD R9, R6, R7", 5, 19),
    ("IADD3 R9, RZ, 0x1, RZ", 5, 1),
    ("EXIT", 6, 0),
)
"""Each instruction with its line and its samples; the last one that is stalled waits for nothing that can be named."""
SOURCE = "\n".join(f"  line {number};" for number in range(1, 9))


def profile_of(listing: tuple[tuple[str, int, int], ...] = LISTING, reason: str = "long_scoreboard") -> Profile:
    nothing = dict.fromkeys(SAMPLES.values(), 0.0)
    instructions = [
        Instruction(text, line, FILE if line else "", {**nothing, SAMPLES[reason]: float(samples)})
        for text, line, samples in listing
    ]
    return make_profile(Launch(instructions=instructions, sources={FILE: SOURCE}))


def causes(profile: Profile) -> Causes:
    analysis = Analysis(profile)
    return Causes(analysis, Places(analysis))


def test_loads_of_one_line_are_named_together_with_their_share_of_all_samples() -> None:
    first, second = causes(profile_of()).of_launch(0)
    assert first == Awaited("long_scoreboard", "LDG", 0, LISTING[0][0], FILE, 3, "line 3;", 0.8)
    assert second.line == 4
    assert second.share == pytest.approx(0.19)


def test_without_lines_each_instruction_is_named() -> None:
    unknown = tuple((text, 0, samples) for text, _, samples in LISTING)
    found = causes(profile_of(unknown)).of_launch(0)
    assert [(each.address, each.file, each.line, each.code) for each in found] == [
        (0, "", 0, ""),
        (16, "", 0, ""),
        (32, "", 0, ""),
    ]


def test_a_rule_names_what_its_own_stall_reasons_wait_for() -> None:
    found = causes(profile_of())
    assert found.of_rule(RULES["serialized-loads"], 0) == found.of_launch(0)
    assert found.of_rule(RULES["barrier-stall"], 0) == ()
    assert found.of_rule(RULES["uncoalesced-global-load"], 0) == ()


def test_a_launch_without_samples_or_machine_code_waits_for_nothing() -> None:
    none = tuple((text, line, 0) for text, line, _ in LISTING)
    assert causes(profile_of(none)).of_launch(0) == ()
    assert causes(make_profile(Launch())).of_launch(0) == ()


def test_the_stall_reasons_of_a_rule_are_those_of_its_conditions_and_of_its_waste() -> None:
    assert stall_reasons(RULES["barrier-stall"]) == {"barrier"}
    assert stall_reasons(RULES["idle-load-lanes"]) > {"long_scoreboard", "drain"}
    assert stall_reasons(RULES["uncoalesced-global-load"]) == frozenset()
