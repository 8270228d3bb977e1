"""More hostile texts in every place, and all of them in plots."""

from __future__ import annotations

import pytest

from tests.hostile import PAYLOADS
from tests.hostility.places import OF_ALL_LAUNCHES, PLACES
from tests.nightly.hostility.test_matrix import check_place
from tests.nightly.hostility.test_messages import PLOTTED, check_plots


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_does_nothing(place: str) -> None:
    check_place(place, part=9 if place in OF_ALL_LAUNCHES else 3)


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
@pytest.mark.parametrize("place", PLOTTED)
def test_plots_are_sound_pictures_without_markup_of_others(place: str) -> None:
    check_plots(place, list(PAYLOADS.values()))
