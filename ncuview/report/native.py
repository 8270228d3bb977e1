"""The child process that reads one report: the only module that imports ncu_report.

``python -P -m ncuview.report.native FILE [KERNEL]`` prints one JSON document. NVIDIA's reader is native code that
crashes on damaged files and never frees what it loads, so it lives and dies here, with no core file and a bound on
memory.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any

MEMORY_LIMIT = 16 * 2**30
_ADDRESS = re.compile(r"0x[0-9a-f]{9,}")


def metric_values(action: Any) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """A launch's metrics: numbers with their unit, and texts."""
    numbers, texts = {}, {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        value = metric.value()
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, int | float):
            numbers[name] = [value, metric.unit()]
    return numbers, texts


def instruction_metrics(action: Any) -> dict[str, dict[int, float]]:
    """The metrics that ncu attributes to machine instructions: {metric: {address: value}}."""
    found = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        count = metric.num_instances()
        if count == 0 or not metric.has_correlation_ids() or name.startswith(("launch__", "sass__", "device__")):
            continue
        addresses = metric.correlation_ids()
        # Values of a whole launch may bear one instance, at address 0, where no code lies.
        if addresses.kind() != addresses.ValueKind_UINT64 or (count == 1 and addresses.as_uint64(0) == 0):
            continue
        if not action.sass_by_pc(addresses.as_uint64(0)):
            continue
        found[name] = {addresses.as_uint64(i): metric.as_double(i) for i in range(count)}
    return found


def relative(sass: str, start: int) -> str:
    """Jump targets as bytes from the kernel's start, so that they are the same in every run."""
    return _ADDRESS.sub(lambda match: hex(int(match.group(), 16) - start), sass.strip())


def instructions(action: Any) -> dict[str, Any]:
    """Each executed instruction with its text, source line and metrics, as columns."""
    metrics = instruction_metrics(action)
    addresses = sorted(set().union(*metrics.values()))
    if not addresses:
        return {"address": [], "sass": [], "file": [], "line": [], "metrics": {}}
    start = addresses[0]
    sources = [action.source_info(address) for address in addresses]
    return {
        "address": [address - start for address in addresses],
        "sass": [relative(action.sass_by_pc(address), start) for address in addresses],
        "file": [source.file_name() if source else "" for source in sources],
        "line": [source.line() if source else 0 for source in sources],
        "metrics": {name: [values.get(a, 0.0) for a in addresses] for name, values in metrics.items()},
    }


def launch(action: Any) -> dict[str, Any]:
    """All that is read of one launch."""
    numbers, texts = metric_values(action)
    return {
        "kernel": action.name(action.NameBase_FUNCTION),
        "demangled": action.name(action.NameBase_DEMANGLED),
        "numbers": numbers,
        "texts": texts,
        "instructions": instructions(action),
        "sources": {name: text for name, text in action.source_files().items() if text},
    }


def matches(name: str, wanted: str) -> bool:
    """Whether a kernel is asked for: by its exact name, by ``regex:`` and a pattern, or because all are."""
    if wanted.startswith("regex:"):
        return re.search(wanted.removeprefix("regex:"), name) is not None
    return wanted in {"", name}


def main(path: str, kernel: str = "") -> None:
    """Print how many launches the report at ``path`` has, the names of its kernels, and the launches asked for."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    import ncu_report  # only once the limits stand

    context = ncu_report.load_report(path)
    actions = [action for number in range(len(context)) for action in context[number]]
    names = [action.name(action.NameBase_FUNCTION) for action in actions]
    wanted = [{"index": i, **launch(actions[i])} for i, name in enumerate(names) if matches(name, kernel)]
    # Kernel names of a damaged file may hold lone surrogates; ASCII-only JSON carries them safely.
    json.dump({"total": len(actions), "kernels": sorted(set(names)), "launches": wanted}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
