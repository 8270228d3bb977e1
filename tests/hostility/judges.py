"""What an output must be, whatever stands in it: of each format, strict readers, and a reader of a CI job's log."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO, StringIO
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
from junitparser import JUnitXml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.render.test_document import refuse_constant
from tests.render.test_github import commands
from tests.render.test_html_report import check_inert
from tests.render.test_junit import parsed
from tests.render.test_markdown import check, page_of
from tests.render.test_notebook import check_safe
from tests.render.test_sarif import validator

_MOVES = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_ORDER = re.compile(r"##\w*\[")
_WIDEST_ACTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def check_text(text: str) -> None:
    """No byte of it moves a cursor or hides text, and it can be written as UTF-8."""
    assert not _MOVES.search(text), ascii(_MOVES.search(text))
    text.encode("utf-8")


def check_log(text: str) -> None:
    """No line of it is an order to a CI job: GitHub looks for ``::`` after blanks, and for ``##[`` anywhere."""
    check_text(text)
    obeyed = [line for line in text.split("\n") if line.lstrip().startswith("::") or _ORDER.search(line)]
    assert not obeyed, obeyed[:3]


def check_json(text: str) -> Any:
    check_log(text)
    assert text.isascii()
    return json.loads(text, parse_constant=refuse_constant)


def check_markdown(text: str) -> None:
    check_log(text)
    check(page_of(text))


def check_html(text: str) -> None:
    check_log(text)
    check_inert(text)


def check_history(text: str) -> None:
    check_log(text)
    check_inert(text, frozenset({"data-changed"}))


def check_notebook(text: str) -> None:
    check_text(text)
    check_safe(text)


def check_junit(text: str) -> None:
    check_log(text)
    parsed(text)
    tree = ET.fromstring(text)
    cases = len(list(tree.iter("testcase")))
    assert sum(len(list(suite)) for suite in JUnitXml.fromstring(text.encode())) == cases > 0


def check_sarif(text: str) -> None:
    document = check_json(text)
    assert not list(validator().iter_errors(document))
    for result in document["runs"][0]["results"]:
        for location in result["locations"]:
            address = location["physicalLocation"]["artifactLocation"]["uri"]
            assert address
            assert not re.match(r"[/\\]|[A-Za-z][\w+.-]*:", address), address
            assert ".." not in address.split("/")


def check_gitlab(text: str) -> None:
    for entry in check_json(text):
        path = entry["location"]["path"]
        assert not path.startswith(("/", "\\"))
        assert ".." not in path.split("/")


def check_github(text: str) -> None:
    """Each line is one of our own orders, or no order."""
    check_text(text)
    assert commands(text)
    others = [line for line in text.split("\n") if not line.startswith("::")]
    check_log("\n".join(others))


def check_openmetrics(text: str) -> None:
    check_log(text)
    assert text.count("# EOF") == 1 or "\\" in text
    assert list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def check_csv(text: str) -> None:
    check_log(text)
    rows = list(csv.reader(StringIO(text), strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}
    for cell in (cell for row in rows for cell in row):
        assert not cell.lstrip().startswith(_WIDEST_ACTS) or _is_number(cell), cell[:80]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def check_parquet(content: bytes) -> None:
    table = pd.read_parquet(BytesIO(content))
    check_text("\n".join(map(str, [*table.columns, *table.to_numpy().ravel()])))


JUDGES: Mapping[str, Callable[[Any], object]] = {
    "terminal": check_log,
    "json": check_json,
    "markdown": check_markdown,
    "summary": check_markdown,
    "html": check_html,
    "junit": check_junit,
    "sarif": check_sarif,
    "github": check_github,
    "gitlab": check_gitlab,
    "openmetrics": check_openmetrics,
    "csv": check_csv,
    "parquet": check_parquet,
}
"""Format -> what is asked of an output in it."""
