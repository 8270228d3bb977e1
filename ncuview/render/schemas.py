"""JSON Schemas of every document that ncuview writes, by name (``schema``); ``docs/reference`` has them as files.

They are made from the dataclasses of ``records.documents``; that of baselines from the model that reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ncuview.gate.baseline import baseline_schema
from ncuview.records.documents import DoctorDocument
from ncuview.records.documents.comparison import ComparisonDocument, LadderDocument
from ncuview.records.documents.diagnosis import DiagnosisDocument
from ncuview.records.documents.history import HistoryDocument
from ncuview.records.documents.store_answer import StoreAnswerDocument
from ncuview.records.documents.trial import TrialDocument
from ncuview.records.documents.view import ViewDocument
from ncuview.records.documents.without_counters import WithoutCountersDocument
from ncuview.records.schema import schema_of

_DOCUMENTS: Mapping[str, type] = {
    "diagnosis": DiagnosisDocument,
    "ladder": LadderDocument,
    "comparison": ComparisonDocument,
    "history": HistoryDocument,
    "without_counters": WithoutCountersDocument,
    "doctor": DoctorDocument,
    "trial": TrialDocument,
    "view": ViewDocument,
    "store_answer": StoreAnswerDocument,
}
NAMES = (*_DOCUMENTS, "baseline")
"""The names of all schemas."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document, draft 2020-12.

    Args:
        name: One of ``NAMES``.
    """
    return baseline_schema() if name == "baseline" else schema_of(_DOCUMENTS[name])
