"""Pytest plugin: the fixture ``ncuview`` (``Profiler``) profiles a program or function in a test, or reads reports.

Its methods return a ``KernelResult``; without GPU or ncu the test is skipped, or fails by ``--ncuview-require-gpu``.

A failed comparison shows the measurement and the next step. Every run of pytest loads the plugin where ncuview is
installed, so that it imports little but pytest until a test uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ncuview.testing import KernelResult, Measured, with_note

if TYPE_CHECKING:
    from ncuview.base.errors import ToolError
    from ncuview.engine.rule_file import Rule
    from ncuview.profiling.callable import Target
    from ncuview.records.profile import Profile

_MARKER = (
    "ncuview(**options): how ncuview.profile profiles in this test: the fields of ncuview.NcuOptions, such as"
    ' kernel_name="transpose" or launch_count=5, and timeout_s.'
)
_NO_FILE_NAME = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 150


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options."""
    group = parser.getgroup("ncuview", "profiles of GPU kernels")
    group.addoption(
        "--ncuview-report", metavar="DIR", type=Path, help="Keep the reports that tests profile in this folder."
    )
    group.addoption(
        "--ncuview-require-gpu",
        action="store_true",
        help="Fail tests that profile instead of skipping them where GPU or ncu is missing or refused.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show the measurement and the kernel's next step under a failed comparison."""
    measured = next((side for side in (left, right) if isinstance(side, Measured)), None)
    return [f"{left!r} {op} {right!r}", *measured.explanation()] if measured is not None else None


@pytest.fixture(name="ncuview")
def profiler(request: pytest.FixtureRequest) -> Profiler:
    """Profile a program or a function in a test, or read a report: see docs/how-to/ci.md."""
    folder = request.config.getoption("--ncuview-report")
    marker = request.node.get_closest_marker("ncuview")
    return Profiler(
        name=request.node.nodeid,
        folder=request.config.invocation_params.dir / folder if folder else None,
        options=_options(marker),
        required=request.config.getoption("--ncuview-require-gpu"),
    )


class Profiler:
    """The object of the fixture ``ncuview``: it profiles targets or reads reports."""

    def __init__(
        self, name: str, folder: Path | None = None, options: Mapping[str, Any] | None = None, *, required: bool = False
    ) -> None:
        """Prepare for one test.

        Args:
            name: The test's name, which its reports get.
            folder: Where reports are kept; None keeps none.
            options: The options of the marker, which a call of ``profile`` may override.
            required: Whether a missing GPU fails the test.
        """
        self._name, self._folder, self._given, self._required = name, folder, options or {}, required
        self._reports_made = 0

    def profile(self, target: Target, **options: Any) -> KernelResult:
        """Run a command or a Python function under ncu and diagnose its launches; skip the test where impossible.

        Args:
            target: A command as a list of words or as one string, or a function without arguments: see ``ncuview.run``.
            options: The fields of ``ncuview.NcuOptions``, and ``timeout_s``; they override those of the marker.

        Raises:
            NcuviewError: The options, the program or the profile are wrong; Incomplete where launches are missing.
        """
        __tracebackhide__ = True
        return _with_short_traceback(lambda: self._profiled(target, options))

    def read(self, *reports: str | Path) -> KernelResult:
        """Diagnose stored reports, without a GPU; report files that have not changed are read once for all tests.

        Args:
            reports: Report files, folders of them, or CSV exports.

        Raises:
            ReportError: A report is unreadable, damaged or empty; Incomplete where launches are missing.
        """
        __tracebackhide__ = True
        return _with_short_traceback(lambda: _read(reports, tuple(map(_state_of, reports))))

    def _profiled(self, target: Target, options: Mapping[str, Any]) -> KernelResult:
        from ncuview import api
        from ncuview.base.errors import ToolError
        from ncuview.profiling.machine import missing_for_ncu

        chosen, timeout_s = _ncu_options({**self._given, **options})
        if missing := missing_for_ncu():
            self._skip(missing)
        try:
            profile = api.run(target, options=chosen, export=self._report(), timeout_s=timeout_s)
        except ToolError as error:
            self._skip(error)
        return _result(profile)

    def _skip(self, error: ToolError) -> NoReturn:
        """Skip the test with the reason, or fail it where a GPU is required."""
        if self._required:
            raise error
        name = f"{error.id}: " if error.id.startswith("NCU-") else ""
        pytest.skip(" ".join(filter(None, [f"ncuview: {name}{error}.", error.hint])))

    def _report(self) -> Path | None:
        """The path for the next report; a file of an earlier run is deleted."""
        if self._folder is None:
            return None
        self._reports_made += 1
        number = f"-{self._reports_made}" if self._reports_made > 1 else ""
        report = self._folder / f"{_file_name(self._name)}{number}.ncu-rep"
        self._folder.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        return report


@cache
def _rules() -> tuple[Rule, ...]:
    """The shipped rules, loaded once for all tests."""
    from ncuview import api

    return api.load_rules()


def _state_of(report: str | Path) -> object:
    """What changes where a report file does; for a folder a new object each time, because its files may change."""
    path = Path(report).absolute()
    if not path.is_file():
        return object()
    found = path.stat()
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=8)
def _read(reports: tuple[str | Path, ...], _states: tuple[object, ...]) -> KernelResult:
    from ncuview import api

    return _result(api.read(*reports))


def _result(profile: Profile) -> KernelResult:
    """The result for a test; an incomplete profile could pass tests that the complete one fails."""
    from ncuview import api
    from ncuview.pipeline import examine

    return KernelResult(examine.require_complete(profile), api.diagnose(profile, _rules()))


def _file_name(test: str) -> str:
    """A test's name as a file name; where characters had to change, a hash makes it unique."""
    name = test.replace("/", ".").replace("::", ".")
    plain = _NO_FILE_NAME.sub("-", name)[-_LONGEST_NAME:].strip(".-")
    return plain if plain == name else f"{plain}-{sha256(test.encode()).hexdigest()[:8]}"


def _options(marker: pytest.Mark | None) -> Mapping[str, Any]:
    if marker is not None and marker.args:
        raise pytest.UsageError(f"the marker ncuview takes options by name only, not {marker.args}")
    return marker.kwargs if marker is not None else {}


def _ncu_options(given: Mapping[str, Any]) -> tuple[Any, float]:
    """The options of ncu, and the program's time limit in seconds."""
    from dataclasses import fields
    from math import inf

    from ncuview.base.errors import UsageError
    from ncuview.profiling.options import NcuOptions

    known = {field.name for field in fields(NcuOptions)}
    if unknown := given.keys() - known - {"timeout_s"}:
        raise UsageError(
            f"ncuview.profile has no option {', '.join(sorted(unknown))}",
            hint=f"There are timeout_s, {', '.join(sorted(known))}.",
        )
    chosen = {name: value for name, value in given.items() if name in known}
    return NcuOptions(**chosen), float(given.get("timeout_s", inf))


def _with_short_traceback(make: Callable[[], KernelResult]) -> KernelResult:
    """Show an expected error at the line of the test, with its hint; other errors keep their traceback."""
    from ncuview.base.errors import NcuviewError

    __tracebackhide__ = True
    try:
        return make()
    except NcuviewError as error:
        raise with_note(error).with_traceback(None) from None
