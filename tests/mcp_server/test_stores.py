"""``store`` through the official client: each question, its bounds, its errors, and hostile names in a store."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import ncuview
from tests.hostile import PAYLOADS
from tests.mcp_server.client import Client, served
from tests.mcp_server.test_hostile import encodable
from tests.store.small_store import SmallStore, of_day

KERNELS = 60
QUESTIONS: list[dict[str, Any]] = [
    {"question": "top"},
    {"question": "history", "kernel": "n::k"},
    {"question": "compare", "by": "gpu"},
    {"question": "compare", "by": "gpu", "kernel": "k"},
    {"question": "compare", "by": "shape"},
    {"question": "outliers"},
    {"question": "unprofiled"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = tmp_path_factory.mktemp("root")
    fleet = SmallStore(root / "fleet")
    for day, value in enumerate([100.0, 100.0, 101.0]):
        fleet.add(
            *[{"duration_ns": 1_000.0}] * 9, metrics=[{"smsp__inst_executed.sum": value}] * 9, **of_day(day)
        )  # fmt: skip
    fleet.add({"gpu": "NVIDIA H100", "duration_ns": 2_000.0}, {"grid_x": 128}, **of_day(3))
    new = {"function": "n::new", "verdict": "not-judged", "attained": None}
    fleet.add({"duration_ns": 9_000.0}, new, damage="cut short", **of_day(4))
    many = SmallStore(root / "many")
    many.add(*({"kernel": f"k{at}", "function": f"n::k{at}", "verdict": "not-judged"} for at in range(KERNELS)))
    (root / "empty").mkdir()
    (root / "file.csv").write_text("x")
    with served(root) as connected:
        yield connected


@pytest.mark.parametrize("arguments", QUESTIONS, ids=str)
def test_each_question_has_the_rows_of_the_command_line(client: Client, arguments: dict[str, Any]) -> None:
    words = [arguments["question"], *filter(None, [arguments.get("kernel")])]
    words += ["--by", arguments["by"]] if "by" in arguments else []
    printed = ncuview("store", *words, "--from", client.root / "fleet", "--limit", "5", "--format", "json").document
    answer = client.ask("store", store="fleet", max_bytes=32_768, **arguments)
    found = answer.document
    assert (found["question"], found["reports"], found["damaged"]) == (printed["question"], 5, 1)
    assert found["rows"]["total"] == found["rows"]["shown"] > 0
    tables = {each["key"]: each for each in found["tables"]}
    for table, expected in zip(tables.values(), printed["tables"], strict=True):
        assert (table["title"], table["columns"]) == (expected["title"], expected["columns"])
        assert (table["settings"], table["units"]) == (expected["settings"], expected["units"])
        assert table["left_out"] == expected["left_out"]
        rows = [each["cells"] for each in found["rows"]["items"] if each["table"] == table["key"]]
        assert rows == [[*map(exact, row)] for row in expected["rows"]]
    assert found["notes"]["items"] == printed["notes"]


def exact(cell: Any) -> Any:
    return str(cell) if type(cell) is int and cell > 2**53 else cell


def test_rows_go_on_at_the_cursor_and_keep_their_keys(client: Client) -> None:
    asked = {"store": "many", "question": "unprofiled", "limit": 100}
    names: list[str] = []
    keys: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = client.ask("store", cursor=cursor, **asked)
        rows = answer.document["rows"]
        assert answer.size <= 6_000
        assert rows["total"] == KERNELS > rows["shown"]
        assert [each["key"] for each in answer.document["tables"]] == ["table-0"]
        names += [each["cells"][0] for each in rows["items"]]
        keys += [each["key"] for each in rows["items"]]
        cursor = rows["cursor"]
    assert sorted(names) == sorted(f"n::k{at}<float>" for at in range(KERNELS))
    assert len({*keys}) == KERNELS
    (row,) = client.ask("store", key=keys[40], **asked).document["rows"]["items"]
    assert (row["cells"][0], row["key"]) == (names[40], keys[40])


def test_a_table_says_how_many_rows_the_limit_has_cut(client: Client) -> None:
    (table,) = client.ask("store", store="many", question="unprofiled", limit=3).document["tables"]
    assert table["left_out"] == KERNELS - 3


def test_an_empty_answer_has_no_rows(client: Client) -> None:
    found = client.ask("store", store="fleet", question="compare", by="rank").document
    assert (found["tables"], found["rows"]["total"]) == ([], 0)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"store": "fleet", "question": "why"}, "UsageError", "question: Input should be 'top'"),
        ({"store": "fleet", "question": "top", "limit": 0}, "UsageError", "limit"),
        ({"store": "fleet", "question": "top", "kernel": "k"}, "UsageError", "takes no kernel"),
        ({"store": "fleet", "question": "top", "by": "gpu"}, "UsageError", "by is for compare"),
        ({"store": "fleet", "question": "compare"}, "UsageError", "compare needs it"),
        ({"store": "fleet", "question": "history"}, "UsageError", "history is of a kernel"),
        ({"store": "fleet", "question": "history", "kernel": "nix"}, "UnknownKernel", "nix"),
        ({"store": "fleet", "question": "top", "cursor": "x/rows/1"}, "UsageError", "no cursor"),
        ({"store": "fleet", "question": "top", "key": "x"}, "UsageError", "no row has the key"),
        ({"store": "empty", "question": "top"}, "ReportEmpty", "is no store"),
        ({"store": "missing", "question": "top"}, "ReportEmpty", "is no store"),
        ({"store": "file.csv", "question": "top"}, "UsageError", "is a file, not a store"),
        ({"store": "f*", "question": "top"}, "UsageError", "may not contain"),
        ({"store": "memory://fleet", "question": "top"}, "ReportEmpty", "is no store"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else str(value),
)
def test_what_cannot_be_asked_is_an_error(client: Client, arguments: dict[str, Any], error: str, says: str) -> None:
    found = client.error("store", **arguments)
    assert (found["id"], says in found["message"]) == (error, True), found


@pytest.mark.parametrize("name", ["../fleet", "/etc", "fleet/../../x", "/no-such-folder"])
def test_a_store_outside_of_the_roots_is_refused(client: Client, name: str) -> None:
    assert client.error("store", store=name, question="top")["id"] == "OutsideRoots"


def test_links_that_lead_out_of_a_store_are_refused_and_pipes_too(client: Client, tmp_path: Path) -> None:
    outside = SmallStore(tmp_path / "outside")
    outside.add({"function": "n::secret"})
    (client.root / "linked").symlink_to(outside.name)
    assert client.error("store", store="linked", question="top")["id"] == "OutsideRoots"
    inside = shutil.copytree(outside.name, client.root / "inside")
    file = next(inside.glob("launches/**/*.parquet"))
    file.unlink()
    file.symlink_to(next(Path(outside.name).glob("launches/**/*.parquet")))
    assert client.error("store", store="inside", question="top")["id"] == "OutsideRoots"
    file.unlink()
    os.mkfifo(file)
    assert "is a pipe or device" in client.error("store", store="inside", question="top")["message"]


def test_hostile_names_in_a_store_are_shown_safely_and_within_the_limit(client: Client) -> None:
    store = SmallStore(client.root / "hostile")
    texts = [encodable(text) for text in PAYLOADS.values() if text.strip()]
    for at, text in enumerate(texts):
        name = {"function": text, "demangled": text, "kernel": text}
        store.add(
            {**name, "verdict": "not-judged"}, gpu=text[:20], point=text, created=of_day(at)["created"], damage=text
        )
    for question in QUESTIONS:
        arguments = {**question, "kernel": texts[0]} if "kernel" in question else question
        seen, cursor, total = 0, "", None
        while cursor is not None:  # the client checks each text
            answer = client.ask("store", store="hostile", limit=1_000, cursor=cursor, **arguments)
            assert answer.size <= 6_000
            rows = answer.document["rows"]
            assert rows["shown"] or not rows["total"] or not cursor
            seen, cursor, total = seen + rows["shown"], rows["cursor"], rows["total"]
        assert seen == total
    for text in list(PAYLOADS.values())[::10]:
        for asked in ({"question": "history", "kernel": text}, {"question": "top", "cursor": text, "key": text}):
            sent = {name: word.encode("utf-8", "replace").decode() for name, word in asked.items()}
            answer = client.start("store", store="hostile", **sent).result(240)
            assert answer.size <= 6_000
        answer = client.start("store", store=text.encode("utf-8", "replace").decode(), question="top").result(240)
        assert answer.is_error
