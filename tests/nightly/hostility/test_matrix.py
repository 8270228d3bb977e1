"""Hostile texts in every place and every output: no script, no request, no control byte, and valid for readers."""

from __future__ import annotations

import pytest

from tests.hostile import PAYLOADS
from tests.hostility.outputs import outputs_of
from tests.hostility.places import OF_ALL_LAUNCHES, PLACES, answers_in


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_does_nothing(place: str) -> None:
    # Another part of the texts for each place.
    part = 9 if place in OF_ALL_LAUNCHES else 3
    for answers in answers_in(place, list(PAYLOADS.values())[list(PLACES).index(place) % part :: part]):
        for name, content, judge in outputs_of(answers):
            try:
                judge(content)
            except Exception as error:
                error.add_note(f"in the output {name}")
                raise


def test_there_are_as_many_texts_and_places_as_documented() -> None:
    assert len(set(PAYLOADS.values())) >= 60
    assert len(PLACES.keys() - OF_ALL_LAUNCHES) >= 12
