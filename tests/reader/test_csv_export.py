"""CSV exports give the numbers of the report that they were made of, in base units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.reader import csv_export
from ncuview.reader.csv_export import base_unit, function_name, read_csv
from ncuview.reader.equivalents import METRIC_OF_LABEL
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Broken, Finding
from ncuview.records.profile import Profile
from tests.profiles import RECORDED, profile_of
from tests.reader.exports import ABOUT, OLDER, Row, details_page, details_page_with_rules, raw_page
from tests.together import together

TRANSPOSE = shipped("kernels") / "transpose" / "h200.ncu-repz"
TIME, BYTES = "gpu__time_duration.sum", "dram__bytes_read.sum"
UNKNOWN = ("Elapsed Cycles", "Frequency")
"""Labels for people that mean no metric for certain; one is a single word, as names of metrics are."""
BASE = {TIME: "ns", BYTES: "byte"}

Export = Callable[[str], Path]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    def write(text: str) -> Path:
        path = tmp_path / "export.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def transpose() -> Profile:
    return read([TRANSPOSE])


def as_rows(profile: Profile) -> list[Row]:
    """The launches of a profile; a counter missing for a launch is an empty cell."""
    rows = []
    for about, numbers in zip(profile.launches.to_dict("records"), profile.metrics.to_dict("records"), strict=True):
        metrics = {str(name): value for name, value in numbers.items() if not math.isnan(value)}
        extents = (tuple(about[f"{of}_{axis}"] for axis in "xyz") for of in ("block", "grid"))
        rows.append(Row({**metrics, "device__attribute_display_name": about["device"]}, about["demangled"], *extents))
    return rows


def units_of(profile: Profile) -> dict[str, str]:
    return {**profile.units, "device__attribute_display_name": ""}


@pytest.mark.parametrize("page", [raw_page, details_page, details_page_with_rules])
def test_a_recorded_profile_comes_back_without_its_code(
    transpose: Profile, page: Callable[..., str], export: Export
) -> None:
    path = export(page(as_rows(transpose), units_of(transpose)))
    found = read([path])
    pd.testing.assert_frame_equal(found.metrics[transpose.metrics.columns], transpose.metrics)
    assert {name: found.units[name] for name in transpose.units} == dict(transpose.units)
    only_here = ["report", "process", "process_name"]  # the export names another process
    pd.testing.assert_frame_equal(
        found.launches.drop(columns=only_here), transpose.launches.drop(columns=only_here), check_column_type=False
    )
    assert set(found.launches["report"]) == {str(path)}
    assert len(found.instructions) == 0


def test_what_an_export_shows_beyond_the_report_is_likely_and_no_more(transpose: Profile, export: Export) -> None:
    rules = load_rules()
    full = diagnose(transpose, rules)
    lean = diagnose(read([export(raw_page(as_rows(transpose), units_of(transpose)))]), rules)
    for before, after in zip(full.launches, lean.launches, strict=True):
        known = {outcome.rule for outcome in before.outcomes if isinstance(outcome, Finding)}
        found = [outcome for outcome in after.outcomes if isinstance(outcome, Finding)]
        assert {outcome.rule for outcome in found if outcome.grade == "certain"} <= known
        assert not any(outcome.where for outcome in found)
        assert not any(isinstance(outcome, Broken) for outcome in after.outcomes)
        assert (after.bottleneck, after.duration_ns) == (before.bottleneck, before.duration_ns)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**53).map(float)
names = st.from_regex(r"[a-z]{2,8}__[a-z_]{1,12}(\.(sum|avg|max))?(\.(pct|ratio|per_second))?", fullmatch=True)
tables = st.lists(names, min_size=1, max_size=6, unique=True).flatmap(
    lambda columns: st.lists(st.dictionaries(st.sampled_from(columns), numbers), min_size=1, max_size=5)
)
kernels = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1)


@given(tables.filter(any), st.sampled_from(["byte", "ns", "%", "sector", "inst/cycle", ""]))
def test_any_numbers_in_base_units_come_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, table: list[dict[str, float]], unit: str
) -> None:
    units = dict.fromkeys((name for metrics in table for name in metrics), unit)
    path = tmp_path_factory.mktemp("any") / "x.csv"
    for page in (raw_page, details_page):
        rows = [Row(metrics) for metrics in table if metrics or page is raw_page]
        path.write_text(page(rows, units), encoding="utf-8")
        launches = read_csv(path).launches
        values = np.reshape(launches.values, (len(rows), len(launches.metrics)))
        for row, found in zip(rows, values, strict=True):
            by_name = dict(zip(launches.metrics, found.tolist(), strict=True))
            assert {name: by_name[name] for name in row.metrics} == row.metrics
            assert all(math.isnan(by_name[name]) for name in units if name not in row.metrics)


@given(kernels)
def test_any_kernels_name_comes_back(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    path = tmp_path_factory.mktemp("names") / "x.csv"
    path.write_bytes(raw_page([Row({TIME: 1.0}, kernel=name)], {TIME: "ns"}).encode())
    assert read_csv(path).launches.demangled == [name]


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [
        ("Kbyte", 1e3, "byte"),
        ("Mbyte", 1e6, "byte"),
        ("Gbyte", 1e9, "byte"),
        ("byte", 1, "byte"),
        ("Kbyte/block", 1e3, "byte/block"),
        ("Gbyte/second", 1e9, "byte/s"),
        ("Tbyte/s", 1e12, "byte/s"),
        ("nsecond", 1, "ns"),
        ("usecond", 1e3, "ns"),
        ("msecond", 1e6, "ns"),
        ("second", 1e9, "ns"),
        ("us", 1e3, "ns"),
        ("ms", 1e6, "ns"),
        ("s", 1e9, "ns"),
        ("cycle/nsecond", 1e9, "cycle/s"),
        ("cycle/usecond", 1e6, "cycle/s"),
        ("cycle/second", 1, "cycle/s"),
        ("Ghz", 1e9, "hz"),
        ("GHz", 1e9, "hz"),
        ("%", 1, "%"),
        ("", 1, ""),
        ("inst/cycle", 1, "inst/cycle"),
        ("register/thread", 1, "register/thread"),
        ("SM", 1, "SM"),
        ("sector", 1, "sector"),
        ("GPC", 1, "GPC"),
    ],
)
def test_units_are_scaled_to_base_units(unit: str, factor: float, base: str) -> None:
    assert base_unit(unit) == (factor, base)


def test_a_value_is_scaled_with_its_unit(export: Export) -> None:
    path = export(raw_page([Row({TIME: "327.58", BYTES: "1,268.44"})], {TIME: "usecond", BYTES: "Mbyte"}))
    profile = read([path])
    assert profile.metrics[TIME].tolist() == [327_580.0]
    assert profile.metrics[BYTES].tolist() == [pytest.approx(1_268_440_000.0, rel=1e-15)]
    assert (profile.units[TIME], profile.units[BYTES]) == ("ns", "byte")
    assert profile.launches["duration_ns"].tolist() == [327_580.0]


def test_each_row_of_the_long_form_is_scaled_by_its_own_unit(export: Export) -> None:
    text = details_page([Row({TIME: 5.0}), Row({TIME: 7.0})], {TIME: "us"})
    path = export(text.replace('"us","7"', '"ms","7"'))
    assert read([path]).launches["duration_ns"].tolist() == [5_000.0, 7_000_000.0]


def test_labels_for_people_and_remarks_of_rules_are_no_metrics(export: Export) -> None:
    text = details_page([Row({TIME: 5.0, "Elapsed Cycles": 9.0, "": 0.0})], {TIME: "ns", "Elapsed Cycles": "", "": ""})
    assert read_csv(export(text)).launches.metrics[0] == TIME
    with pytest.raises(ReportUnreadable, match="has the name of an Nsight Compute counter"):
        read_csv(export(details_page([Row(dict.fromkeys(UNKNOWN, 9.0))], dict.fromkeys(UNKNOWN, ""))))


def test_labels_that_mean_a_metric_for_certain_are_that_metric(export: Export) -> None:
    said = {"Duration": 5.5, "Block Limit SM": 32.0, "Elapsed Cycles": 9.0}
    page = details_page_with_rules(
        [Row(said)], {"Duration": "us", "Block Limit SM": "block", "Elapsed Cycles": "cycle"}
    )
    profile = read([export(page)])
    assert profile.launches["duration_ns"].tolist() == [5_500.0]
    assert profile.metrics["launch__occupancy_limit_blocks"].tolist() == [32.0]
    assert not [name for name in map(str, profile.metrics) if "cycles" in name]


def test_a_label_of_another_section_is_another_metric(export: Export) -> None:
    page = details_page([Row({TIME: 1.0, "Duration": 5.0})], {TIME: "ns", "Duration": "us"})
    assert read([export(page.replace("GPU Speed Of Light Throughput", "Mine"))]).launches["duration_ns"].tolist() == [
        1.0
    ]


def test_each_label_stands_for_a_metric_of_its_own() -> None:
    assert len(set(METRIC_OF_LABEL.values())) == len(METRIC_OF_LABEL) > 20
    assert all(csv_export._METRIC.fullmatch(name) for name in METRIC_OF_LABEL.values())
    assert not [label for _, label in METRIC_OF_LABEL if csv_export._METRIC.fullmatch(label)]


def test_sizes_and_chip_come_from_their_columns(export: Export) -> None:
    [launch] = read([export(raw_page([Row({TIME: 1.0})], BASE))]).launches.to_dict("records")
    assert [launch[f"{of}_{axis}"] for of in ("grid", "block") for axis in "xyz"] == [8192, 2, 1, 256, 1, 1]
    assert launch["compute_capability"] == "9.0"


def test_the_process_comes_from_its_columns(export: Export) -> None:
    [launch] = read([export(raw_page([Row({TIME: 1.0})], BASE))]).launches.to_dict("records")
    assert (launch["process"], launch["process_name"]) == (3411, "python3.11")


def test_an_older_export_without_sizes_is_read(export: Export) -> None:
    [launch] = read([export(raw_page([Row({TIME: 12.5})], {TIME: "usecond"}, OLDER))]).launches.to_dict("records")
    assert (launch["kernel"], launch["grid_x"], launch["duration_ns"]) == ("twice", 0, 12_500.0)


def test_what_was_printed_around_the_table_is_skipped(export: Export) -> None:
    table = raw_page([Row({TIME: 1.0})], {TIME: "ns"})
    text = f'it said "hello\n==PROF== Profiling "twice": 0%....100% - 6 passes\n{table}==PROF== Disconnected\n'
    assert read_csv(export(text)).launches.kernel == ["twice"]


def test_values_of_instances_after_a_number_and_byte_order_marks_are_skipped(export: Export) -> None:
    text = "\ufeff" + raw_page([Row({TIME: "1,234 (1,000; 234)"})], {TIME: "ns"})
    assert read([export(text)]).launches["duration_ns"].tolist() == [1234.0]


def test_texts_and_blanks_are_no_numbers(export: Export) -> None:
    rows = [Row({TIME: 1.0, BYTES: "n/a"}), Row({TIME: "nan", BYTES: 2.0})]
    profile = read([export(raw_page(rows, {**BASE, "device__attribute_architecture": ""}))])
    np.testing.assert_array_equal(profile.metrics[[TIME, BYTES]], [[1.0, math.nan], [math.nan, 2.0]])
    assert "device__attribute_architecture" not in profile.metrics.columns


def test_exports_and_reports_are_read_together_in_order(export: Export) -> None:
    path = export(raw_page([Row({TIME: 1.0})], {TIME: "ns"}))
    profile = read([path, TRANSPOSE, path])
    assert [report.path for report in profile.reports] == [str(path), str(TRANSPOSE), str(path)]
    assert profile.launches["kernel"].iloc[[0, -1]].tolist() == ["twice", "twice"]
    assert not set(profile.instructions["launch"]) & {0, len(profile.launches) - 1}


def test_only_the_launches_of_a_kernel_are_read_with_their_own_indices(export: Export) -> None:
    rows = [Row({TIME: 1.0}), Row({TIME: 2.0}, kernel="void a::b<c(1), d<2>>::thrice<int>(int, T1)"), Row({TIME: 3.0})]
    path = export(raw_page(rows, {TIME: "ns"}))
    assert read([path], kernel="twice").launches["index"].tolist() == [0, 2]
    assert read([path], kernel="regex:^th").launches["index"].tolist() == [1]
    with pytest.raises(ReportEmpty, match="no launch of a kernel 'four'") as refusal:
        read([path], kernel="four")
    assert refusal.value.hint == "There are: thrice, twice."


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("twice(float *, const float *)", "twice"),
        ("twice", "twice"),
        ("void at::native::fill<4, at::Functor<float>, at::Array<char *, (int)1>>(int, T2, T3)", "fill"),
        ("void <unnamed>::softmax<float, (bool)0>(T1 *)", "softmax"),
        ("void (anonymous namespace)::softmax<float>(T1 *)", "softmax"),
        ("void for_each<thrust::f<[lambda(int) -> int (instance 1)]>>(T1)", "for_each"),
        ("()", "()"),
    ],
)
def test_a_kernels_bare_name_is_found_in_its_demangled_name(demangled: str, name: str) -> None:
    assert function_name(demangled) == name


@together("path", RECORDED)
def test_bare_names_are_those_that_reports_give(path: Path) -> None:
    launches = profile_of(path).launches
    assert launches["demangled"].map(function_name).tolist() == launches["kernel"].tolist()


TWO_METRICS = details_page([Row({TIME: 1.0, BYTES: 2.0})], BASE)
COMPLETE = raw_page([Row({TIME: 1.0, BYTES: 2.0}), Row({TIME: 3.0, BYTES: 4.0})], BASE)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", ReportUnreadable, "holds no table"),
        ("a,b\n1,2\n", ReportUnreadable, "holds no table"),
        (raw_page([], BASE), ReportEmpty, "holds no kernel launch"),
        (",".join(ABOUT) + "\n", ReportEmpty, "holds no kernel launch"),
        (COMPLETE[:-1], ReportDamaged, "its last line is incomplete"),
        (COMPLETE.replace('"4"', '"4'), ReportDamaged, "damaged at line 4"),
        (COMPLETE[: COMPLETE.rindex(",")] + "\n", ReportDamaged, r"line 4: 12 cells, and the header has 13"),
        (COMPLETE.replace('"ns","byte"\n', '"ns"\n'), ReportDamaged, "damaged at line 2"),
        ("\n".join(line for line in COMPLETE.split("\n") if '"ns"' not in line), ReportUnreadable, "no row of units"),
        (COMPLETE.replace('"4"', '"4,5"'), ReportUnreadable, "decimal commas"),
        (COMPLETE.replace('"4"', '"1.234,5"'), ReportUnreadable, "decimal commas"),
        (COMPLETE.replace('"4"', '"1.234.567"'), ReportUnreadable, "dots between thousands"),
        (details_page_with_rules([Row({TIME: 1.0})], BASE).replace('"1",\n', '"1","",\n'), ReportDamaged, "17 cells"),
        (details_page_with_rules([Row({TIME: 1.0})], BASE).replace('"1",\n', "\n"), ReportDamaged, "15 cells"),
        (raw_page([Row()], {}), ReportUnreadable, "has the name of an Nsight Compute counter"),
        (TWO_METRICS.replace("twice", "thrice", 1), ReportDamaged, "launch 0 is of thrice.* and of twice"),
    ],
)
def test_an_incomplete_export_is_refused(export: Export, text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read_csv(export(text))


@given(st.integers(0, len(COMPLETE) - 1))
def test_a_cut_export_gives_no_other_numbers(tmp_path_factory: pytest.TempPathFactory, end: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "x.csv"
    path.write_text(COMPLETE[:end], encoding="utf-8")
    try:
        launches = read_csv(path).launches
    except (ReportDamaged, ReportEmpty, ReportUnreadable):
        return
    values = np.reshape(launches.values, (len(launches.index), len(launches.metrics)))
    assert values[:, : len(BASE)].tolist() == [[1.0, 2.0], [3.0, 4.0]][: len(launches.index)]


@given(st.text(alphabet="ab<>-: (", max_size=30))
def test_what_stands_between_angles_is_no_part_of_a_bare_name(name: str) -> None:
    rest, shorter = "", name.replace("->", "")
    while rest != shorter:
        rest, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    words = rest.partition("(")[0].rpartition("::")[2].split()
    assert function_name(name) == (words[-1] if words else name)


def test_deeply_nested_angles_are_read_once() -> None:
    assert function_name("<" * 60_000 + ">" * 60_000 + "k<" * 1_000 + "(x)") == "k<" * 1_000


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5_000])
def test_numbers_beyond_all_counting_are_no_indices_and_no_sizes(export: Export, number: str) -> None:
    text = raw_page([Row({TIME: 1.0}, grid=(1, 2, 3))], {TIME: "ns"})
    profile = read([export(text.replace('"0","3411"', f'"{number}","3411"').replace("(1, 2, 3)", f"({number}, 2, 3)"))])
    assert profile.launches[["index", "grid_x"]].to_numpy().tolist() == [[0, 0]]


@pytest.mark.parametrize("hostile", [b"\0", b"\xff\xfe", b'"', b"\r", b"\x1b]0;x\x07", b"," * 200_000, b"a" * 200_000])
def test_hostile_bytes_are_read_or_refused(export: Export, hostile: bytes) -> None:
    path = export(COMPLETE)
    for place in range(0, len(COMPLETE), 7):
        path.write_bytes(COMPLETE[:place].encode() + hostile + COMPLETE[place:].encode())
        with suppress(ReportError):
            assert len(read_csv(path).launches.index) <= 2


def test_an_export_larger_than_a_table_of_launches_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as sparse:
        sparse.truncate(1 << 30)
    with pytest.raises(ReportUnreadable, match="larger than 256 MiB"):
        read([path])


def test_an_export_that_does_not_fit_into_memory_is_refused(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(csv_export, "_reading", full)
    with pytest.raises(ReportUnreadable, match="does not fit into memory"):
        read([export(COMPLETE)])
