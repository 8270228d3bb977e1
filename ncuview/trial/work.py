"""What a launch did, by its counters: ``counted`` takes the profile of one launch and gives a ``Counted``.

``uncounted`` names what is unknown of two launches. ``dropped`` says what of its work a changed kernel no longer does,
``floor_ns`` how long the bytes take that it must read. ``Counters`` profiles each version of a trial once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Generic, TypeVar

import numpy as np

from ncuview.base.errors import NcuviewError
from ncuview.catalogue.kernels import Launch
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.instruction_table import Executed
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.profile import Extent, Profile
from ncuview.sass.code import positions_of
from ncuview.sass.instruction import Instruction
from ncuview.trial.guards import WORK

_COUNTERS = (
    "duration",
    "dram_pct",
    "dram_bytes_read",
    "dram_bytes_written",
    "l2_sectors",
    "inst_executed",
    "thread_inst_executed",
    "all_shared_wavefronts",
    "all_shared_wavefronts_ideal",
)
COUNTED = (*_COUNTERS, *WORK)
"""What is counted of a launch."""
LANES = "lanes of shuffles"
"""How many lanes of a warp execute one of its shuffles at least, on average; of launches that execute shuffles."""
_SHUFFLES = frozenset({"SHFL", "MATCH"})
"""Other exchanges between lanes are also the compiler's, which sums the atomics of the lanes that are there."""
_LOADS, _STORES = "global loads", "global stores"
COMPARED = (_LOADS, _STORES, "dram_bytes_read")
"""What ``dropped`` compares."""
_READ = 0.95
"""The least share of the bytes that are needed that device memory must have read: recorded launches read 1.00 of them
or more."""
_READ_OF_PART = 0.5
"""The same of what the original read, where it reads a part of its arrays: that may be some bytes several times."""

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class Counted:
    """What one launch did.

    Attributes:
        launches: Kernel, grid and block of each launch in the profile, of which the first is counted.
        amounts: Of ``COUNTED``: counters by the short names of ``ncuview.metrics.names``, and the executed work of each
            kind of ``guards.WORK``, summed over threads: bytes of accesses, or operations; and ``LANES``. What is
            unknown is missing.
    """

    launches: tuple[tuple[str, Extent, Extent], ...]
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class Judged:
    """What a run with the counters of all rules shows of a launch."""

    diagnosis: LaunchDiagnosis
    counted: Counted


@dataclass(frozen=True)
class Arrays:
    """The bytes of a launch's arguments: those that it must read at most, and those that hold its results."""

    inputs: int
    outputs: int


def counted(profile: Profile) -> Counted:
    """What the first launch of a profile did, and which launches the profile has."""
    analysis, table = Analysis(profile), profile.launches
    grids, blocks = (
        zip(*(table[f"{what}_{axis}"].tolist() for axis in "xyz"), strict=True) for what in ("grid", "block")
    )
    launches = tuple(zip(table["kernel"].tolist(), grids, blocks, strict=True))
    amounts = {name: float(analysis.value(name)[0]) for name in _COUNTERS}
    executed = analysis.instructions.get(0)
    amounts |= _executed(executed) if executed is not None else {}
    return Counted(launches, {name: amount for name, amount in amounts.items() if isfinite(amount)})


def _executed(executed: Executed) -> dict[str, float]:
    """The work of each kind that threads executed, without those whose predicate was false, and ``LANES``."""
    metrics = [OF_INSTRUCTIONS[name] for name in ("active_threads", "threads", "executions")]
    if not all(map(executed.is_complete, metrics)):
        return {}
    active, threads, executions = (executed[metric] for metric in metrics)
    code, found = executed.code, dict.fromkeys(WORK, 0.0)
    for work, asked in WORK.items():
        for position in positions_of(code, asked):
            memory = code.instructions[position].memory
            found[work] += float(active[position]) * (max(1, memory.bytes) if memory is not None else 1)
    shuffles = [at for at in positions_of(code, _is_shuffle) if executions[at]]
    return found | ({LANES: float(min(threads[shuffles] / executions[shuffles]))} if shuffles else {})


def _is_shuffle(each: Instruction) -> bool:
    return each.base_opcode in _SHUFFLES


def arrays_of(launch: Launch) -> Arrays:
    """The bytes of a launch's arguments in global memory.

    Arrays that begin as zeros hold sums; which of their elements are ever written depends on the inputs. Where the
    kernel file says how many bytes are useful, no more need to be read.
    """

    def of(*roles: str) -> int:
        return sum(
            int(np.prod(each["shape"])) * np.dtype(each["dtype"]).itemsize
            for each in launch.args
            if each["role"] in roles
        )

    inputs, outputs = of("in", "texture"), of("out")
    return Arrays(min(inputs, max(0, launch.useful_bytes - outputs)) if launch.useful_bytes else inputs, outputs)


