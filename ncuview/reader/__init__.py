"""Report files -> ``Profile``: inputs, framing checks, sandboxed children, recovery, CSV, frames, sources, scrubbing.

What enters is untrusted; what leaves are DataFrames. It knows no rule and analyses nothing.
"""
