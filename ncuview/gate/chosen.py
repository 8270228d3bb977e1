"""``Chosen``: by which options a user chose some of the launches, and what they leave out of a baseline and a budget.

``-k`` decides by the kernel's name. Which launches others leave out, such as ``--launch-count``, is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ncuview.base.errors import NotComparable
from ncuview.gate.baseline import Baseline
from ncuview.gate.budget import Budget, Entry
from ncuview.reader.csv_export import function_name
from ncuview.reader.kernel_filter import PREFIX, matches
from ncuview.records.diagnosis import Diagnosis

_WILDCARDS = re.compile(r"\[[^]]*\]|[*?]")


@dataclass(frozen=True)
class Chosen:
    """Which launches were read or profiled; by default all."""

    kernel_name: str = ""
    """The name, or ``regex:`` and a pattern; empty for all."""
    by_demangled: bool = False
    """Whether that is compared with demangled names rather than bare ones."""
    further: tuple[str, ...] = ()
    """Further options that left out launches of a program, as the user typed them."""

    def kernels_of(self, baseline: Baseline) -> Baseline:
        """The baseline without the kernels whose names are left out.

        Raises:
            NotComparable: No kernel remains.
        """
        names = ((each.demangled if self.by_demangled else each.kernel, each) for each in baseline.kernels)
        if kept := tuple(each for name, each in names if matches(name, self.kernel_name)):
            return baseline.model_copy(update={"kernels": kept})
        raise NotComparable(
            f"no kernel of the baseline is selected by -k {self.kernel_name}",
            hint="Save a baseline with it: ncuview check TARGET --save-baseline FILE.",
        )

    def entries_left_out(self, budget: Budget, diagnosis: Diagnosis) -> frozenset[int]:
        """The numbers, from 1, of the entries that match no launch and are about kernels whose names are left out."""
        if not self.kernel_name:
            return frozenset()
        return frozenset(
            number
            for number, entry in enumerate(budget.entries, start=1)
            if not self._selects(entry) and not any(map(entry.is_about, diagnosis.launches))
        )

    def _selects(self, entry: Entry) -> bool:
        """Whether an entry names a kernel that the filter selects; a pattern counts as the shortest name it matches."""
        if not self.kernel_name.startswith(PREFIX) and fnmatchcase(self.kernel_name, entry.kernel):
            return True
        shortest = _WILDCARDS.sub("", entry.kernel)
        return matches(shortest if self.by_demangled else function_name(shortest), self.kernel_name)


ALL = Chosen()
"""No option chose any."""


def left_out_words(chosen: Chosen, kernels: tuple[int, int], entries: tuple[int, int], unlaunched: int) -> str:
    """What was not checked, as a remark without a full stop; empty where nothing was left out.

    Args:
        chosen: The options.
        kernels: How many kernels of the baseline their names leave out, and of how many.
        entries: The same for the entries of the budget.
        unlaunched: The further kernels of the baseline without a launch, where other options left out launches.
    """
    nouns = (("kernels of the baseline", kernels), ("entries of the budget", entries))
    left = [f"{count:,} of {of:,} {noun}" for noun, (count, of) in nouns if count]
    words = [f"-k {chosen.kernel_name} leaves out {' and '.join(left)}"] if left else []
    if unlaunched:
        of = f"{unlaunched:,} {'kernel' if unlaunched == 1 else 'kernels'} of the baseline"
        words.append(f"{of} had no launch among those that {', '.join(chosen.further)} chose, and were not compared")
    return "; ".join(words)
