"""Pytest plugin: the fixture ``ncuview`` profiles a program or function in a test, or reads stored reports.

It returns a ``KernelResult``; a failed comparison shows what was measured and the next step. Where GPU or ncu is
missing the test is skipped, or fails by ``--ncuview-require-gpu``.
The plugin is loaded by every run of pytest where ncuview is installed, so that it imports little but pytest before a
test asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ncuview.testing.kernel_result import KernelResult, Measured, with_note

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
    """The options of the command line."""
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
    """Tell pytest about the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Say under a failed comparison what was measured, and the next step of the kernel."""
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
    """What the fixture ``ncuview`` is."""

    def __init__(
        self, name: str, folder: Path | None = None, options: Mapping[str, Any] | None = None, *, required: bool = False
    ) -> None:
        """Prepare for one test.

        Args:
            name: The test's, which reports are called after.
            folder: Where reports stay; None keeps none.
            options: What ``profile`` takes where a call does not say otherwise.
            required: Whether a missing GPU fails the test.
        """
        self._name, self._folder, self._given, self._required = name, folder, options or {}, required
        self._kept = 0

    def profile(self, target: Target, **options: Any) -> KernelResult:
        """Run a command or a Python function under ncu and diagnose what it launches; skip where that is not possible.

        Args:
            target: A command as its words or as one string, or a function without arguments: see ``ncuview.profile``.
            options: The fields of ``ncuview.NcuOptions``, and ``timeout_s``; they override those of the marker.

        Raises:
            NcuviewError: The options, the program or the profile are wrong; Incomplete where launches are missing.
        """
        from ncuview import api
        from ncuview.base.errors import ToolError
        from ncuview.profiling.machine import missing_for_ncu

        with _hints():
            chosen, timeout_s = _ncu_options({**self._given, **options})
            if missing := missing_for_ncu():
                self._skip(missing)
            try:
                profile = api.run(target, options=chosen, export=self._report(), timeout_s=timeout_s)
            except ToolError as error:
                self._skip(error)
            return _result(profile)

    def read(self, *reports: str | Path) -> KernelResult:
        """Diagnose stored reports, without a GPU.

        Args:
            reports: Report files, folders of them, or CSV exports.

        Raises:
            ReportError: A report is unreadable, damaged or empty; Incomplete where launches are missing.
        """
        from ncuview import api

        with _hints():
            return _result(api.read(*reports))

    def _skip(self, error: ToolError) -> NoReturn:
        """Leave the test with the reason, or fail it where a GPU is required."""
        if self._required:
            raise error
        name = f"{error.id}: " if error.id.startswith("NCU-") else ""
        pytest.skip(" ".join(filter(None, [f"ncuview: {name}{error}.", error.hint])))

    def _report(self) -> Path | None:
        """The file that the next report is to stay in; that of an earlier run makes room for it."""
        if self._folder is None:
            return None
        self._kept += 1
        number = f"-{self._kept}" if self._kept > 1 else ""
        report = self._folder / f"{_file_name(self._name)}{number}.ncu-rep"
        self._folder.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        return report


@cache
def _rules() -> tuple[Rule, ...]:
    """The shipped rules, loaded once for all tests."""
    from ncuview import api

    return api.load_rules()


def _result(profile: Profile) -> KernelResult:
    """What a test asks; a profile without some of its launches would pass tests that these fail."""
    from ncuview import api
    from ncuview.pipeline import examine

    return KernelResult(examine.whole(profile), api.diagnose(profile, _rules()))


def _file_name(test: str) -> str:
    """A test's name as that of a file; where it had to change, its hash keeps it apart from others."""
    name = test.replace("/", ".").replace("::", ".")
    plain = _NO_FILE_NAME.sub("-", name)[-_LONGEST_NAME:].strip(".-")
    return plain if plain == name else f"{plain}-{sha256(test.encode()).hexdigest()[:8]}"


def _options(marker: pytest.Mark | None) -> Mapping[str, Any]:
    if marker is not None and marker.args:
        raise pytest.UsageError(f"the marker ncuview takes options by name only, not {marker.args}")
    return marker.kwargs if marker is not None else {}


def _ncu_options(given: Mapping[str, Any]) -> tuple[Any, float]:
    """The options of ncu, and the time in seconds that a program may take."""
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


@contextmanager
def _hints() -> Iterator[None]:
    """Show the hint of an error in its traceback."""
    from ncuview.base.errors import NcuviewError

    try:
        yield
    except NcuviewError as error:
        with_note(error)
        raise
