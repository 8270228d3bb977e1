"""Bounded views: never larger than their limit, every entry can be reached, and what was not judged is always there."""

from __future__ import annotations

import json

import ncuview
from tests.render.sample import diagnosis
from tests.render.schema import problems


def test_a_skeleton_has_a_line_for_each_group_the_largest_saving_first() -> None:
    document = ncuview.view(diagnosis())
    assert not problems(document, "view")
    groups = document["skeleton"]["groups"]
    first = groups["items"][0]
    assert first["kernel"] == "transposeCoalesced"
    assert (first["rule"], first["where"]) == ("SMEM001", "transpose/coalesced.cu:63")
    assert first["check"] == "memory_l1_wavefronts_shared over its ideal falls from 16.5 to 1.0"
    assert groups["total"] == groups["shown"] == 3
    assert groups["cursor"] is None
    assert len(json.dumps(document)) <= 6_000
