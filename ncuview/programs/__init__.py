"""Say whose code each launch runs, which line of the user's program called it, and what to change at which call.

A ``Profile``, call stacks and the user's patterns enter; an ``Owner`` and a ``Call`` for each launch leave, and
``ProgramFinding``s over their sequence. The package must not know rules of kernels, diagnoses or pages.
"""
