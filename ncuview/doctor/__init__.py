"""Check whether this machine can profile with Nsight Compute: 22 checks, each with a verdict, evidence and the fix.

``checkup.examine_this_machine`` makes them; ``live.live_checks`` adds two that profile a tiny kernel.
"""
