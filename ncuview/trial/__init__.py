"""Change a kernel's source in a private copy, check that the result is the same, time both, and keep what is faster.

A target and its findings enter (``kernel_files``, ``programs``), the changes that were tried leave (``search``).
``verify`` shows that a version computes the same, ``timing`` that it gains, ``bounds`` what the waste of a finding
costs. It knows nothing of pages, and writes nothing into the user's tree. Nothing that failed counts as a pass.
"""
