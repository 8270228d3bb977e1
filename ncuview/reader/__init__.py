"""Read reports (.ncu-rep, .ncu-repz) and ncu's CSV exports -> ``Profile``, and write scrubbed copies of reports.

What enters is untrusted: framing checks, sandboxed child processes, recovery of damaged parts. What leaves are
DataFrames, with source texts, call sites and the host's times joined. It knows no rule and analyses nothing.
"""
