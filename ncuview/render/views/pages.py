"""Keys of launches and findings, cursors, and lists that are filled while an answer fits its limit.

``requested`` reads the name, key and cursor of a request; ``filled`` adds the entries of ``Listing`` s to a document.

A launch's key is its place in its report and a checksum of what it is, so that it is the same in every run on the same
report, and finds no launch of another one. A finding's key is that of its launch and the code of its rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import isfinite
from typing import Any, Generic, TypeVar, get_args

from ncuview.base.errors import UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.engine.priority import Priorities
from ncuview.records.diagnosis import Diagnosis, Finding, Gain, LaunchDiagnosis
from ncuview.records.documents.view import Page, ViewDocument, ViewName
from ncuview.records.program import Estimate, ProgramFinding

VIEWS: tuple[ViewName, ...] = get_args(ViewName)
_E = TypeVar("_E")
Fits = Callable[[ViewDocument], bool]
"""Whether a document, as it would be written, is within the limit."""
_CODE = 24
"""The longest code of a rule in a key."""
_PROGRAM = "program"
"""What keys of findings of the program begin with."""
_CUT = "…"
_ESCAPED = {'"': 2, "\\": 2, "#": 6}
"""What these characters take in ``json_line``; others take 1, those outside of ASCII 6 or 12."""


@dataclass(frozen=True)
class Request:
    """What is asked for: a view of a diagnosis, and of which list what comes after which entry."""

    diagnosis: Diagnosis
    view: ViewName
    key: str = ""
    """The key that was given, or that of the cursor; empty for the one that saves most."""
    list: str = ""
    """The list to continue; empty without a cursor."""
    start: int = 0
    """How many entries of that list come before."""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each launch; of equal launches of equal reports the later ones have a number."""
        created = {each.path: each.created for each in self.diagnosis.reports}
        return _numbered(_launch_key(launch, str(created.get(launch.report))) for launch in self.diagnosis.launches)

    @cached_property
    def document(self) -> str:
        """A checksum of the diagnosis."""
        launches = (
            (key, launch.verdict, *((each.rule.code, each.predicted_speedup.best) for each in launch.findings))
            for key, launch in zip(self.keys, self.diagnosis.launches, strict=True)
        )
        failure = self.diagnosis.failure
        return _checksum([failure and failure.message, *(each.damage for each in self.diagnosis.reports), *launches])

    def cursor(self, name: str, after: int) -> str:
        """What continues a list after so many entries."""
        return "/".join(filter(None, [self.document, self.view, name, str(after), self.key]))

    def key_of(self, launch: LaunchDiagnosis) -> str:
        """The key of a launch of the diagnosis."""
        at = self._places[id(launch)]
        return self.keys[at]

    def finding_key(self, launch: LaunchDiagnosis, finding: Finding) -> str:
        """The key of a finding of a launch."""
        return f"{self.key_of(launch)}/{clipped(finding.rule.code, _CODE)}"

    @cached_property
    def changes(self) -> tuple[tuple[str, ProgramFinding], ...]:
        """The findings of the program with their keys; of one rule the later ones have a number."""
        program = self.diagnosis.program
        findings = program.findings if program else ()
        keys = _numbered(f"{_PROGRAM}/{clipped(finding.code, _CODE)}" for finding in findings)
        return tuple(zip(keys, findings, strict=True))

    def change_key(self, finding: ProgramFinding) -> str:
        """The key of a finding of the program."""
        return next(key for key, each in self.changes if each is finding)

    def launch(self, ranked: Priorities) -> LaunchDiagnosis:
        """The launch that the key names; without one that whose advice saves most.

        Raises:
            UsageError: No launch has this key.
        """
        return self._launch(self.key, ranked)

    def finding(self, ranked: Priorities) -> tuple[LaunchDiagnosis, Finding] | ProgramFinding:
        """The finding that the key names, the first of the launch that it names, or the one that saves most.

        Raises:
            UsageError: No finding has this key.
        """
        for key, change in self.changes:
            if self.key in {key, ""}:
                return change
        of_launch, _, code = self.key.partition("/")
        launch = self._launch(of_launch, ranked)
        if not code:
            if not launch.findings:
                raise UsageError("the launch has no advice", hint="The view launch says why.")
            return launch, launch.findings[0]
        for each in launch.outcomes:
            if isinstance(each, Finding) and clipped(each.rule.code, _CODE) == code:
                return launch, each
        raise self._no_such_key()

    def _launch(self, key: str, ranked: Priorities) -> LaunchDiagnosis:
        if key:
            if key not in self.keys:
                raise self._no_such_key()
            return self.diagnosis.launches[self.keys.index(key)]
        if not ranked.groups:
            raise UsageError("there is no launch to show", hint="The view skeleton says what is missing.")
        return ranked.groups[0].example

    def _no_such_key(self) -> UsageError:
        return UsageError(
            f"no {self.view} has the key {clipped(self.key, 100)!r}",
            hint="Keys are in the answers about the same reports: begin with the view skeleton.",
        )

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(launch): at for at, launch in enumerate(self.diagnosis.launches)}


def _numbered(keys: Iterable[str]) -> tuple[str, ...]:
    """The keys, of which equal ones get a number from the second on."""
    seen: Counter[str] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}~{seen[key]}")
    return tuple(found)


def _launch_key(launch: LaunchDiagnosis, created: str) -> str:
    parts = [created, launch.demangled, launch.kernel, launch.grid, launch.block, launch.device, launch.duration_ns]
    return f"{launch.index}-{_checksum(parts)[:8]}"


