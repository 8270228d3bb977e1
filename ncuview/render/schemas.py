"""JSON Schemas of the documents that ncuview writes, by name (``schema``); run as a module, it writes them as files.

They are made from the dataclasses of ``records.documents``; that of baselines from the model that reads them.

``python -m ncuview.render.schemas FOLDER`` calls ``main``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ncuview.gate.baseline import baseline_schema
from ncuview.records.documents.comparison import ComparisonDocument
from ncuview.records.documents.diagnosis import DiagnosisDocument
from ncuview.records.documents.doctor import DoctorDocument
from ncuview.records.documents.history import HistoryDocument
from ncuview.records.documents.ladder import LadderDocument
from ncuview.records.documents.without_counters import WithoutCountersDocument
from ncuview.records.schema import schema_of
from ncuview.render.text import json_text

_DOCUMENTS: Mapping[str, type] = {
    "diagnosis": DiagnosisDocument,
    "ladder": LadderDocument,
    "comparison": ComparisonDocument,
    "history": HistoryDocument,
    "without_counters": WithoutCountersDocument,
    "doctor": DoctorDocument,
}
NAMES = (*_DOCUMENTS, "baseline")
"""The names of all schemas."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document, draft 2020-12.

    Args:
        name: One of ``NAMES``.
    """
    return baseline_schema() if name == "baseline" else schema_of(_DOCUMENTS[name])


def main(folder: Path) -> None:
    """Write each schema as ``NAME.schema.json`` into a folder."""
    for name in NAMES:
        (folder / f"{name}.schema.json").write_text(json_text(schema(name)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
