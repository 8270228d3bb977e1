"""Change a kernel's source in a private copy, check that the result is the same, time both, and keep what is faster.

A target and its findings enter, a ``Trial`` leaves. It knows nothing of pages, and writes nothing into the user's tree.
"""
