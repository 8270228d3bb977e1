"""What the command line makes of damaged reports: thousands, changed in 23 ways, each of which can be made again.

    python -m fuzz.fuzz_reports [--count 10000] [--first 0] [--seed 1] [--kind KIND] [--keep FOLDER]

Each file is the first launches of a recorded report, changed by a generator whose state is the seed and the file's
number, and ``ncuview analyze FILE --format json`` is run on it in a process of its own. It must end with 0 or 3, within
30 seconds, without a traceback; with 3 on whatever was cut, and on what never was a report; and with 0 only with the
same document as the complete report, or with one in which values or texts differ that no checksum protects. ``--keep``
saves the files that broke this. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.reading import repeated
from ncuview.catalogue.kernels import recorded_report
from ncuview.reader import wire
from ncuview.reader.precheck import read_report

LAUNCHES = 3
"""Of each report that is changed; more would take longer and show no more."""
FAMILIES = ("atomics", "divergence", "matmul", "reduction", "texture", "transfers", "transpose")
LONGEST_S = 30
_GIVEN_UP_S = 90
_PORTION = 20
_CUBIN = 4
_LENGTHS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 16)
_LARGE = (65_536, 2**20, 2**31 - 1, 2**31, 2**32 - 1)
_REPORT, _OUT, _ERR = "report.ncu-rep", "out", "err"
_OURS = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Seed:
    """A complete report, and where its parts are."""

    data: bytes
    lengths: tuple[int, ...]
    """Offsets of the lengths of four bytes before messages."""
    cubins: tuple[wire.Span, ...]
    ends: frozenset[int]
    """Where blocks end: what is cut there is a complete report."""


Change = Callable[[Seed, random.Random, Seed], bytes]
"""A report, the source of chance, and another report -> a damaged one."""


@cache
def seeds() -> tuple[Seed, ...]:
    """The reports that are changed."""
    return tuple(seed_of(repeated(read_report(recorded_report(family)), LAUNCHES)) for family in FAMILIES)


def seed_of(data: bytes) -> Seed:
    """A report with the places of its parts."""
    lengths, cubins, ends = [len(wire.MAGIC)], [], []
    for block in wire.blocks(data):
        items = list(wire.items(data, block))
        lengths += [block.header.start - 4, *(item.start - 4 for item in items)]
        cubins += [span for item in items[: block.sources] for span in wire.contents(data, item, _CUBIN)]
        ends.append(block.payload.end)
    return Seed(data, tuple(lengths), tuple(cubins), frozenset(ends))


def _at(seed: Seed, place: int, new: bytes, old: int | None = None) -> bytes:
    return seed.data[:place] + new + seed.data[place + (len(new) if old is None else old) :]


def _anywhere(seed: Seed, chance: random.Random, size: int = 1) -> int:
    return chance.randrange(len(seed.data) - size)


def _cut(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    places = [place for place in range(len(seed.data)) if place not in seed.ends]
    return seed.data[: chance.choice(places)]


def _cut_at_length(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    places = [at + near for at in seed.lengths for near in range(-2, 7) if at + near not in seed.ends]
    return seed.data[: chance.choice(places)]


def _flip(seed: Seed, chance: random.Random, count: int) -> bytes:
    data = bytearray(seed.data)
    for _ in range(count):
        data[_anywhere(seed, chance)] ^= 1 << chance.randrange(8)
    return bytes(data)


def _length(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    place = chance.choice(seed.lengths)
    old = int.from_bytes(seed.data[place : place + 4], "little")
    near = max(0, old + chance.choice([-3, -2, -1, 1, 2, 3]))
    return _at(seed, place, chance.choice([*_LENGTHS, near, chance.randrange(2**32)]).to_bytes(4, "little"))


def _run_of(byte: bytes, most: int) -> Change:
    def change(seed: Seed, chance: random.Random, _: Seed) -> bytes:
        size = min(2 ** chance.randint(2 if byte == b"\xff" else 4, most), len(seed.data) - 1)
        return _at(seed, _anywhere(seed, chance, size), byte * size)

    return change


def _deleted(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    size = chance.randint(1, 4096)
    return _at(seed, _anywhere(seed, chance, size), b"", size)


def _inserted(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    return _at(seed, _anywhere(seed, chance), chance.randbytes(chance.randint(1, 4096)), 0)


def _duplicated(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    size = chance.randint(1, 4096)
    place = _anywhere(seed, chance, size)
    return _at(seed, place, seed.data[place : place + size], 0)


def _spliced(seed: Seed, chance: random.Random, other: Seed) -> bytes:
    return seed.data[: _anywhere(seed, chance)] + other.data[_anywhere(other, chance) :]


def _random_file(_: Seed, chance: random.Random, __: Seed) -> bytes:
    return chance.randbytes(chance.randint(0, 100_000))


def _random_after_header(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    return seed.data[:10] + chance.randbytes(chance.randint(0, 100_000))


def _in_cubin(size: int, new: Callable[[random.Random], bytes], longest_place: int | None = None) -> Change:
    def change(seed: Seed, chance: random.Random, _: Seed) -> bytes:
        cubin = chance.choice(seed.cubins)
        return _at(seed, cubin.start + chance.randrange((longest_place or cubin.size) - size), new(chance))

    return change


def _scattered_in_cubin(seed: Seed, chance: random.Random, _: Seed) -> bytes:
    data, cubin = bytearray(seed.data), chance.choice(seed.cubins)
    for _byte in range(64):
        data[chance.randrange(*cubin)] = chance.randrange(256)
    return bytes(data)


CHANGES: Mapping[str, Change] = {
    "cut anywhere": _cut,
    "cut at a length": _cut_at_length,
    "1 bit": lambda seed, chance, _: _flip(seed, chance, 1),
    "16 bits": lambda seed, chance, _: _flip(seed, chance, 16),
    "1 byte of the first 1,024": lambda seed, chance, _: _at(seed, chance.randrange(1024), chance.randbytes(1)),
    "256 bytes": lambda seed, chance, _: _at(seed, _anywhere(seed, chance, 256), chance.randbytes(256)),
    "a length": _length,
    "longest varint": lambda seed, chance, _: _at(seed, _anywhere(seed, chance, 10), b"\xff" * 9 + b"\x01"),
    "run of 00": _run_of(b"\0", 16),
    "run of ff": _run_of(b"\xff", 12),
    "deleted": _deleted,
    "inserted": _inserted,
    "duplicated": _duplicated,
    "two reports spliced": _spliced,
    "random file": _random_file,
    "random after the header": _random_after_header,
    "cubin: 4 bytes ff": _in_cubin(4, lambda _: b"\xff" * 4),
    "cubin: 8 bytes ff": _in_cubin(8, lambda _: b"\xff" * 8),
    "cubin: 1 byte": _in_cubin(1, lambda chance: chance.randbytes(1)),
    "cubin: 16 bytes": _in_cubin(16, lambda chance: chance.randbytes(16)),
    "cubin: 64 bytes scattered": _scattered_in_cubin,
    "cubin: 1 byte of the ELF header": _in_cubin(1, lambda chance: chance.randbytes(1), 64),
    "cubin: 4 bytes large": _in_cubin(4, lambda chance: chance.choice(_LARGE).to_bytes(4, "little")),
}
REFUSED_ALWAYS = ("cut anywhere", "cut at a length", "random file", "random after the header")
"""What must end with 3."""


def changed(number: int, seed: int, kind: str = "") -> tuple[str, int, bytes]:
    """The kind of a file, the place of its report in ``seeds``, and its bytes; always the same."""
    chance = random.Random(f"{seed}/{number}")
    name = kind or list(CHANGES)[number % len(CHANGES)]
    place = chance.randrange(len(seeds()))
    while (data := CHANGES[name](seeds()[place], chance, chance.choice(seeds()))) == seeds()[place].data:
        pass
    return name, place, data


@dataclass(frozen=True)
class Ended:
    """How the command line ended."""

    code: int
    """Its exit code; negative where a signal ended it."""
    seconds: float
    said: str
    document: Mapping[str, Any] | None


def run(data: bytes, folder: Path) -> Ended:
    """Run ``ncuview analyze`` on a file with these bytes, in a child of this process."""
    (folder / _REPORT).write_bytes(data)
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _analyze_in(folder)
    done, status = os.waitpid(child, os.WNOHANG)
    while not done:
        time.sleep(0.005)
        if time.monotonic() - started > _GIVEN_UP_S:
            os.kill(child, signal.SIGKILL)
        done, status = os.waitpid(child, os.WNOHANG)
    document = None
    with suppress(ValueError):
        document = json.loads((folder / _OUT).read_text())
    seconds = time.monotonic() - started
    return Ended(os.waitstatus_to_exitcode(status), seconds, (folder / _ERR).read_text(errors="replace"), document)


def _analyze_in(folder: Path) -> NoReturn:
    """Become the command line, in a folder so that documents do not differ by its name."""
    code = 1
    try:
        os.chdir(folder)
        with Path(_OUT).open("w") as out, Path(_ERR).open("w") as err, redirect_stdout(out), redirect_stderr(err):
            try:
                sys.argv = ["ncuview", "analyze", _REPORT, "--format", "json"]
                from ncuview.cli.app import main

                main()
            except SystemExit as left:
                code = int(left.code or 0)
            except BaseException:  # noqa: BLE001  (which is judged as any other end)
                traceback.print_exc()
    finally:
        os._exit(code)


def outcome(kind: str, ended: Ended, complete: Mapping[str, Any]) -> tuple[str, str]:
    """The outcome of a file, and the guarantee that it breaks, if any."""
    if ended.code < 0 or ended.seconds > LONGEST_S or _OURS in ended.said or ended.code not in {0, 3}:
        return "broken", f"exit code {ended.code} after {ended.seconds:.0f} s: {ended.said[-300:]!r}"
    if ended.document is None:
        return "broken", "no JSON document"
    if ended.code == 3:
        return ("partial" if ended.document.get("launches") else "refused"), ""
    if kind in REFUSED_ALWAYS:
        return "broken", "exit code 0"
    if len(ended.document["launches"]) < len(complete["launches"]):
        return "broken", f"{len(ended.document['launches'])} launches, no word of the others"
    found, expected = (_without_names(each) for each in (ended.document, complete))
    return ("same" if found == expected else "altered"), ""


def _without_names(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in document.items() if name != "reports"}


def _judged(numbers: range, seed: int, kind: str) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for number in numbers:
            name, place, data = changed(number, seed, kind)
            ended = run(data, Path(folder))
            found.append(Verdict(number, name, *outcome(name, ended, _complete(place)), ended.seconds))
        return found


@cache
def _complete(place: int) -> Mapping[str, Any]:

    with tempfile.TemporaryDirectory() as folder:
        ended = run(seeds()[place].data, Path(folder))
    if ended.code or ended.document is None:
        sys.exit(f"the complete report {FAMILIES[place]} ends with {ended.code}: {ended.said}")
    return ended.document


@dataclass(frozen=True)
class Verdict:
    """The outcome of one file."""

    number: int
    kind: str
    outcome: str
    broken: str
    """The guarantee that it breaks; empty when there is none."""
    seconds: float


def judge(numbers: range, seed: int, kind: str = "") -> Iterator[Verdict]:
    """The outcomes of the files with these numbers."""
    for place in range(len(seeds())):
        _complete(place)  # before the pool starts, whose processes inherit it
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        portions = [numbers[start : start + _PORTION] for start in range(0, len(numbers), _PORTION)]
        for future in [pool.submit(_judged, portion, seed, kind) for portion in portions]:
            yield from future.result()


def main() -> None:
    """Print a row for each kind, and every file that broke a guarantee; end with 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", choices=["", *CHANGES])
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    started, slowest = time.monotonic(), 0.0
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in judge(range(args.first, args.first + args.count), args.seed, args.kind):
        counts[each.kind][each.outcome] += 1
        slowest = max(slowest, each.seconds)
        if each.broken:
            print(f"file {each.number} ({each.kind}): {each.broken}", file=sys.stderr)
            if args.keep:
                data = changed(each.number, args.seed, args.kind)[2]
                (args.keep / f"{args.seed}-{each.number}.ncu-rep").write_bytes(data)
    print_table(counts)
    took = time.monotonic() - started
    print(f"\n{args.count:,} files of seed {args.seed} in {took:,.0f} s, the slowest in {slowest:.1f} s")
    sys.exit(any(row["broken"] for row in counts.values()))


def print_table(counts: Mapping[str, Counter[str]]) -> None:
    """A row for each kind and the sum, in Markdown."""
    outcomes = ("refused", "partial", "same", "altered", "broken")
    print("| change | files | refused (3) | partial (3) | same (0) | altered (0) | broken |")
    print("| --- | " + "---: | " * 5 + "---: |")
    for kind, row in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"| {kind} | {row.total():,} | " + " | ".join(f"{row[name]:,}" for name in outcomes) + " |")


if __name__ == "__main__":
    main()
