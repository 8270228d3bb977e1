"""The two advisers that are scored, ncuview and Nsight Compute's own rules, and what is counted of their advice."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from validation.cases import ADVICE, Advice, Case

VENDOR_WORDS: dict[str, set[str]] = {
    "UncoalescedGlobalAccess": {
        "coalescing",
        "data_layout",
        "shared_memory_tiling",
        "vectorized_access",
        "texture_cache",
    },
    "UncoalescedSharedAccess": {"shared_memory_padding", "data_layout"},
    "SharedMemoryConflicts": {"shared_memory_padding", "data_layout"},
    "MemoryCacheAccessPattern": {"coalescing", "data_layout", "shared_memory_tiling", "vectorized_access"},
    "MemoryL2Compression": set(),
    "ThreadDivergence": {"divergence_removal", "launch_configuration"},
    "AchievedOccupancy": {"launch_configuration", "thread_coarsening"},
    "TheoreticalOccupancy": {"launch_configuration", "thread_coarsening"},
    "Occupancy": {"launch_configuration", "thread_coarsening"},
    "LaunchConfiguration": {"launch_configuration", "thread_coarsening"},
    "WorkloadImbalance": {"launch_configuration", "thread_coarsening"},
    "FPInstructions": {"strength_reduction", "fast_math", "algorithmic"},
    "HighPipeUtilization": {"strength_reduction", "fast_math", "lower_precision", "algorithmic"},
    "SlowPipeLimiter": {"strength_reduction", "fast_math", "lower_precision"},
    "IssueSlotUtilization": {"launch_configuration", "unrolling", "thread_coarsening"},
    "CPIStall": {
        "unrolling",
        "thread_coarsening",
        "shared_memory_tiling",
        "fewer_barriers",
        "register_tiling",
        "warp_shuffle",
    },
    "Atomics": {"atomic_privatization", "warp_shuffle"},
}
"""What an estimate of Nsight Compute's rule counts as advising: every word that its text could mean."""


@dataclass(frozen=True)
class Adviser:
    """Someone whose advice is scored."""

    name: str
    says: Callable[[Case], Sequence[Advice]]
    matches: Callable[[Advice, Case], bool]

    def advised(self, case: Case) -> list[Advice]:
        """What it predicts to gain at least ADVICE, in order."""
        return [advice for advice in self.says(case) if advice.gain >= ADVICE and advice.given]

    def hit(self, case: Case, among: int) -> bool:
        """Whether right advice is among its first ones."""
        return any(self.matches(advice, case) for advice in self.advised(case)[:among])

    def prediction(self, case: Case) -> Advice:
        """What it predicts for the right change; a gain of 1.0 where it says nothing of it."""
        found = (advice for advice in self.says(case) if self.matches(advice, case))
        return next(found, Advice("", 1.0, 1.0, 1.0))

    def names_the_step(self, case: Case) -> bool:
        """Whether its first advice is the step that was made, and not one that is as good."""
        return self.hit(replace(case, right=case.right[:1]), 1)

    def factor(self, case: Case) -> float:
        """How far the predicted gain is from the measured one, as a factor from 1."""
        return off(self.prediction(case).gain, case.gain)

    def covers(self, case: Case) -> bool:
        """Whether the measured gain lies between the bounds of its prediction."""
        predicted = self.prediction(case)
        return predicted.low <= case.gain <= predicted.high

    def advises_in_vain(self, case: Case) -> bool:
        """Whether it advises what is known to bring nothing."""
        words = {advice.optimization for advice in self.advised(case)}
        word = case.negative_example
        return word in words or any(word in VENDOR_WORDS.get(each, set()) for each in words)

    def misses(self, case: Case) -> bool:
        """Whether its advice is not right, its gain off by more than a quarter, or advice uncalled for."""
        wrong = bool(case.right) and (not self.hit(case, 1) or self.factor(case) > MISSED_BY)
        needless = case.near_peak and bool(self.advised(case))
        return wrong or needless or (bool(case.negative_example) and self.advises_in_vain(case))


MISSED_BY = 1.25
OURS = Adviser("ncuview", lambda case: case.ours, lambda advice, case: advice.optimization in case.right)
VENDOR = Adviser(
    "Nsight Compute's rules",
    lambda case: case.vendor or (),
    lambda advice, case: bool(VENDOR_WORDS.get(advice.optimization, set()) & set(case.right)),
)


def mean_over_families(adviser: Adviser, pairs: Sequence[Case]) -> float:
    """The share of right first advice, of each family first."""
    families = sorted({case.family for case in pairs})
    shares = [statistics.mean(adviser.hit(case, 1) for case in pairs if case.family == family) for family in families]
    return statistics.mean(shares)


def off(predicted: float, measured: float) -> float:
    """How far a predicted gain is from the measured one, as a factor from 1."""
    return max(predicted / measured, measured / predicted)


def best_constant(pairs: Sequence[Case]) -> float:
    """The gain that is nearest to all measured ones, if one had to guess the same for all."""
    guesses = [1 + step / 100 for step in range(400)]
    return min(guesses, key=lambda guess: statistics.median(off(guess, case.gain) for case in pairs))
