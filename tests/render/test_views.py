"""Bounded views: never larger than their limit, every entry can be reached, and what was not judged is always there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ncuview
from ncuview.base.errors import UsageError
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, Outcome, SourceEdit
from ncuview.records.documents.view import GapKind, ViewName
from ncuview.records.profile import Failure, ReportInfo
from ncuview.records.program import Call, CallTime, Estimate, ProgramDiagnosis, ProgramFinding
from ncuview.render.views import LARGEST, MOST_BYTES, SMALLEST, brief, view, view_json
from tests.hostile import PAYLOADS, each_payload, poisoned
from tests.render.sample import advice_finding, diagnosis, launch_near_peak, launch_with_advice
from tests.render.schema import problems, schema

VIEWS: tuple[ViewName, ...] = get_args(ViewName)
MARK = "from-the-report"
EDIT = SourceEdit("Pad the tile", "--- a/x.cu\n+++ b/x.cu\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n", "n is even")
CALL = Call("train.py", 34, "attend", "softmax")
OTHER_CALL = Call("train.py", 50, "loss", "sum")
CONTROLS = ("Cc", "Cf", "Cs", "Co")
Json = dict[str, Any]
each_view = pytest.mark.parametrize("name", VIEWS)


def program() -> ProgramDiagnosis:
    """Two lines of a program, and a change of each by one rule."""
    change = ProgramFinding(
        "PROG004",
        "attention-by-hand",
        "attention",
        (CALL,),
        (0,),
        Estimate(90_000, 100_000, 110_000),
        Estimate(1.2, 1.3, 1.4),
        "softmax and two products make the attention",
        "Call scaled_dot_product_attention.",
        "https://example.com/sdpa",
    )
    calls = (CallTime(CALL, 1, 328_320.0, 0.7), CallTime(OTHER_CALL, 1, 141_800.0, 0.3))
    return ProgramDiagnosis(470_120.0, 2, calls, (change, replace(change, calls=(OTHER_CALL,), launches=(1,))))


def everything() -> Diagnosis:
    """A diagnosis in which every field of a view has something to say."""
    first, near, unclear = diagnosis().launches
    patched = replace(advice_finding(), edit=EDIT, open_condition="there is independent work")
    first = replace(first, outcomes=(patched, *first.outcomes[1:]), call=CALL, time_share=0.7)
    near = replace(near, owner="cuBLAS", owner_kind="vendor", verdict="not-yours", call=OTHER_CALL)
    silent = replace(
        unclear, index=3, duration_ns=float("nan"), verdict="not-judged", not_judged="it is no SIMT kernel"
    )
    (report,) = diagnosis().reports
    damaged = ReportInfo("runs/torn.ncu-rep", "2025.3.1", None, damage="launches 0 to 6 of 9 were read")
    return Diagnosis(
        (first, near, unclear, silent, replace(first, index=4, duration_ns=300_000.0, selected=True)),
        (report, damaged),
        "as asked for with --recorded",
        {(near.demangled, (1, 2, 3), (4, 5, 6)): 7},
        failure=Failure("ProgramFailed", "the program ended with code 1", "Run it alone.", 6),
        program=program(),
    )


def of_text(text: str, launches: int = 5) -> Diagnosis:
    """The same with every text replaced, also those of rules."""
    made: Diagnosis = poisoned(replace(everything(), program=None, launched={}), text)
    many = tuple(replace(made.launches[at % 5], index=at) for at in range(launches))
    calls = [replace(each, calls=tuple(poisoned(call, text) for call in each.calls)) for each in program().findings]
    changes = tuple(replace(each, advice=text, message=text, code=text, name=text, link=text) for each in calls)
    times = tuple(replace(each, call=poisoned(each.call, text)) for each in program().calls)
    failure = Failure(text, text, text, 6)
    return replace(made, launches=many, failure=failure, program=replace(program(), calls=times, findings=changes))


def pages(document: Json) -> dict[str, Json]:
    """Every list of a document, by its name in cursors."""
    part = document[document["view"]]
    found = {name: value for name, value in part.items() if isinstance(value, dict) and "total" in value}
    if "change" in part:
        found["lines"] = part["change"]["lines"]
    return {**found, "reasons": document["not_judged"]["reasons"]}


def longest(document: Json) -> int:
    """The most bytes that a program makes of a document without options of its own."""
    return max(len(json.dumps(document).encode()), len(view_json(document).encode()))


def texts_in(content: Any, form: Json, foreign: bool = False) -> Iterator[tuple[str, bool]]:
    """Each text of a document, and whether its schema marks it as foreign."""
    definitions = schema("view")["$defs"]
    foreign = foreign or bool(form.get("x-foreign"))
    if "$ref" in form:
        form = definitions[form["$ref"].rpartition("/")[2]]
    for option in form.get("anyOf", ()):
        if option != {"type": "null"}:
            form = definitions[option["$ref"].rpartition("/")[2]]
    if isinstance(content, dict):
        for key, value in content.items():
            yield from texts_in(value, form["properties"][key], foreign)
    elif isinstance(content, list):
        for value in content:
            yield from texts_in(value, form["items"], foreign)
    elif isinstance(content, str):
        yield content, foreign


def of_reports(given: Diagnosis, text: str) -> Diagnosis:
    """The diagnosis with the texts that come from reports, programs and sources replaced."""

    def lines(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(poisoned(part, text) for part in parts)

    def outcome_of(each: Outcome) -> Outcome:
        if not isinstance(each, Finding):
            return each
        where, instructions, waits_for = lines(each.where), lines(each.instructions), lines(each.waits_for)
        edit = poisoned(each.edit, text)
        return replace(each, where=where, instructions=instructions, waits_for=waits_for, edit=edit)

    def launch(each: LaunchDiagnosis) -> LaunchDiagnosis:
        outcomes = tuple(outcome_of(outcome) for outcome in each.outcomes)
        device = replace(each.device, name=text)
        call = poisoned(each.call, text)
        each = replace(each, report=text, kernel=text, demangled=text, owner=text, device=device, call=call)
        return replace(each, outcomes=outcomes)

    assert given.program
    assert given.failure
    calls = tuple(replace(each, call=poisoned(each.call, text)) for each in given.program.calls)
    changes = tuple(replace(each, calls=lines(each.calls)) for each in given.program.findings)
    return replace(
        given,
        launches=tuple(map(launch, given.launches)),
        reports=tuple(replace(each, path=text, damage=text) for each in given.reports),
        remark=text,
        failure=replace(given.failure, message=text, hint=text),
        program=replace(given.program, calls=calls, findings=changes),
    )


# What a view holds.


def test_a_skeleton_has_a_line_for_each_group_the_largest_saving_first() -> None:
    document = ncuview.view(diagnosis())
    groups = document["skeleton"]["groups"]
    assert (groups["total"], groups["shown"], groups["cursor"]) == (3, 3, None)
    assert [each["kernel"] for each in groups["items"]] == [
        "transposeCoalesced",
        "transposeNoBankConflicts",
        "latencyBound",
    ]
    advice = groups["items"][0]["advice"]
    assert (advice["rule"], advice["optimization"]) == ("SMEM001", "shared_memory_padding")
    assert advice["where"] == "transpose/coalesced.cu:63"
    assert advice["check"] == "memory_l1_wavefronts_shared over its ideal falls from 16.5 to 1.0"
    assert advice["speedup"] == {"low": 1.94, "best": 2.18, "high": 2.29}
    assert [each["advice"] for each in groups["items"][1:]] == [None, None]


def test_further_advice_fills_the_room_that_the_groups_leave() -> None:
    (other,) = ncuview.view(diagnosis())["skeleton"]["alternatives"]["items"]
    assert other["key"].endswith("/PAR001")
    assert (other["optimization"], other["check"]) == ("thread_coarsening", advice_finding().check)
    full = ncuview.view(many())["skeleton"]
    assert full["groups"]["shown"] < full["groups"]["total"]
    assert (full["alternatives"]["shown"], full["alternatives"]["total"]) == (0, 50)
    assert full["alternatives"]["cursor"]


def test_equal_launches_are_one_group_whose_launches_can_be_opened() -> None:
    launches = tuple(replace(launch_with_advice(), index=at, duration_ns=1e5 + at) for at in range(40))
    skeleton = ncuview.view(Diagnosis(launches, diagnosis().reports))
    (group,) = skeleton["skeleton"]["groups"]["items"]
    assert group["launches"] == 40
    opened = ncuview.view(Diagnosis(launches, diagnosis().reports), "launch", key=group["key"])
    assert opened["launch"]["time_ns"] == 100_000
    assert opened["launch"]["equal"]["total"] == 39
    other = opened["launch"]["equal"]["items"][0]["key"]
    assert ncuview.view(Diagnosis(launches, diagnosis().reports), "launch", key=other)["launch"]["key"] == other


def test_a_launch_has_its_first_advice_all_findings_and_the_rules_that_could_not_look() -> None:
    document = ncuview.view(diagnosis(), "launch")
    part = document["launch"]
    assert part["advice"]["where"] == "transpose/coalesced.cu:63"
    assert part["advice"]["check"] == advice_finding().check
    assert part["advice"]["assumes"] == advice_finding().assumes
    found = [(each["key"].partition("/")[2], bool(each["rejected"])) for each in part["findings"]["items"]]
    assert found == [("SMEM001", False), ("PAR001", False), ("SYNC001", True)]
    assert part["units"]["items"][0] == {"unit": "l1_data", "share": 0.88}
    key = ncuview.view(diagnosis())["skeleton"]["groups"]["items"][2]["key"]
    blind = ncuview.view(diagnosis(), "launch", key=key)["launch"]["blind_rules"]["items"]
    assert [(each["rule"], each["outcome"]) for each in blind] == [("USER001", "broken"), ("SMEM001", "skipped")]
    assert "memory_l1_wavefronts_shared" in blind[1]["why"]


def test_a_finding_has_its_code_change_check_and_evidence() -> None:
    key = ncuview.view(everything(), "launch")["launch"]["advice"]["key"]
    part = ncuview.view(everything(), "finding", key=key)["finding"]
    assert part["places"]["items"][0]["code"] == "odata[i] =\ttile[threadIdx.x][threadIdx.y + j];"
    assert [each["line"] for each in part["code"]["items"]] == [62, 63, 64]
    assert part["change"]["kind"] == "patch"
    assert part["change"]["lines"]["items"] == EDIT.diff.splitlines()
    assert part["check"] == advice_finding().check
    assert part["evidence"]["items"][0]["value"] == 16.5
    assert part["open_condition"] == "there is independent work"


def test_the_change_is_an_example_where_there_is_no_edit() -> None:
    change = ncuview.view(diagnosis(), "finding")["finding"]["change"]
    assert change["kind"] == "example"
    added = "+ __shared__ float tile[32][32 + 1];"
    assert change["lines"]["items"] == ["- __shared__ float tile[32][32];", added]


def test_a_program_has_its_calls_and_changes_which_can_be_opened() -> None:
    skeleton = ncuview.view(everything())["skeleton"]
    assert [each["call"] for each in skeleton["calls"]["items"]] == [
        "train.py:34 attend (softmax)",
        "train.py:50 loss (sum)",
    ]
    keys = [each["key"] for each in skeleton["changes"]["items"]]
    assert keys == ["program/PROG004", "program/PROG004~2"]
    second = ncuview.view(everything(), "finding", key=keys[1])["finding"]
    assert second["places"]["items"][0]["where"] == "train.py:50 loss (sum)"
    assert second["launches"]["items"] == [skeleton["calls"]["items"][1]["key"]]
    opened = ncuview.view(everything(), "launch", key=skeleton["calls"]["items"][0]["key"])["launch"]
    assert opened["call"] == "train.py:34 attend (softmax)"


@each_view
def test_what_was_not_judged_is_in_every_view(name: ViewName) -> None:
    found = ncuview.view(everything(), name, max_bytes=LARGEST)
    gaps = found["not_judged"]
    assert gaps["complete"] is False
    counts = {word: gaps[word] for word in ("launches", "not_judged", "not_yours", "skipped", "broken", "damaged")}
    assert counts == {"launches": 5, "not_judged": 1, "not_yours": 1, "skipped": 2, "broken": 2, "damaged": 1}
    assert (gaps["selected"], gaps["untimed"], gaps["unprofiled"]) == (1, 1, 7)
    assert {each["kind"] for each in gaps["reasons"]["items"]} == set(get_args(GapKind))
    assert found["error"]["id"] == "ProgramFailed"
    shown = brief(everything(), name, max_bytes=LARGEST)
    assert "not judged: launches are missing, launches not judged 1, launches not yours 1, rules skipped 2" in shown
    assert "Incomplete [ProgramFailed]" in shown
    assert "launches not profiled 7" in shown


@each_view
@pytest.mark.parametrize("answer", [diagnosis(), everything(), of_text("x")], ids=["sample", "everything", "x"])
def test_a_view_is_as_its_schema_says(name: ViewName, answer: Diagnosis) -> None:
    assert not problems(ncuview.view(answer, name), "view")


def test_nothing_has_a_skeleton_and_no_launch() -> None:
    failure = Failure("NCU-PERM", "ncu was refused the counters", "Ask the administrator. " * 30, 5)
    document = ncuview.view(Diagnosis((), (), failure=failure))
    assert document["error"]["hint"] == failure.hint
    assert not problems(document, "view")
    assert document["error"]["id"] == "NCU-PERM"
    assert [each["kind"] for each in document["not_judged"]["reasons"]["items"]] == ["missing"]
    with pytest.raises(UsageError, match="no launch to show"):
        ncuview.view(Diagnosis((), (), failure=failure), "launch")


@pytest.mark.parametrize("form", ["txt", "json"])
def test_views_stay_as_they_are(form: str, golden: Callable[[str, str], None]) -> None:
    if form == "txt":
        golden("views.txt", "\n".join(brief(everything(), name) for name in VIEWS))
    else:
        shown = [json.dumps(view(everything(), name), indent=1) for name in VIEWS]
        golden("views.json", "[" + ",\n".join(shown) + "]\n")


# The limit.


@each_view
@each_payload
def test_no_text_makes_an_answer_too_large(name: ViewName, text: str) -> None:
    answer = of_text((text or " ") * (10_000 // (len(text) or 1) or 1))
    for limit in (SMALLEST, MOST_BYTES):
        assert longest(view(answer, name, max_bytes=limit)) <= limit
        assert len(brief(answer, name, max_bytes=limit).encode()) <= limit
    if name != "launch":
        nothing = replace(answer, launches=())
        assert longest(view(nothing, name, max_bytes=SMALLEST)) <= SMALLEST
        assert len(brief(nothing, name, max_bytes=SMALLEST).encode()) <= SMALLEST


@given(
    text=st.one_of(st.text(max_size=300), st.sampled_from(sorted(PAYLOADS.values()))),
    times=st.sampled_from([1, 40]),
    launches=st.integers(0, 12),
    limit=st.integers(SMALLEST, LARGEST),
    name=st.sampled_from(VIEWS),
)
@settings(max_examples=40, deadline=None)
def test_an_answer_has_at_most_its_limit(text: str, times: int, launches: int, limit: int, name: ViewName) -> None:
    answer = of_text(text * times, launches)
    if not launches and name == "launch":
        return
    document = view(answer, name, max_bytes=limit)
    assert longest(document) <= limit
    assert len(json.dumps(document, ensure_ascii=False).encode()) <= limit
    assert len(brief(answer, name, max_bytes=limit).encode()) <= limit
    assert not problems(document, "view")


@each_view
@pytest.mark.parametrize(
    "text", ["kernel", "\U0001f680" * 10_000, '##["\\' * 2_500], ids=["short", "rockets", "escaped"]
)
def test_cursors_reach_every_entry_once(name: ViewName, text: str) -> None:
    answer = of_text(text, 30)
    for list_name, first in pages(view(answer, name, max_bytes=SMALLEST)).items():
        page, seen, steps = first, len(first["items"]), 0
        while page["cursor"]:
            document = view(answer, cursor=page["cursor"], max_bytes=SMALLEST)
            assert longest(document) <= SMALLEST
            assert len(brief(answer, cursor=page["cursor"], max_bytes=SMALLEST).encode()) <= SMALLEST
            page = pages(document)[list_name]
            assert page["shown"] == len(page["items"]) >= 1
            assert all(not other["items"] for key, other in pages(document).items() if key != list_name)
            seen, steps = seen + page["shown"], steps + 1
        assert seen == first["total"] == page["total"], list_name


def test_ten_thousand_launches_with_names_of_ten_kilobytes_fit() -> None:
    name = "void " + "very_long_name<" * 700
    launch = replace(launch_near_peak(), kernel=name, demangled=name)
    launches = tuple(replace(launch, index=at, grid=(at + 1, 1, 1)) for at in range(10_000))
    answer = Diagnosis(launches, diagnosis().reports)
    document = view(answer)
    assert longest(document) <= MOST_BYTES
    assert document["skeleton"]["groups"]["total"] == 10_000
    assert document["skeleton"]["groups"]["cursor"]
    last = f"{document['document']}/skeleton/groups/9999"
    assert view(answer, cursor=last)["skeleton"]["groups"]["shown"] == 1


@pytest.mark.parametrize(("limit", "why"), [(LARGEST + 1, "above 32768"), (SMALLEST - 1, "below 5000"), (-1, "below")])
def test_a_limit_out_of_range_is_refused_by_name(limit: int, why: str) -> None:
    with pytest.raises(UsageError, match=f"--max-bytes {limit} is {why}"):
        view(diagnosis(), max_bytes=limit)


def test_a_larger_limit_holds_more() -> None:
    launches = tuple(replace(launch_with_advice(), index=at, grid=(at + 1, 1, 1)) for at in range(200))
    answer = Diagnosis(launches, diagnosis().reports)
    shown = [view(answer, max_bytes=limit)["skeleton"]["groups"]["shown"] for limit in (SMALLEST, MOST_BYTES, LARGEST)]
    assert 1 <= shown[0] < shown[1] < shown[2] < 200


# Keys and cursors.


def test_keys_are_of_the_report_s_content_whatever_its_name_and_place() -> None:
    (report,) = diagnosis().reports
    moved = replace(report, path="elsewhere/x.ncu-rep")
    others = tuple(replace(each, report=moved.path) for each in diagnosis().launches[:2])
    before, after = (
        {each["key"] for each in ncuview.view(answer)["skeleton"]["groups"]["items"]}
        for answer in (diagnosis(), Diagnosis(others[::-1], (moved,)))
    )
    assert after < before


def test_equal_reports_have_keys_of_their_own() -> None:
    answer = Diagnosis((launch_with_advice(), launch_with_advice()), diagnosis().reports)
    part = ncuview.view(answer, "launch")["launch"]
    (other,) = part["equal"]["items"]
    assert other["key"] == f"{part['key']}~2"
    assert ncuview.view(answer, "launch", key=other["key"])["launch"]["key"] == other["key"]


def test_a_launch_measured_anew_has_another_key() -> None:
    again = replace(diagnosis(), reports=(replace(diagnosis().reports[0], created=datetime(2027, 1, 1, tzinfo=UTC)),))
    keys = [view(answer, "launch")["launch"]["key"] for answer in (diagnosis(), again)]
    assert keys[0] != keys[1]
    with pytest.raises(UsageError, match="no launch has the key"):
        view(again, "launch", key=keys[0])


@pytest.mark.parametrize("key", ["", "0-12345678", "x", "program/PROG001", "\x1b[2J" * 100])
def test_a_key_that_is_not_there_is_refused(key: str) -> None:
    known = view(diagnosis(), "launch")["launch"]["key"]
    for name, wrong in (("launch", key), ("finding", f"{known}/{key or 'X'}")):
        if wrong:
            with pytest.raises(UsageError, match=rf"no {name} has the key") as refused:
                view(diagnosis(), name, key=wrong)  # type: ignore[arg-type]
            assert len(str(refused.value)) < 300


def test_a_key_alone_opens_what_it_names() -> None:
    key = view(diagnosis(), "launch")["launch"]["key"]
    assert view(diagnosis(), key=key) == view(diagnosis(), "launch", key=key)
    assert view(diagnosis(), key=f"{key}/SMEM001") == view(diagnosis(), "finding", key=f"{key}/SMEM001")
    assert view(everything(), key="program/PROG004")["finding"]["rule"] == "PROG004"
    with pytest.raises(UsageError, match="--key is for the views launch and finding"):
        view(diagnosis(), "skeleton", key=key)


def many() -> Diagnosis:
    launches = tuple(replace(launch_with_advice(), index=at, grid=(at + 1, 1, 1)) for at in range(50))
    return Diagnosis(launches, diagnosis().reports)


def test_the_cursor_of_another_document_is_refused_by_name() -> None:
    cursor = view(many())["skeleton"]["groups"]["cursor"]
    assert view(many(), cursor=cursor)["skeleton"]["groups"]["shown"] > 0
    for other in (
        diagnosis(),
        replace(many(), launches=many().launches[:-1]),
        replace(many(), failure=Failure("ProgramFailed", "it ended", "", 6)),
        replace(many(), launches=(replace(many().launches[0], outcomes=()), *many().launches[1:])),
    ):
        with pytest.raises(UsageError, match="the cursor of another document"):
            view(other, cursor=cursor)


def test_the_cursor_of_another_view_or_key_is_refused() -> None:
    cursor = view(many())["skeleton"]["groups"]["cursor"]
    with pytest.raises(UsageError, match="another view or key"):
        view(many(), "launch", cursor=cursor)
    with pytest.raises(UsageError, match="another view or key"):
        view(many(), cursor=cursor, key="0-12345678")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "/",
        "////",
        "x" * 5_000,
        "\x1b[2J",
        "{document}/skeleton",
        "{document}/nonsense/groups/0",
        "{document}/skeleton/nonsense/0",
        "{document}/skeleton/groups/-1",
        "{document}/skeleton/groups/\u0665",
        "{document}/skeleton/groups/50",
        "{document}/skeleton/groups/" + "9" * 5_000,
        "{document}/launch/findings/0/nonsense",
    ],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError) as refused:
        view(many(), cursor=cursor.format(document=view(many())["document"]))
    assert len(str(refused.value)) < 300


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(UsageError, match="no view 'lauch'") as refused:
        ncuview.view(diagnosis(), "lauch")  # type: ignore[arg-type]
    assert "launch" in refused.value.hint


# Text of others.


@each_view
def test_what_comes_from_reports_is_marked_in_the_schema(name: ViewName) -> None:
    answer = of_reports(everything(), MARK)
    keys = [""] if name != "finding" else ["", f"{view(answer, 'launch')['launch']['key']}/SMEM001"]
    for key in keys:
        found = list(texts_in(view(answer, name, key=key, max_bytes=LARGEST), schema("view")))
        assert any(MARK in text for text, _ in found)
        assert not [text for text, foreign in found if MARK in text and not foreign]


@each_view
def test_what_comes_from_reports_is_quoted_in_the_text(name: ViewName) -> None:
    answer = of_reports(everything(), MARK)
    keys = [""] if name != "finding" else ["", f"{view(answer, 'launch')['launch']['key']}/SMEM001"]
    for key in keys:
        for line in brief(answer, name, key=key, max_bytes=LARGEST).splitlines():
            unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", line.partition("|")[0])
            assert MARK not in unquoted, line


@each_view
@each_payload
def test_no_text_adds_a_line_or_ends_its_quotes(name: ViewName, text: str) -> None:
    """A line that looks like one of ours would be taken for ours."""
    plain = brief(of_reports(everything(), MARK), name, max_bytes=LARGEST)
    shown = brief(of_reports(everything(), text or MARK), name, max_bytes=LARGEST)
    assert not [character for character in shown.replace("\n", "") if category(character) in {*CONTROLS, "Zl", "Zp"}]
    if len(text) < 200 and text.strip():
        assert shown.count("\n") == plain.count("\n")
    for line in shown.splitlines():
        head = re.sub(r"\|.*", "", line) if re.match(r"\s*(\d+ )?\|", line) else line
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', head)) % 2 == 0, line
    assert "##[" not in shown
    assert not re.search(r"(?m)^\s*::", shown)


@each_view
@each_payload
def test_a_view_is_valid_unicode(name: ViewName, text: str) -> None:
    document = view(of_text(text or "x"), name)
    assert json.dumps(document, ensure_ascii=False).encode()
    assert "##[" not in view_json(document)
