"""Say whose code a launch runs: the user's, or that of a compiler, a framework or a vendor's library.

A ``Profile`` and the user's patterns enter; an ``Owner`` for each launch leaves. The package must not know rules,
diagnoses or pages.
"""
