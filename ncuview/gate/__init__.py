"""Gates: compare a ``Diagnosis`` with a budget and a baseline -> ``Gate``, whose checks have results and an exit code.

A check passed, failed, is inconclusive or was not judged. The package also reads and writes budget and baseline files.
"""
