"""``optimization_page``: what an optimization is, the rules that advise it, and catalogue kernels that show it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from ncuview.catalogue.kernel_file import Kernel
from ncuview.engine.rule_file import Rule
from ncuview.records.diagnosis import Optimization
from ncuview.render.text import safe_page

MEANINGS: Mapping[Optimization, str] = {
    "coalescing": "Neighbouring threads of a warp access neighbouring addresses, so that a request takes few sectors.",
    "shared_memory_tiling": "A block loads a tile into shared memory once, and its threads reuse or reorder it there.",
    "shared_memory_padding": "Rows of a shared array get another length, so that a column lies in different banks.",
    "diagonal_mapping": "Blocks are numbered along diagonals, so that those running together use different channels.",
    "thread_coarsening": "Each thread computes several elements, which share indices, loads and the block's start.",
    "unrolling": "Several iterations of a loop become straight code: less loop overhead, and more loads in flight.",
    "warp_unrolling": "The last steps of a reduction, within one warp, need neither a loop nor barriers of the block.",
    "register_tiling": "Each thread keeps a tile of its results in registers, and uses each loaded value often.",
    "vectorized_access": "One instruction loads or stores up to 16 bytes of a thread.",
    "divergence_removal": "The threads of a warp take the same side of a branch.",
    "launch_configuration": "Another grid or block size, so that the GPU holds enough warps and all of it has blocks.",
    "warp_shuffle": "Threads of a warp exchange registers, instead of values in shared memory.",
    "fewer_barriers": "Threads of a block wait for each other less often.",
    "atomic_privatization": "Each block or thread counts in a copy of its own, and adds it to the result once.",
    "strength_reduction": "A cheaper operation with the same result: shifts, products with a constant, values kept.",
    "fast_math": "Intrinsics or compiler options with fewer instructions, and results that are less exact.",
    "lower_precision": "Smaller types: fewer bytes to move and faster arithmetic, with results that are less exact.",
    "constant_cache": "Values that are the same for all threads of a warp come from constant memory.",
    "texture_cache": "Reads that are near each other in two dimensions go through a texture.",
    "read_only_cache": "const and __restrict__ show that an array is only read: its loads can be cached and moved.",
    "async_copy": "Global memory is copied to shared memory without registers, while the threads compute.",
    "data_layout": "Another order of the data in memory, such as a structure of arrays.",
    "transfer_reduction": "Fewer, larger or overlapping copies between host and GPU.",
    "algorithmic": "Another algorithm, which needs less work or fewer passes over the data.",
}
_MOST_STEPS = 8
_INDENT = "  "


def optimization_page(optimization: Optimization, rules: Sequence[Rule], kernels: Sequence[Kernel], width: int) -> str:
    """A short page on one optimization.

    Args:
        optimization: Its word.
        rules: All rules.
        kernels: The catalogue's kernels, for the steps that apply it.
        width: Columns of the page.
    """

    def item(text: str) -> str:
        return textwrap.fill(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT * 2, break_on_hyphens=False)

    lines = [textwrap.fill(f"{optimization}: {MEANINGS[optimization]}", width), ""]
    advising = [rule.text for rule in rules if rule.text.optimization == optimization]
    lines += ["Advised by", *(item(f"{each.code} {each.name}: {each.summary}.") for each in advising), ""]
    steps = [(kernel, step) for kernel in kernels if (step := kernel.text.step) and step.applies == optimization]
    if steps:
        lines.append("Kernels before -> after")
        lines += [
            item(f"{step.after} -> {kernel.name} ({kernel.text.family}): {kernel.text.teaches}")
            for kernel, step in steps[:_MOST_STEPS]
        ]
        if further := len(steps) - _MOST_STEPS if len(steps) > _MOST_STEPS else 0:
            lines.append(item(f"and {further} more"))
        first, step = steps[0]
        lines += ["", item(f"`ncuview ladder {first.text.family}` has the predicted and the measured speedups.")]
    if advising:
        lines.append(item(f"`ncuview explain {advising[0].code}` has the change in code, and its sources."))
    return safe_page("\n".join(lines) + "\n")
