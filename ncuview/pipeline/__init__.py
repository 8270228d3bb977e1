"""From a command's input to its answer: profile or read, diagnose, compare. The packages below do the work.

Nothing here is shown: ``render`` makes the pages.
"""
