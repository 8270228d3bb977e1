"""Run programs under ncu: command line and options, passes, attempts, failures, privileges, sampling.

What enters are a program, metric names and options; what leaves are report files and how the run ended.
"""