def uncounted(*launches: Counted, of: Sequence[str] = COMPARED) -> str:
    """The first of these amounts that is unknown of a launch; empty where all are known of all launches."""
    return next((name for name in of for each in launches if name not in each.amounts), "")


def dropped(before: Counted, after: Counted, arrays: Arrays | None) -> str:
    """What a changed kernel no longer does, as a clause; empty where it does everything. ``uncounted`` must be empty.

    Device memory is read into cold caches, so that it reads each byte that is needed at least once.

    Args:
        before: What the original did.
        after: What the changed kernel did.
        arrays: The bytes of the arguments; None where they are unknown: then it must still load and store.
    """
    was, now = before.amounts, after.amounts
    if arrays is None:
        gone = [work for work in (_LOADS, _STORES) if was[work] and not now[work]]
        return f"it executes no {gone[0]}" if gone else ""
    stored = min(arrays.outputs, was[_STORES])
    if now[_STORES] < stored:
        return f"it stores {now[_STORES]:,.0f} bytes, and its results have {stored:,.0f}"
    read = _needed(was, arrays)
    if now["dram_bytes_read"] < read:
        return f"it reads {now['dram_bytes_read']:,.0f} bytes of device memory, and needs {read:,.0f}"
    return ""


def _needed(amounts: Mapping[str, float], arrays: Arrays) -> float:
    """The bytes that device memory must read at least, by the counters of the original."""
    read = amounts["dram_bytes_read"]
    return _READ * arrays.inputs if read >= _READ * arrays.inputs else _READ_OF_PART * read


def floor_ns(found: Counted, arrays: Arrays) -> float:
    """How long device memory takes at its peak for the bytes that a kernel must read; 0 where that is unknown.

    The peak is that of the profile: the share of it that this launch used, and its bytes.
    """
    amounts = found.amounts
    if not {"duration", "dram_pct", "dram_bytes_read", "dram_bytes_written"} <= amounts.keys():
        return 0.0
    moved = amounts["dram_bytes_read"] + amounts["dram_bytes_written"]
    busy_ns = amounts["duration"] * amounts["dram_pct"] / 100
    return busy_ns * _needed(amounts, arrays) / moved if moved else 0.0


class Counters(Generic[V]):
    """Profiles of versions, each of which is made once, and none after counters were refused."""

    def __init__(
        self,
        judge: Callable[[V], Judged | None],
        count: Callable[[V], Counted | None],
        key: Callable[[V], Hashable],
    ) -> None:
        """Nothing is known yet.

        Args:
            judge: Profiles a version with the counters of all rules; None where counters cannot be read. Raises
                NcuviewError.
            count: Counts what it does, in fewer passes, in the same way.
            key: What distinguishes versions.
        """
        self._key, self._whole = key, dict[Hashable, Counted]()
        self._judged = _once(judge, key)
        self._counted = _once(lambda version: self._whole.get(key(version)) or count(version), key)

    def judge(self, version: V) -> LaunchDiagnosis | None:
        """The diagnosis of a version; None where counters cannot be read. Raises NcuviewError."""
        found = self._judged(version)
        if found and not uncounted(found.counted, of=COUNTED):
            self._whole[self._key(version)] = found.counted
        return found.diagnosis if found else None

    def count(self, version: V) -> Counted | None:
        """What a version does; None where counters may not be read. Raises NcuviewError."""
        return self._counted(version)

    def count_both(self, before: V, after: V) -> tuple[Counted, Counted] | None:
        """What a version does, and one that will most likely be kept and is judged for it; None as in ``count``."""
        was = self.count(before)
        if was:
            self.judge(after)
        now = self.count(after) if was else None
        return (was, now) if was and now else None


def _once(count: Callable[[V], T | None], key: Callable[[V], Hashable]) -> Callable[[V], T | None]:
    """The same function, which counts each version once, and none after counters were refused.

    Args:
        count: Counts or judges a version; None where counters may not be read. Raises NcuviewError where it failed.
        key: What distinguishes versions.
    """
    known: dict[Hashable, T | NcuviewError | None] = {}

    def asked(version: V) -> T | None:
        if None in known.values():
            return None
        name = key(version)
        if name not in known:
            try:
                known[name] = count(version)
            except NcuviewError as failed:
                known[name] = failed
        found = known[name]
        if isinstance(found, NcuviewError):
            raise found
        return found

    return asked
