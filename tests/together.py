"""One test of many subjects: a property holds for each file, rule or kernel, and all that break it are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., None]


def together(
    parameters: str, subjects: Iterable[Any], *, name: Callable[[Any], object] = repr
) -> Callable[[Test], Test]:
    """Run a test's body for each subject, within one test, and report all failures with the subjects' names.

    It stands where ``pytest.mark.parametrize`` would make a test of each. Fixtures are made once for all subjects.

    Args:
        parameters: The parameter that takes a subject; several, separated by commas, take the parts of one.
        subjects: At least one.
        name: What a subject is called in the report.
    """
    names = [parameter.strip() for parameter in parameters.split(",")]
    each = list(subjects)

    def decorate(body: Test) -> Test:
        signature = inspect.signature(body)

        @wraps(body)
        def test(**fixtures: Any) -> None:
            assert each, "there is no subject"
            failures: dict[str, BaseException] = {}
            for place, subject in enumerate(each):
                parts = [subject] if len(names) == 1 else subject
                try:
                    body(**fixtures, **dict(zip(names, parts, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as raised:  # noqa: BLE001
                    # pytest takes a group of skips for a skip of the test itself.
                    skipped = isinstance(raised, pytest.skip.Exception)
                    failure = AssertionError(f"one of many cannot be skipped: {raised}") if skipped else raised
                    known = str(name(subject))
                    failure.add_note(f"{parameters}: {known}")
                    failures[known if known not in failures else f"{known} ({place})"] = failure
            if failures:
                said = f"{len(failures)} of {len(each)} {body.__name__}: {', '.join(failures)}"
                raise BaseExceptionGroup(said, list(failures.values()))

        remaining = [parameter for parameter in signature.parameters.values() if parameter.name not in names]
        assert len(remaining) + len(names) == len(signature.parameters), f"{body.__name__} has no such parameters"
        test.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]
        return test

    return decorate
