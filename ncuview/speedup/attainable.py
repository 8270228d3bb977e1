"""Look up by a GPU's name the share of peak that each unit attains and other figures, in the user's or shipped table.

``of_gpu`` returns a GPU's figures, ``figure_columns`` columns for rules; ``save_calibration`` writes the user's table.

The table is TOML with one section per GPU. A GPU's section in the user's table comes first; what is missing there
comes from the shipped table's section, and what is missing in that from its default.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from ncuview.base.errors import TableError
from ncuview.base.files import parse_toml, replace_file
from ncuview.base.paths import users_table
from ncuview.gpus import DEFAULT, FIGURE_NAMES, shipped_tables
from ncuview.metrics.units import UNITS
from ncuview.records.profile import Calibration
from ncuview.records.program import Estimate, ProgramGpu

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis

    Column = NDArray[np.float64]

MOST = 1.05
"""A counter may slightly exceed its peak, because its cycles are read in another pass."""

_HEADER = "# Written by `ncuview calibrate`, which replaces the section of the GPU that it measures, and no other."
_PART = re.compile(r"(?m)^(?=[ \t]*\[)")
_FIX = "Fix it, or delete it and run `ncuview calibrate` again."

Share = Annotated[float, Field(gt=0, le=MOST)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Bounds(_Part):
    """The attainable share of one unit's peak."""

    low: Share
    best: Share
    high: Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.best <= self.high:
            raise ValueError("low, best and high are not in this order")
        return self