def _checksum(parts: Iterable[object]) -> str:
    return blake2b(repr(list(parts)).encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


def requested(diagnosis: Diagnosis, view: str | None, key: str, cursor: str) -> Request:
    """The request of a view, key and cursor; a key alone opens the launch or finding that it names.

    Raises:
        UsageError: There is no such view, it has no keys, or the cursor is none, is of another document, or of another
            view or key.
    """
    if view is not None and view not in VIEWS:
        raise UsageError(f"no view {view!r}", hint=did_you_mean(view, VIEWS, f"There are {', '.join(VIEWS)}."))
    if cursor:
        return _continued(diagnosis, view, key, cursor)
    if key and view == "skeleton":
        raise UsageError("--key is for the views launch and finding", hint="Leave out --view: the key says which.")
    return Request(diagnosis, view or (_view_of(key) if key else "skeleton"), key)


def _view_of(key: str) -> ViewName:
    return "finding" if "/" in key else "launch"


def _continued(diagnosis: Diagnosis, view: str | None, key: str, cursor: str) -> Request:
    """The request that a cursor continues."""
    named = f"--cursor {clipped(cursor, 100)}"
    document, *rest = cursor.split("/", 4)
    if len(rest) < 3 or rest[0] not in VIEWS or not rest[2].isdecimal() or not rest[2].isascii():
        raise UsageError(f"{named}: no cursor", hint="Give one that an answer holds, unchanged.")
    found = Request(diagnosis, rest[0], rest[3] if len(rest) > 3 else "", rest[1], int(rest[2][:9]))
    if document != found.document:
        raise UsageError(
            f"{named}: the cursor of another document",
            hint="It continues an answer about the same reports, launches and rules. Begin without a cursor.",
        )
    if (view or found.view) != found.view or (key or found.key) != found.key:
        raise UsageError(f"{named}: the cursor of another view or key", hint="Leave out --view and --key.")
    return found


@dataclass(frozen=True)
class Listing(Generic[_E]):
    """A list of a document that is filled while the document fits."""

    name: str
    """Its name in cursors."""
    entries: Sequence[_E]
    """All of them."""
    made: Callable[[_E], Any]
    """The record of an entry."""
    page: Callable[..., Page]
    """The class of the list."""
    put: Callable[[ViewDocument, Any], ViewDocument]
    """The document with such a list."""
    first: int
    """How many entries it gets before any list gets more."""


def filled(
    document: ViewDocument, listings: Sequence[Listing[Any]], reasons: Listing[Any], request: Request, fits: Fits
) -> ViewDocument:
    """The document with as many entries of its lists as fit.

    Each list gets its ``first`` entries, ``reasons`` before all others; then each gets more, ``reasons`` last. A cursor
    continues one list; the others have no entries then.

    Raises:
        UsageError: The cursor's list does not exist, or has no entries there.
    """
    every = (reasons, *listings)
    asked = [each for each in every if request.list in {"", each.name}]
    if request.list and (not asked or request.start >= len(asked[0].entries)):
        raise UsageError(f"--cursor: {request.view} has no entry {request.start} of {clipped(request.list, 60)!r}")
    made: dict[str, list[Any]] = {each.name: [] for each in every}
    for each in every:
        document = each.put(document, _page(each, made[each.name], request))
    for each in asked:
        document = _more(document, each, made[each.name], request, fits, each.first)
    for each in (*asked[1:], *asked[:1]):
        document = _more(document, each, made[each.name], request, fits, len(each.entries))
    return document


def _more(
    document: ViewDocument, listing: Listing[Any], made: list[Any], request: Request, fits: Fits, most: int
) -> ViewDocument:
    for entry in listing.entries[request.start + len(made) : request.start + most]:
        made.append(listing.made(entry))
        longer = listing.put(document, _page(listing, made, request))
        if not fits(longer):
            made.pop()
            break
        document = longer
    return document


def _page(listing: Listing[Any], made: Sequence[Any], request: Request) -> Page:
    start = request.start if request.list == listing.name else 0
    after, total = start + len(made), len(listing.entries)
    cursor = request.cursor(listing.name, after) if after < total else None
    return listing.page(total=total, shown=len(made), cursor=cursor, items=tuple(made))


def clipped(text: str, most: int) -> str:
    """The text as valid Unicode, which takes at most so many bytes in a JSON document; a cut one ends in ``…``."""
    text = text[: most + 1].encode("utf-8", "backslashreplace").decode()
    room = most
    for at, character in enumerate(text):
        room -= _bytes_of(character)
        if room < 0:
            return _shortened(text[:at], most - _bytes_of(_CUT))
    return text


def _shortened(text: str, most: int) -> str:
    while text and sum(map(_bytes_of, text)) > most:
        text = text[:-1]
    return text + _CUT


def _bytes_of(character: str) -> int:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if " " <= character <= "~":
        return 1
    return 6 if character <= "\uffff" else 12


def rounded(value: float) -> float:
    """The value with four digits, which are more than a measurement has; 0 where it is unknown."""
    short = float(f"{value:.4g}") if isfinite(value) else 0.0
    return int(short) if short.is_integer() and abs(short) < 1e15 else short  # 327600, not 327600.0


def rounded_gain(gain: Gain | Estimate) -> Gain:
    """A gain with four digits."""
    return Gain(rounded(gain.low), rounded(gain.best), rounded(gain.high))
