"""Add to a ``Profile`` the control codes of each launch's instructions, from the modules in its report files.

``with_control_codes`` reads them, since ncu prints instructions without them. They hold the scoreboards that an
instruction sets and waits for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ncuview.reader.line_table import LineTableError, machine_code
from ncuview.reader.modules import modules
from ncuview.records.profile import Profile
from ncuview.sass import isa
from ncuview.sass.decode import decode

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_WORDS = 2
"""An instruction has 128 bits, from Volta on."""
_BYTES = 8 * _WORDS
_OLDEST = 7
_CONTROL_AT, _CONTROL = 105 - 64, (1 << 21) - 1
_GUARD_AT, _GUARD = 12, 15
_ALWAYS, _NEGATED = 7, 8
_RESULT_AT, _RESULT = 16, 255
_UNKNOWN = -1
_REGISTER = re.compile(r"R(?P<number>\d+)$", re.ASCII)


def with_control_codes(profile: Profile) -> Profile:
    """The profile with the control codes of the launches whose machine code is in their report.

    The report files are read once more. A function of a module is used where it has the kernel's name, and the guards
    and result registers that ncu printed; instances of a template share their name.
    """
    found: dict[int, Mapping[int, int]] = {}
    supported = profile.launches["compute_capability"].map(lambda each: int(each.partition(".")[0] or 0) >= _OLDEST)
    for report in profile.reports:
        launches = profile.launches.index[(profile.launches["report"] == report.path) & supported]
        rows = profile.instructions.loc[profile.instructions["launch"].isin(launches), ["launch", "address", "sass"]]
        if not rows.empty:
            kernels = {int(launch): str(profile.launches["kernel"].loc[launch]) for launch in rows["launch"].unique()}
            found |= _of_launches(rows, kernels, _code_in(Path(report.path), set(kernels.values())))
    return replace(profile, control_codes=found)


def _code_in(report: Path, kernels: set[str]) -> list[tuple[str, bytes]]:
    found: dict[tuple[str, bytes], None] = {}
    for module in modules(report):
        try:
            found.update(dict.fromkeys(machine_code(module, kernels).items()))
        except LineTableError:
            continue
    return list(found)


def _of_launches(
    rows: pd.DataFrame, kernels: Mapping[int, str], functions: Sequence[tuple[str, bytes]]
) -> dict[int, Mapping[int, int]]:
    found: dict[int, Mapping[int, int]] = {}
    known: dict[tuple[str, tuple[str, ...]], Mapping[int, int]] = {}
    for launch, of_launch in rows.groupby("launch"):
        number = int(str(launch))
        texts = tuple(of_launch["sass"].tolist())
        if (kernels[number], texts) not in known:
            addresses = of_launch["address"].to_numpy(np.int64)
            fitting = (code for name, code in functions if kernels[number] in name)
            known[kernels[number], texts] = _first_that_agrees(fitting, addresses, texts)
        if codes := known[kernels[number], texts]:
            found[number] = codes
    return found


def _first_that_agrees(
    functions: Iterable[bytes], addresses: NDArray[np.int64], texts: Sequence[str]
) -> Mapping[int, int]:
    """Address -> control codes, by the first function with the same guards; empty where there is none."""
    guards, results = (np.array(each) for each in zip(*map(_encoded, texts), strict=True))
    for code in functions:
        words = np.frombuffer(code[: len(code) - len(code) % _BYTES], "<u8").reshape(-1, _WORDS)
        places = addresses // _BYTES
        if not (addresses % _BYTES).any() and places.max() < len(words):
            low, high = words[places].astype(np.int64).T
            same_results = (results == _UNKNOWN) | (low >> _RESULT_AT & _RESULT == results)
            if (same_results & (low >> _GUARD_AT & _GUARD == guards)).all():
                return dict(zip(addresses.tolist(), (high >> _CONTROL_AT & _CONTROL).tolist(), strict=True))
    return {}


def _encoded(text: str) -> tuple[int, int]:
    """How an instruction's guard and result are encoded.

    The guard is its predicate, 7 for none, and a bit for its negation; the result the first register that it defines,
    -1 where its first operand is something else. Of texture loads the second operand is encoded there: the first has
    the upper results.
    """
    each = decode(text)
    guard = int(each.guard.predicate[-1]) | _NEGATED * each.guard.negated if each.guard else _ALWAYS
    if text.startswith("@!PT"):
        guard |= _NEGATED
    upper = int(isa.operation(each.opcode).space == "texture")
    first = _REGISTER.match(each.operands[upper]) if len(each.operands) > upper else None
    return guard, int(first["number"]) if first and first[0] in each.definitions else _UNKNOWN
