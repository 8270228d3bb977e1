"""The schema of a rule file: its tables and keys, as classes that check a parsed TOML document.

``RuleFile`` is the complete file; ``rule_file`` loads it and compiles its expressions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ncuview.engine.independent_work import Proof
from ncuview.records.diagnosis import Cause, Optimization

Outcome = Literal["finding", "passed", "not_applicable", "skipped"]
Text = Annotated[str, Field(min_length=1)]
Status = Literal["draft", "shipped"]
Kind = Literal["measured", "documented", "derived", "assumed"]
"""Where a number comes from: a measurement, a document, other numbers by arithmetic, or an assumption."""


class _Part(BaseModel):
    """A table of a rule file: every key is known and has its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Docs(_Part):
    """What the rule measures, why it matters, its limits, and what its prediction assumes."""

    what: Text
    why: Text
    limits: Text
    assumes: Text


class Cite(_Part):
    """One document that teaches the optimisation."""

    document: Text
    section: Text
    claim: Text


class Parameter(_Part):
    """A number that belongs to the rule, with the measurement, document or arithmetic that it comes from."""

    value: float
    kind: Kind
    source: Text


class EvidenceTexts(_Part):
    """When the rule applies, which values it computes, and when they are a finding: where all conditions hold."""

    applies: Annotated[list[Text], Field(min_length=1)]
    when: Annotated[list[Text], Field(min_length=1)]
    values: dict[str, Text] = {}
    units: dict[str, Text] = {}


class WhereTexts(_Part):
    """Which lines carry the waste: arithmetic over the metrics of each instruction (``names.OF_INSTRUCTIONS``)."""

    waste: Text
    among: Literal["load", "global_load", "global_store", "atomic", "local"] | None = None


class Assumed(_Part):
    """What a quantity of machine code counts as in a launch without machine code."""

    value: float | Text
    """A number, or arithmetic over quantities and metrics."""
    reason: Text


class WithoutCodeTexts(_Part):
    """What the rule judges of a launch without machine code, as a finding of grade ``likely``, or why it cannot."""

    cannot: Text | None = None
    """What only machine code shows, as a clause; the other keys are then left out."""
    assume: dict[str, Assumed] = {}
    when: list[Text] = []
    """The conditions of a finding, in place of those of ``evidence``; empty where those hold for both."""
    finding: Text | None = None
    """The message of a finding, where that of the rule names what the counters do not show."""


class StaticTexts(_Part):
    """What machine code shows of the rule's subject without counters: a search, conditions and a phrase."""

    subject: Text
    """A name of ``static_subjects.SUBJECTS``."""
    counts: Text
    """The noun for what ``{n}`` in the phrase counts, in the singular."""
    when: list[Text] = []
    """Conditions over the values of the subject, thresholds and ``gpu.bytes_in_flight``."""
    finding: Text


class MessageTexts(_Part):
    """The messages of a finding (with ``check``), of passed and of not applicable."""

    finding: Text
    check: Text
    passed: Text
    not_applicable: Text


class FixRegions(_Part):
    """The change, shown on marked regions of two real kernels, and its mechanical edit if there is one."""

    title: Text
    before: Text | None = None
    after: Text | None = None
    before_launch: Text | None = None
    """The catalogue's launch that shows ``before``, where it is not the kernel of the file's name."""
    after_launch: Text | None = None
    patch: str = ""
    """The mechanical edit of the user's source that makes the change: a name of ``ncuview.patch``."""
    by_hand: str = ""
    """Why no program can make the change, as a clause."""
    recipe: str = ""
    """The change in two sentences, where the two regions differ in more lines than a page shows."""

    @property
    def launches(self) -> tuple[str, str]:
        """The catalogue's launches that show the change; empty where none does."""
        return self.before_launch or _kernel_of(self.before), self.after_launch or _kernel_of(self.after)


class Example(_Part):
    """A recorded launch and the rule's expected outcome on it: a test of the rule."""

    launch: Text
    """A launch of the catalogue as ``ncuview analyze`` takes it, or the name of a kernel in ``report``."""
    report: Text | None = None
    """A report file in the folder of the rule file; without it, the catalogue's recorded profile."""
    expect: Outcome
    predicted: float | None = None
    """The predicted speedup of a finding."""


class RuleFile(_Part):
    """A complete rule file, as TOML."""

    schema_version: Annotated[Literal[2], Field(alias="schema")]
    code: Annotated[str, Field(pattern=r"^[A-Z]{2,6}\d{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    status: Status
    scope: Literal["kernel", "end-to-end"] = "kernel"
    """What gets faster: the kernel, or the host's copies and the kernel together."""
    optimization: Optimization
    overtaken: bool = False
    """Whether it is about a property of former GPUs: the documents teach it, and no kernel needs it today."""
    summary: Text
    docs: Docs
    cite: Annotated[list[Cite], Field(min_length=1)]
    evidence: EvidenceTexts
    thresholds: dict[str, Parameter] = {}
    prediction: dict[str, Parameter] = {}
    cause: Cause | None = None
    """What it has in common with other rules: of their findings on the same lines one is advice."""
    independent_work: list[Proof] = []
    """What shows the independent work that the change needs, where one of these suffices; a finding without says so."""
    effects: Annotated[dict[str, Text | dict[str, Text]], Field(min_length=1)]
    """Named effect -> the share that the change leaves; ``added`` holds new work. See speedup/effects.py."""
    where: WhereTexts | None = None
    static: StaticTexts | None = None
    without_code: WithoutCodeTexts | None = None
    """Needed by a shipped rule that reads quantities which only machine code gives."""
    message: MessageTexts
    fix: Annotated[list[FixRegions], Field(min_length=1)]
    example: Annotated[list[Example], Field(min_length=1)]


def _kernel_of(shown: str | None) -> str:
    """The kernel of ``kernels/transpose/transposeNaive.cu#kernel``."""
    return Path((shown or "").partition("#")[0]).stem
