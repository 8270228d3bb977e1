"""Whose code a kernel is: ``owner_of`` decides for one launch, ``owners_of`` for all launches of a ``Profile``.

Patterns of the user come first. Then the strongest evidence decides: files of the kernel's line table, the innermost
native library of the call stack, the kernel's name. Without native frames the innermost Python function and the
operator of a framework show who launched it. ``owners.toml`` has the patterns of each owner. What nothing shows to be
another's is the user's.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from ncuview.base.patterns import LONGEST, Pattern
from ncuview.records.diagnosis import OwnerKind
from ncuview.records.profile import CallStack, Profile


@dataclass(frozen=True)
class Owner:
    """Whose code a kernel is."""

    kind: OwnerKind
    name: str = ""
    """Such as ``cuBLAS``; empty where it is the user's."""
    waits_for_peers: bool = False
    """Whether the kernel waits for other processes or GPUs, such as a collective of NCCL."""


YOURS = Owner("yours")
_Expression = re.Pattern[str] | None
_RESULT = re.compile(r"(?:void\s+|std::enable_if<.{0,200}?>::type\s+)?(?:(?:<unnamed>|\(anonymous namespace\))::)*")
"""What stands in a demangled name before the function's own namespaces."""
_DISTANCE: dict[OwnerKind, int] = {"yours": 0, "generated": 1, "framework": 2, "vendor": 3}
"""Libraries launch kernels of others that are further from the user: PyTorch those of FlashAttention, XLA those of
cuBLAS in graphs of its own."""
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([A-Za-z]\w*)/")


@dataclass(frozen=True)
class _Known:
    """One entry of the table."""

    owner: Owner
    kernels: _Expression
    modules: _Expression
    callers: _Expression
    sources: _Expression
    headers: _Expression
    operators: _Expression


@dataclass(frozen=True)
class _Table:
    known: tuple[_Known, ...]
    passed_over: re.Pattern[str]
    replays: re.Pattern[str]
    waits_for_peers: re.Pattern[str]
    foreign: re.Pattern[str]
    caches: re.Pattern[str]
    launchers: re.Pattern[str]
    graphs: frozenset[str]
    """Compilers that launch whole graphs."""
    inlined_packages: frozenset[str]


def owners_of(
    profile: Profile, mine: Sequence[Pattern] = (), files: Mapping[int, frozenset[str]] | None = None
) -> list[Owner]:
    """The owner of each launch; launches with the same name, call stack, files and operator are looked at once.

    Args:
        profile: The launches.
        mine: The user's patterns: kernels whose name or source file matches one are the user's.
        files: The source files of each launch's line table; None to find them in the profile.
    """
    files = files_of(profile) if files is None else files
    shown: dict[tuple[str, CallStack | None, frozenset[str], str], Owner | None] = {}
    keys = []
    for launch, demangled in enumerate(profile.launches["demangled"].tolist()):
        inside = profile.nvtx_ranges.get(launch, ("",))[-1:]
        keys.append((demangled, profile.call_stacks.get(launch), files.get(launch, frozenset()), "".join(inside)))
        if keys[-1] not in shown:
            shown[keys[-1]] = _shown(*keys[-1], mine)
    # Without native frames: a call of Python that launches a kernel of a compiled graph launches all of the graph, with
    # kernels of libraries that the compiler calls.
    graphs: dict[CallStack | None, Owner] = {
        stack: Owner("framework", owner.name)
        for (_, stack, *_), owner in shown.items()
        if owner and owner.kind == "generated" and owner.name in _table().graphs and stack and not stack.native
    }
    found = {}
    for key, known in shown.items():
        owner = known or graphs.get(key[1], YOURS)
        found[key] = replace(owner, waits_for_peers=True) if waits_for_peers(key[0]) else owner
    return [found[key] for key in keys]


def owner_of(
    demangled: str, stack: CallStack | None, files: Collection[str], inside: str = "", mine: Sequence[Pattern] = ()
) -> Owner:
    """Whose code a kernel is.

    Args:
        demangled: The kernel's name.
        stack: The calls that led to the launch; None where they are unknown.
        files: The source files of the kernel's line table.
        inside: The innermost range that the launch stands in. Frameworks name their operators so.
        mine: The user's patterns: kernels whose name or source file matches one are the user's.
    """
    return _shown(demangled, stack, files, inside, mine) or YOURS


def _shown(
    demangled: str, stack: CallStack | None, files: Collection[str], inside: str, mine: Sequence[Pattern]
) -> Owner | None:
    """The owner that the evidence shows; None where nothing shows one."""
    if any(pattern.found_in(text) for pattern in mine for text in (demangled, *files)):
        return YOURS
    known = _by_name(demangled)
    by_file = _by_files(files, known)
    if by_file:
        return by_file
    by_name = known.owner if known else None
    by_library = _by_library(stack) if stack else None
    if by_name and by_library and _DISTANCE[by_name.kind] > _DISTANCE[by_library.kind]:
        return by_name
    # Native frames show the user's own extensions.
    by_caller = None if stack and stack.native else _by_caller(stack)
    if known and by_caller and _only_templates(known) and _DISTANCE[by_caller.kind] > _DISTANCE[known.owner.kind]:
        return by_caller
    by_operator = None if stack and stack.native else _by_operator(inside)
    return by_library or by_name or _by_package(files) or by_operator or by_caller


