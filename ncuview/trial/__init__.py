"""Try a change instead of predicting it: show that a variant computes the same, and measure what it gains.

What enters: builds of one kernel (``cases.Build``: kernel file and machine code), and the process that launches them
on the GPU, as a function. What leaves: a ``Verification`` (verified, refuted or unproven, with the check that decided
and a counterexample), and a ``Timing`` (a median ratio with its interval). ``sanitizer`` reads compute-sanitizer.

This package must not know how a change was made, what was advised, or how results are shown. It starts no process
itself, and nothing that failed counts as a pass.
"""
