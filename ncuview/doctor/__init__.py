"""Check whether this machine can profile with Nsight Compute: 22 checks, each with a verdict, evidence and the fix.

``live`` adds two checks that profile a tiny kernel.
"""