def waits_for_peers(demangled: str) -> bool:
    """Whether a kernel of this name waits for other processes or GPUs."""
    return bool(_table().waits_for_peers.match(_function(demangled)))


def _function(demangled: str) -> str:
    """A kernel's name from its namespaces on, of a long one the beginning."""
    start = _RESULT.match(demangled)
    return demangled[start.end() if start else 0 :][:LONGEST]


def _by_name(demangled: str) -> _Known | None:
    function = _function(demangled)
    return next((each for each in _table().known if each.kernels and each.kernels.match(function)), None)


def _only_templates(known: _Known) -> bool:
    """Whether a library, such as CUB, has no kernels but those that other libraries instantiate."""
    return known.headers is not None and known.modules is None


def _by_files(files: Iterable[str], by_name: _Known | None) -> Owner | None:
    """The owner that the line table shows: the user, where a file is theirs; else that of one of the files.

    A library's template, by name and file, stays the library's where it calls a function of the user, such as the
    operator of a reduction.
    """
    table = _table()
    paths = [_slashed(file) for file in files]
    if by_name and by_name.headers and any(map(by_name.headers.search, paths)):
        return by_name.owner
    owners = {path: _source_owner(path) for path in paths}
    elsewhere = (path for path, owner in owners.items() if not owner and not table.caches.search(path))
    if not all(map(table.foreign.search, elsewhere)):
        return YOURS
    return next(filter(None, owners.values()), None)


def _source_owner(path: str) -> Owner | None:
    return next((each.owner for each in _table().known if each.sources and each.sources.search(path)), None)


def _by_library(stack: CallStack) -> Owner | None:
    """The owner of the innermost native library that is not there to launch kernels of others."""
    table = _table()
    modules = (_slashed(frame.file) for frame in stack.native if frame.file)
    module = next((path for path in modules if not table.passed_over.search(path)), "")
    caller = _slashed(stack.python[0].file) if stack.python else ""
    owner = next((each.owner for each in table.known if _fits(each, module, caller)), None)
    replayed = any(table.replays.search(frame.function[:LONGEST]) for frame in stack.native)
    return None if replayed and owner and owner.kind != "generated" else owner


def _fits(known: _Known, module: str, caller: str) -> bool:
    if not known.modules or not known.modules.search(module):
        return False
    return known.callers is None or bool(known.callers.search(caller))


def _by_operator(inside: str) -> Owner | None:
    """The framework whose operator launched the kernel: its own, or that of a library which it calls."""
    known = _table().known
    return next((each.owner for each in known if each.operators and each.operators.match(inside[:LONGEST])), None)


def _by_caller(stack: CallStack | None) -> Owner | None:
    """The installed package whose function is the innermost Python frame, unless it launches kernels of others."""
    file = _slashed(stack.python[0].file) if stack and stack.python else ""
    if not _PACKAGE.search(file) or _table().launchers.search(file):
        return None
    known = (each.owner for each in _table().known if each.modules and each.modules.search(file))
    return next(known, None) or _by_package([file])


def _by_package(files: Iterable[str]) -> Owner | None:
    """The Python package that files are from."""
    packages = (found[1] for each in files if (found := _PACKAGE.search(_slashed(each))))
    own = (package for package in packages if package not in _table().inlined_packages)
    return next((Owner("framework", package) for package in own), None)


def files_of(profile: Profile) -> dict[int, frozenset[str]]:
    """The files of each launch's line table: those of its instructions, and those that inlined functions stand in."""
    known = profile.instructions.loc[profile.instructions["line"] > 0, ["launch", "file"]].drop_duplicates()
    files: dict[int, set[str]] = {}
    for launch, file in known.itertuples(index=False):
        files.setdefault(int(launch), set()).add(str(file))
    for launch, sites in profile.call_sites.items():
        files.setdefault(launch, set()).update(site.file for site in sites.values())
    return {launch: frozenset(found) for launch, found in files.items()}


def _slashed(path: str) -> str:
    """A path with the slashes of all systems, and one before a bare name; of a long one the end."""
    path = path[-LONGEST:].replace("\\", "/")
    return path if "/" in path else f"/{path}"


@cache
def _table() -> _Table:
    content = tomllib.loads(resources.files(__package__).joinpath("owners.toml").read_text(encoding="utf-8"))
    return _Table(
        known=tuple(_known(entry) for entry in content["owner"]),
        passed_over=re.compile(content["passed_over"]),
        replays=re.compile(content["replays"]),
        waits_for_peers=re.compile("|".join(content["waits_for_peers"])),
        foreign=re.compile("|".join(content["foreign"])),
        caches=re.compile("|".join(content["caches"])),
        launchers=re.compile(content["launchers"]),
        graphs=frozenset(content["graphs"]),
        inlined_packages=frozenset(content["inlined_packages"]),
    )


def _known(entry: dict[str, Any]) -> _Known:
    def of(key: str) -> _Expression:
        return re.compile("|".join(f"(?:{pattern})" for pattern in entry[key])) if key in entry else None

    owner = Owner(entry["kind"], entry["name"])
    return _Known(owner, of("kernels"), of("modules"), of("callers"), of("sources"), of("headers"), of("operators"))
