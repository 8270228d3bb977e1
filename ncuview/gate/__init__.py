"""Gates: compare a diagnosis with a budget and a baseline, and return checks with results and an exit code.

A check passed, failed, is inconclusive or was not judged. The package also reads and writes the files of both.
"""
