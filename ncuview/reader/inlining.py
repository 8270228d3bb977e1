"""Add to a ``Profile`` the call site of each inlined instruction: the line in the kernel's own code that called it.

``with_call_sites`` reads the line tables of the cubins in the profile's report files, since ncu reports no calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from ntpath import basename
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ncuview.reader.line_table import LineTable, LineTableError, Row, line_tables
from ncuview.reader.modules import modules
from ncuview.records.profile import CallSite, Profile

if TYPE_CHECKING:
    import pandas as pd


def with_call_sites(profile: Profile) -> Profile:
    """The profile with the line of the kernel that each inlined instruction was called from.

    The report files are read once more. A module is used where its line table agrees with ncu about the line of every
    executed instruction; a launch without such a module, or from a file that no longer exists, has no call sites.
    """
    with_lines = profile.instructions.loc[profile.instructions["line"] > 0, ["launch", "address", "file", "line"]]
    found: dict[int, Mapping[int, CallSite]] = {}
    for report in profile.reports:
        launches = profile.launches.index[profile.launches["report"] == report.path]
        rows = with_lines[with_lines["launch"].isin(launches)]
        if not rows.empty:
            kernels = {int(launch): str(profile.launches["kernel"].loc[launch]) for launch in rows["launch"].unique()}
            tables = _tables(Path(report.path), set(kernels.values()))
            found |= _of_launches(rows, kernels, tables)
    return replace(profile, call_sites=found)


def _tables(report: Path, kernels: set[str]) -> list[LineTable]:
    return [table for module in modules(report) for table in _readable(module, kernels)]


def _readable(module: bytes, kernels: set[str]) -> Sequence[LineTable]:
    try:
        return line_tables(module, kernels)
    except LineTableError:
        return ()


def _of_launches(
    rows: pd.DataFrame, kernels: Mapping[int, str], tables: Sequence[LineTable]
) -> dict[int, Mapping[int, CallSite]]:
    found: dict[int, Mapping[int, CallSite]] = {}
    of_code: dict[tuple[str, bytes], Mapping[int, CallSite] | None] = {}
    for launch, of_launch in rows.groupby("launch"):
        number = int(str(launch))
        kernel = kernels[number]
        code = (kernel, of_launch[["address", "line"]].to_numpy(np.int64).tobytes())
        if code not in of_code:
            of_code[code] = _call_sites(of_launch, [table for table in tables if kernel in table.function])
        known = of_code[code]
        if known is not None:
            found[number] = known
    return found


def _call_sites(rows: pd.DataFrame, tables: Sequence[LineTable]) -> Mapping[int, CallSite] | None:
    """Address -> call, by the first table that agrees with ncu; None where none does."""
    said = list(zip(rows["address"], rows["file"], rows["line"], strict=True))
    for table in tables:
        named = {address: _named(table, address, file, line) for address, file, line in said}
        if all(named.values()):
            names = _names(list(rows["file"].unique()))
            calls = {address: row and table.call_of(row) for address, row in named.items()}
            return {
                address: CallSite(names.get(basename(call.file), call.file), call.line)
                for address, call in calls.items()
                if call and call.line > 0
            }
    return None


def _named(table: LineTable, address: int, file: str, line: int) -> Row | None:
    """The row that ncu names for an instruction: the innermost, or the call before it at the same address.

    Only the last part of the file's path is compared: folders may be written in another way.
    """
    rows = reversed(table.rows_at(address))
    return next((row for row in rows if row.line == line and _last_part(row.file) == _last_part(file)), None)


_last_part = lru_cache(maxsize=1 << 10)(basename)
"""Asked for each instruction, of few files."""


def _names(files: Sequence[str]) -> dict[str, str]:
    """A file's last part -> its name as ncu has it, where that is the only one."""
    last = [basename(file) for file in files]
    return {part: file for part, file in zip(last, files, strict=True) if last.count(part) == 1}
