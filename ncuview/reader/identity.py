"""Find host names, addresses, paths and credentials in a report's bytes, and overwrite each of their occurrences.

``find_identity`` collects them into an ``Identity``, whose ``overwritten`` and ``remaining`` take a report's bytes.
They are taken from the session's fields that ``scrub`` leaves out and from the paths of sources. A cubin quotes the
folder of its source file, and offsets inside a cubin must not move: a quotation is overwritten by a filler of its
length. Words shorter than four bytes are left, since machine code holds them by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from ncuview.reader import wire
from ncuview.reader.wire import Span, WireError

_HOST, _ADDRESS, _PATH, _CREDENTIAL = "host name", "network address", "path", "credential"

# Where the session's fields hold them; numbers of the block header's fields, and of the fields inside those.
_SYSTEMS = frozenset({(3, 3), (3, 4)})
_COMPUTER_NAME = 5
_ADDRESSES = 7
_PROCESS_HOST = (6, 2)

# Source items.
_CUBIN = 4
_SOURCE_NAME = (8, 1, 1)

_SHORTEST = 4
_DEEPEST = 16
_LONGEST_PATH = 4096
_EVERY_MACHINE = frozenset({b"localhost", b"127.0.0.1", b"::1"})

_EVERYTHING = re.compile(b"")
_ABSOLUTE_PATH = re.compile(rb"(?:(?<![\w./~+-])|(?<=[\s\0]-[A-Z]))(/(?!/)[^\0-\x20\"'`=:;,<>|&()]+)")
_HOME = re.compile(rb"(/(?:home|Users)/[^/\0-\x20\"']+)/")
# After a NUL, or after the 1 that ends the list before the folders of a DWARF line table. Eight bytes and two folders:
# what is shorter, machine code would hold by chance.
_PATH_IN_CUBIN = re.compile(rb"(?<=[\0\x01])(?=[^\0]{8})((?:/[\w.+@~-]+){2,})(?=\0)")
_FILLERS = re.compile(rb"(?:/_*\d+)+")
"""A path that an earlier scrub has overwritten; the fillers of another one could be the same."""
_CREDENTIAL_OPTION = re.compile(rb"(?i:token|secret|passw(?:or)?d|key|credentials?)[= ]+(\S{8,})")
_CREDENTIAL_IN_URL = re.compile(rb"://[^\s/:@]*:([^\s/@]{4,})@")


class Removed(NamedTuple):
    """A field that is left out: its number in the block header, then its number in that field if it lies inside."""

    numbers: tuple[int, ...]
    content: Span


@dataclass(frozen=True)
class Identity:
    """The texts that must not remain, each with its kind."""

    kinds: Mapping[bytes, str]

    def overwritten(self, data: bytes) -> bytes:
        """A report with every quotation overwritten.

        Raises:
            WireError: The framing is damaged.
        """
        result = bytearray(data)
        for block in wire.blocks(data):
            for message in (block.header, *wire.items(data, block)):
                for start, end in _innermost(data, message, self._anywhere):
                    result[start:end] = self._whole_words.sub(self._filler, data[start:end])
        return bytes(result)

    def remaining(self, data: bytes) -> str | None:
        """The kind of a quotation that the bytes still hold."""
        for secret, kind in self.kinds.items():
            if secret not in data or secret.rfind(b"/") == 0:  # /tmp identifies no user; a relative path may hold it
                continue
            if kind == _PATH or re.search(self._as_whole_word(secret), data):
                return kind
        return None

    @cached_property
    def _anywhere(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, self.kinds)) or rb"(?!)")

    @cached_property
    def _whole_words(self) -> re.Pattern[bytes]:
        longest_first = sorted(self.kinds, key=len, reverse=True)
        return re.compile(b"|".join(map(self._as_whole_word, longest_first)) or rb"(?!)")

    def _as_whole_word(self, secret: bytes) -> bytes:
        text = re.escape(secret)
        if self.kinds[secret] != _PATH:
            return rb"(?<!\w)" + text + rb"(?!\w)"
        if secret.rfind(b"/") > 0:
            return text + rb"(?![\w.+\x80-\xff-])"
        return rb"(?<![\w.)\]])" + text + rb"(?=[/\0]|\Z)"  # a division by a variable, sum/tmp, is no folder

    def _filler(self, match: re.Match[bytes]) -> bytes:
        secret = match[0]
        if self.kinds[secret] == _PATH:
            return b"/".join(self._fillers_of_names[name] for name in secret.split(b"/"))
        return b"_" * len(secret)

    @cached_property
    def _fillers_of_names(self) -> Mapping[bytes, bytes]:
        """Different ones for different folders, so that two files stay two."""
        names = {name for secret, kind in self.kinds.items() if kind == _PATH for name in secret.split(b"/")}
        by_length = groupby(sorted(names, key=lambda name: (len(name), name)), key=len)
        return {
            name: (b"%d" % index).rjust(length, b"_")[:length]
            for length, group in by_length
            for index, name in enumerate(group)
        }


def find_identity(data: bytes, removed: Iterable[Removed]) -> Identity:
    """What identifies the maker of a report, from the fields that will be left out and from the paths of its sources.

    Raises:
        WireError: A message that holds such a field is damaged.
    """
    kinds: dict[bytes, str] = {}
    for field in removed:
        kinds.update(_of_session(data, field))
    sources = [item for block in wire.blocks(data) for item in list(wire.items(data, block))[: block.sources]]
    names = {data[slice(*name)] for item in sources for name in wire.contents(data, item, *_SOURCE_NAME)}
    cubins = [cubin for item in sources for cubin in wire.contents(data, item, _CUBIN)]
    in_cubins = {path for cubin in cubins for path in _PATH_IN_CUBIN.findall(data, *cubin)}
    for path in names | in_cubins:
        if path.startswith(b"/"):
            kinds.update((folder, _PATH) for folder in _with_parents(_parent(path)))
    for home in _HOME.findall(data):
        kinds.update((folder, _PATH) for folder in _with_parents(home))
    public = _EVERY_MACHINE | names  # a source file keeps its own name, which the cubin holds apart from the folder
    secret = {text: kind for text, kind in kinds.items() if len(text) >= _SHORTEST and text not in public}
    return Identity({text: kind for text, kind in secret.items() if kind != _PATH or not _FILLERS.fullmatch(text)})


def _of_session(data: bytes, field: Removed) -> Iterator[tuple[bytes, str]]:
    for text in _texts(data, field.content):
        for path in _ABSOLUTE_PATH.findall(text):
            yield from ((folder, _PATH) for folder in _with_parents(path))
        for credential in _CREDENTIAL_OPTION.findall(text) + _CREDENTIAL_IN_URL.findall(text):
            yield credential, _CREDENTIAL
    if field.numbers in _SYSTEMS:
        for name in wire.contents(data, field.content, _COMPUTER_NAME):
            yield from _host(data[slice(*name)])
        for addresses in wire.contents(data, field.content, _ADDRESSES):
            for address in _texts(data, addresses):
                yield address, _ADDRESS
                yield address.partition(b"%")[0], _ADDRESS  # without the network interface
    elif field.numbers == _PROCESS_HOST:
        yield from _host(data[slice(*field.content)])


def _host(name: bytes) -> Iterator[tuple[bytes, str]]:
    yield name, _HOST
    yield name.partition(b".")[0], _HOST


def _parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _with_parents(path: bytes) -> Iterator[bytes]:
    path = path[:_LONGEST_PATH].rstrip(b"/")
    while path:
        yield path
        path = _parent(path)


def _texts(data: bytes, span: Span) -> list[bytes]:
    return [data[slice(*text)] for text in _innermost(data, span, _EVERYTHING)]


def _innermost(data: bytes, span: Span, pattern: re.Pattern[bytes], depth: int = 0) -> Iterator[Span]:
    """The values in which a pattern occurs and which hold no values themselves."""
    if not pattern.search(data, *span):
        return
    inner = _values(data, span) if depth < _DEEPEST else []
    if not inner:
        yield span
    for value in inner:
        yield from _innermost(data, value, pattern, depth + 1)


def _values(data: bytes, span: Span) -> list[Span]:
    try:
        return [field.content for field in wire.fields(data, span) if field.wire_type == wire.BYTES]
    except WireError:
        return []  # a text, or the image of a cubin