class Factors(_Part):
    """A factor with bounds, each from 1."""

    low: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    best: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    high: Annotated[float, Field(ge=1, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.best <= self.high:
            raise ValueError("low, best and high are not in this order")
        return self


class _Figures(_Part):
    """The figures of a section; ncuview/gpus says what each one is."""

    measured: Annotated[str, Field(pattern=r"^[^\r\n]*$")] = ""
    launch_ns: Amount | None = None
    memory_ns: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    blocks_per_ns: Amount | None = None
    host_bytes_per_ns: Amount | None = None
    dram_write_cost: Annotated[float, Field(ge=0, lt=1)] | None = None
    bytes_in_flight: Amount | None = None
    float_atomic_use: Annotated[float, Field(gt=0, le=1)] | None = None
    start_ns: Amount | None = None
    graph_gap_ns: Amount | None = None
    l2_bytes: Amount | None = None
    shared_bytes: Amount | None = None
    tensor_speedup: Factors | None = None


_UNITS: dict[str, Any] = dict.fromkeys(UNITS, (Bounds | None, None))
Section: type[BaseModel] = create_model("Section", __base__=_Figures, **_UNITS)
"""One GPU: a key for each unit and figure, all of them optional."""

Gpu = dict[str, Any]
"""Unit -> its bounds, and figure -> its value."""


def shipped(device: str) -> Gpu:
    """The figures that ncuview ships for this GPU, with the default for what was not measured."""
    return {**shipped_tables()[DEFAULT], **shipped_tables().get(device, {})}


def of_gpu(device: str) -> Gpu:
    """The figures for this GPU: the user's, else the shipped ones, else the default.

    Raises:
        TableError: The user's table cannot be used.
    """
    return {**shipped(device), **_users().get(device, {})}


def is_assumed(device: str) -> bool:
    """Whether the figures of this GPU are assumed because it was not measured."""
    return device not in _users() and str(shipped(device)["measured"]).startswith("never")


def figure_columns(analysis: Analysis) -> Mapping[str, Column]:
    """The GPU figures of each launch that rules read: ``gpu.NAME`` -> a column; NaN where a figure is unknown.

    A figure that no table has for a GPU is derived from the attributes of the GPU in its report, where it can be. They
    are looked up once for an analysis: each rule asks for them.
    """
    if analysis not in _COLUMNS:
        _COLUMNS[analysis] = _figure_columns(analysis)
    return _COLUMNS[analysis]


_COLUMNS: WeakKeyDictionary[Analysis, Mapping[str, Column]] = WeakKeyDictionary()


def _figure_columns(analysis: Analysis) -> dict[str, Column]:
    names, of_launch = np.unique(np.array(analysis.devices, dtype=object), return_inverse=True)
    gpus = [of_gpu(device) for device in names]
    own = [shipped_tables().get(device, {}).keys() | _users().get(device, {}).keys() for device in names]
    derived = _derived(analysis)
    columns = {}
    for name, figure in FIGURE_NAMES.items():
        columns[name] = np.array([gpu.get(figure, np.nan) for gpu in gpus], np.float64)[of_launch]
        if figure in derived:
            is_own = np.array([figure in figures for figures in own], bool)[of_launch]
            columns[name] = np.where(is_own | np.isnan(derived[figure]), columns[name], derived[figure])
    return columns


def _derived(analysis: Analysis) -> dict[str, Column]:
    """Figures from clocks and sizes, which ncu records with every launch; NaN where it did not."""
    default, attribute = shipped_tables()[DEFAULT], partial(_attribute, analysis)
    with np.errstate(all="ignore"):  # a report may hold any number
        memory_per_ns = 2 * attribute("memory_clock_rate") * attribute("global_memory_bus_width") / 8 / 1e6
        threads = attribute("multiprocessor_count") * attribute("max_threads_per_multiprocessor")
        found = {
            "blocks_per_ns": default["blocks_per_cycle"] * attribute("clock_rate") / 1e6,
            "bytes_in_flight": memory_per_ns * default["loaded_memory_ns"] / threads,
            "shared_bytes": attribute("max_shared_memory_per_multiprocessor"),
        }
    return {name: np.where(np.isfinite(column) & (column > 0), column, np.nan) for name, column in found.items()}


def _attribute(analysis: Analysis, name: str) -> Column:
    """An attribute of each launch's GPU, clocks in kHz; NaN where it is missing."""
    column = analysis.metric(f"device__attribute_{name}")
    return np.where(column > 0, column, np.nan)


def program_figures(device: str) -> ProgramGpu:
    """The figures of a GPU that rules over programs read."""
    gpu = of_gpu(device)
    numbers = {name: gpu[name] for name in ("launch_ns", "start_ns", "graph_gap_ns", "l2_bytes")}
    factors = gpu["tensor_speedup"]
    return ProgramGpu(**numbers, tensor_speedup=Estimate(factors["low"], factors["best"], factors["high"]))


def bounds_of(gpu: Gpu, unit: str) -> Mapping[str, float]:
    """Low, best and high of a unit; the default for units where the figures have none."""
    bounds: Mapping[str, float] = gpu[unit] if unit in gpu else gpu["unit"]
    return bounds


def attainable(device: str, unit: str, bound: str) -> float:
    """The share of a unit's peak that good kernels reach on this GPU, at bound ``low``, ``best`` or ``high``."""
    return float(bounds_of(of_gpu(device), unit)[bound])


def _users() -> dict[str, Gpu]:
    path = users_table()
    return read_table(path) if path else {}


def read_table(path: Path) -> dict[str, Gpu]:
    """The sections of a user's table, checked; none when there is no such file.

    Raises:
        TableError: The file cannot be used; the message names file and key.
    """
    return _sections(path, _text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, PermissionError) and not os.access(path.parent, os.X_OK):
            return ""  # another user's home, as in a container that changes the user
        raise TableError(f"{path}: {error}", hint=_FIX) from error


def _sections(path: Path, text: str) -> dict[str, Gpu]:
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise TableError(f"{path}: {error}", hint=_FIX) from error
    return {device: _checked(path, device, section) for device, section in content.items()}


def _checked(path: Path, device: str, section: Any) -> Gpu:
    if device == DEFAULT:
        raise TableError(f"{path}: {device}: a section needs the name of a GPU instead", hint=_FIX)
    try:
        return Section.model_validate(section).model_dump(exclude_none=True)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join([device, *(str(part) for part in problem["loc"])])
        raise TableError(f"{path}: {key}: {problem['msg'][0].lower()}{problem['msg'][1:]}", hint=_FIX) from error


def check_writable(path: Path) -> None:
    """Check before anything is measured that a table can be written here, and make its folder.

    Raises:
        TableError: The table that is there cannot be used, or none can be written.
    """
    read_table(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write the section of a GPU into a table and keep those of other GPUs.

    Another process that reads the table meanwhile sees the complete old or the complete new one.

    Raises:
        TableError: The table that is there cannot be used, or it cannot be written.
    """
    path = path.resolve()  # a link stays a link
    before = _text(path)
    others = {name: section for name, section in _sections(path, before).items() if name != calibration.device}
    after = _without(before, calibration.device) + section_text(calibration)
    if {name: section for name, section in _sections(path, after).items() if name != calibration.device} != others:
        raise TableError(f"{path}: the sections of its GPUs cannot be separated", hint="Write each as [GPU name].")
    try:
        replace_file(path, after.encode(), mode=0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def section_text(calibration: Calibration) -> str:
    """The section of a GPU as TOML, without what was not measured; each figure with the kernel that it is from."""
    lines = [f"[{_quoted(calibration.device)}]", f"measured = {_quoted(calibration.measured)}"]
    for name, figure in calibration.figures.items():
        if not figure.assumed:
            lines.append(f"{name} = {figure.value}  # {figure.kernel}")
    for unit, share in calibration.shares.items():
        if not share.assumed:
            bounds = f"{{ low = {share.low}, best = {share.best}, high = {share.high} }}"
            lines.append(f"{unit} = {bounds}  # {share.kernel}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string: TOML has JSON's escapes, except for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _without(text: str, device: str) -> str:
    """A table's text, as it was written, without the section of one GPU; it ends where the next section may start."""
    parts = [part for part in _PART.split(text) if device not in tomllib.loads(part)]
    others = "".join(parts).rstrip("\n") or _HEADER
    return f"{others}\n\n"


def _unwritable(path: Path, error: OSError) -> TableError:
    return TableError(
        f"{path} cannot be written: {error.strerror}", hint="--output FILE writes the table to another place."
    )
