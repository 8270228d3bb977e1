"""Hostile text in reports, in names of files and in arguments arrives at the client as harmless, bounded text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import pytest

from tests.hostile import PAYLOADS
from tests.mcp_server.client import PATIENCE_S, Client, served
from tests.mcp_server.test_tools import METRICS
from tests.reader.exports import Row, raw_page

VALUES = dict(zip(METRICS, (1000.0, 40.0), strict=True))
SOME = dict(islice(((name, text) for name, text in PAYLOADS.items() if text.strip()), 0, None, 10))
"""A tenth of them: ``tests/nightly`` takes all."""
KERNELS = {name: text for name, text in PAYLOADS.items() if text.strip()}


def encodable(text: str) -> str:
    """The text as a file can hold it: without lone surrogates, and without what ends a cell or a line of a log."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with served(tmp_path_factory.mktemp("hostile")) as connected:
        yield connected


def test_hostile_names_of_kernels_are_shown_safely_and_within_the_limit(client: Client) -> None:
    rows = [Row(VALUES, encodable(text), grid=(at + 1, 1, 1)) for at, text in enumerate(KERNELS.values())]
    (client.root / "kernels.csv").write_text(raw_page(rows, METRICS), encoding="utf-8", newline="")
    seen, cursor = 0, ""
    while cursor is not None:
        answer = client.ask("diagnose", reports=["kernels.csv"], cursor=cursor)  # the client has checked each text
        groups = answer.document["skeleton"]["groups"]
        seen, cursor = seen + groups["shown"], groups["cursor"]
        assert answer.size <= 6_000
    assert seen == len(rows)
    changed = client.ask("diff", before="kernels.csv", after="kernels.csv", max_bytes=6_000)
    assert changed.size <= 6_000


def test_hostile_arguments_are_errors_or_answers_and_never_more(client: Client) -> None:
    check_arguments(client, SOME)


def check_arguments(client: Client, payloads: Mapping[str, str]) -> None:
    (client.root / "one.csv").write_text(raw_page([Row(VALUES, "copy(float *)")], METRICS))
    for name, payload in payloads.items():
        text = payload.encode("utf-8", "replace").decode()  # no message can hold a lone surrogate
        asked = [
            client.start("diagnose", reports=[text]),
            client.start("diagnose", kernel=text),
            client.start("diagnose", reports=["one.csv"], kernel_name=text, source_folders=[text]),
            client.start("diagnose", reports=["one.csv"], cursor=text),
            client.start("diagnose", reports=["one.csv"], key=text),
            client.start("explain", name=text),
            client.start("explain", name="l2", cursor=text),
            client.start("diff", before=text, after="one.csv"),
            client.start("plan", program=[text]),
            client.start("try", target=text, dry_run=True),
            client.start("try", target="transposeNaive", dry_run=True, cursor=text),
            client.start("try", target=f"{text}.cu", dry_run=True, kernel_name=text, grid=text, args=[text]),
            client.start("try", program=[text], build=text, tree=text),
            client.start(text, name=text),
            client.start("explain", **{text: text}),
        ]
        for each in asked:
            answer = each.result(PATIENCE_S)
            assert answer.size <= 6_000, name
            assert answer.is_error or "schema" in answer.document, name


def test_hostile_names_of_files_are_shown_safely(client: Client) -> None:
    check_file_names(client, SOME)


def check_file_names(client: Client, payloads: Mapping[str, str]) -> None:
    page = raw_page([Row(VALUES, "copy(float *)")], METRICS)
    for name, text in payloads.items():
        file = encodable(text).replace("/", "_").encode()[:200].decode("utf-8", "ignore") + ".csv"
        (client.root / file).write_text(page)
        assert client.ask("diagnose", reports=[file]).document["not_judged"]["launches"] == 1, name
        (client.root / file).write_text("")
        assert client.error("diagnose", reports=[file])["id"] in {"ReportUnreadable", "ReportEmpty"}, name
