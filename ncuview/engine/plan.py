"""Compute from ``Rule`` objects the metrics that ncu must collect, and choose rules by code or name.

``metrics_for`` gives all metrics, ``first_look_metrics`` those of a cheap first run, ``choose_rules`` the rules.

Measured on an H200 with ncu 2025.3.1, the metrics of all rules take 6 passes: 3 for the use of the units and pipes and
for occupancy, 1 for the warp samples, 1 for the counters of instructions and 1 for what the instrumented code adds to
them. profiling/passes.py lists which metrics share a pass; benchmarks/profiling_cost.py prints the number of passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ncuview.base.errors import UnknownRule, UsageError
from ncuview.engine.rule_file import Rule, unknown_rule
from ncuview.metrics.quantities import metrics_of
from ncuview.metrics.units import OF_THE_MODEL, UNITS
from ncuview.profiling.passes import ATTRIBUTES, ONE_PASS, collector_of
from ncuview.programs.rule_file import program_rules

# Measured by the host process, not by ncu.
_HOST = "host__"

_TEXTBOOK = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "inst_executed",
    "lts__t_sector_hit_rate.pct",
    "sm__cycles_active.avg",
    "sm__inst_executed.avg.per_cycle_active",
    "smsp__inst_executed.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct",
    "smsp__sass_inst_executed_op_global_ld.sum",
    "smsp__sass_inst_executed_op_global_st.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
    "thread_inst_executed",
)
"""Metrics that only textbook metrics read; each is collected where the rules need its collector anyway."""

_LINES = (
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
    "memory_l1_tag_requests_global",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)


def metrics_for(rules: Iterable[Rule]) -> list[str]:
    """The metrics to collect for these rules, sorted, under Nsight Compute's newest names."""
    needed = {*OF_THE_MODEL, *(unit.metric for unit in UNITS.values() if unit.metric)}
    for unit in UNITS.values():
        if unit.quantity:
            needed |= set(metrics_of(unit.quantity))
    for rule in rules:
        needed |= rule.metric_names()
    at_work = {collector_of(name) for name in needed if not name.startswith(_HOST)}
    needed |= {name for name in _TEXTBOOK if collector_of(name) in at_work}
    return sorted(name for name in needed if not name.startswith((*ATTRIBUTES, _HOST)))


def first_look_metrics() -> list[str]:
    """The metrics of the first look, sorted: one pass of hardware counters and one of instructions."""
    return sorted({*ONE_PASS, *_LINES})


def choose_rules(rules: Sequence[Rule], select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The selected rules without the ignored ones; without a selection, all rules but the ignored ones.

    Args:
        rules: The rules to choose from.
        select: Prefixes of codes, or names: ``SMEM``, ``SMEM001``, ``shared-bank-conflict``; case is ignored.
        ignore: The same; a rule that is both selected and ignored is ignored.

    Raises:
        UnknownRule: A word fits no rule.
        UsageError: No rule is left.
    """
    selected = _named(rules, select) if select else frozenset(rule.text.code for rule in rules)
    chosen = selected - _named(rules, ignore)
    if not chosen:
        raise UsageError("no rule is left", hint="--ignore excludes every rule that --select includes.")
    return tuple(rule for rule in rules if rule.text.code in chosen)


def _named(rules: Sequence[Rule], words: Iterable[str]) -> frozenset[str]:
    """The codes of the rules that the words name."""
    known = [(rule.text.code, rule.text.name) for rule in rules]
    found: set[str] = set()
    for word in words:
        meant = (
            {code for code, name in known if code.startswith(word.upper()) or name == word.lower()} if word else set()
        )
        if not meant:
            raise _of_programs(word) or unknown_rule(word, rules)
        found |= meant
    return frozenset(found)


def _of_programs(word: str) -> UnknownRule | None:
    """The error for a word that names rules about programs, which read all launches and are not chosen."""
    if not word or not any(each.code.startswith(word.upper()) or each.name == word.lower() for each in program_rules()):
        return None
    return UnknownRule(
        f"{word!r} is about programs: only rules of kernels are selected and ignored",
        hint="Rules about programs run wherever call stacks are known; `ncuview explain PROG001` explains one.",
    )


def belongs_in_recording(name: str, planned: frozenset[str]) -> bool:
    """Whether a recorded profile keeps a metric: planned ones, and attributes of the launch and the GPU."""
    return name in planned or (name.startswith(ATTRIBUTES) and not name.startswith("launch__occupancy_per_"))
