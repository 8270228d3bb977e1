"""Mistakes made in a kernel's source by rules, many for each kernel: most are wrong, some change nothing.

``mutations_of`` a kernel file gives each with its kind. What is wrong of them the oracle says, not this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ncuview.catalogue.kernel_file import Kernel

_BODY = re.compile(r"^---\*/$", re.MULTILINE)
_RULES = (
    ("a dropped barrier", r"__syncthreads\(\);", ""),
    ("a dropped barrier of a warp", r"__syncwarp\(\);", ""),
    ("a barrier of a warp instead of the block", r"__syncthreads\(\);", "__syncwarp();"),
    ("an early return before a barrier", r"__syncthreads\(\);", "if (threadIdx.x % 32 == 31) return; __syncthreads();"),
    ("an addition instead of an atomic", r"atomicAdd\(&(\w+\[[^;]*\]), ([^;]*)\);", r"\1 += \2;"),
    ("an atomic that is left out", r"atomicAdd\([^;]*\);", ";"),
    ("a lost tail", r"\b(\w+) < (n|w|h|cols|rows|width|nx|ny)\b", r"\1 < \2 - 1"),
    ("half of a loop", r"(for \([^;]*; \w+ < )([^;&]+);", r"\1(\2) / 2;"),
    ("a loop with one iteration more", r"(for \([^;]*; \w+) < ([^;&]+);", r"\1 <= \2;"),
    ("swapped axes", r"\bthreadIdx\.x\b", "threadIdx.y"),
    ("a block's index without the block", r"\bblockIdx\.x \* (?:blockDim\.x|[A-Z_]+) \+ ", ""),
    ("a mask without half of the lanes", r"0xffffffff|~0u", "0xffffu"),
    ("a shuffle over another distance", r"(__shfl_\w+_sync\([^,]*, [^,]*, )([^)]*)\)", r"\1(\2) / 2)"),
    ("a fast function", r"(?<!_)\b(sinf|cosf|expf|logf)\(", r"__\1("),
    ("a smaller tile", r"(__shared__ \w+ \w+\[)([^\]]+)\]", r"\1(\2) / 2]"),
)


@dataclass(frozen=True)
class Mutation:
    """A source with a mistake.

    Attributes:
        kind: The mistake.
        source: The complete file.
    """

    kind: str
    source: str


def mutations_of(kernel: Kernel) -> Iterator[Mutation]:
    """Every mistake of every rule at each place, one at a time."""
    text = kernel.path.read_text(encoding="utf-8")
    start = _BODY.search(text)
    assert start
    head, body = text[: start.end()], text[start.end() :]
    outputs = "|".join(each.name for each in kernel.text.args if each.kind.startswith(("out", "zeroed")))
    rules = [
        *_RULES,
        ("an output's index that is shifted", rf"\b({outputs})\[(.+)\] =", r"\1[\2 + 1] ="),
        ("an output's index that is none", rf"\b({outputs})\[(.+)\] =", r"\1[(\2) & ~1] ="),
    ]
    for kind, pattern, replacement in rules:
        for found in re.finditer(pattern, body):
            changed = body[: found.start()] + found.expand(replacement) + body[found.end() :]
            yield Mutation(kind, head + changed)
    if "gridDim" not in body:
        halved = re.sub(r'^grid = \["([^"]+)"', r'grid = ["(\1) / 2"', head, count=1, flags=re.MULTILINE)
        yield Mutation("half of the blocks", halved + body)
