"""Analyse SASS, the machine code of NVIDIA GPUs: text -> decoded instructions, control flow, data flow, addresses.

``Code(texts, addresses)`` holds a kernel as ``ncu`` or ``nvdisasm`` prints it; analyses are functions of a ``Code``.

What leaves are decoded instructions and facts about them. The package knows no profile, no metric and no rule, and
imports nothing but the standard library and NumPy.

A ``Code`` stores the results of the analyses of it::

    code = Code(texts, addresses)                 # one text and one address in bytes for each instruction
    code.instructions[3].definitions              # {"R4", "R5"}: the registers that the fourth instruction writes
    loops(code)                                   # cfg: loops, outer ones before those in them
    use_def(code)[7]["R4"]                        # dataflow: the definitions of R4 that reach instruction 7
    lane_stride(code, 7)                          # address: bytes from one lane's address to the next one's
    thread_invariant(code)                        # index_dependence: 1 where all threads compute the same

The modules build on one another in this order:

- ``isa``, ``instruction``, ``decode``: the opcode table and decoded instructions.
- ``opcode_classes``, ``code``: kinds of instructions, and columns of a code.
- ``cfg``, ``control_dependence``, ``dataflow``: blocks, loops, the solver, chains, and ``propagate`` for analyses.
- ``index_dependence``, ``provenance``, ``slices``, ``affine``, ``address``: what values and addresses are.
- ``loaded_values``, ``global_loads``, ``repeated_passes``, ``instruction_mix``, ``idioms``: counts.

Positions number the instructions of a code from 0. Functions that return ``Weights`` give one float64 per instruction.
"""
