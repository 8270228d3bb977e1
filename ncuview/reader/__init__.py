"""Read reports (.ncu-rep, .ncu-repz) and ncu's CSV exports -> ``Profile``, and write scrubbed copies of reports.

What enters is untrusted: files are checked in Python and then read in sandboxed child processes (``reader.read``).
Damaged parts are left out and named. What leaves are DataFrames, with source texts, call sites and the host's times
joined. It knows no rule and analyses nothing.
"""
