"""Compare diagnosed reports of the same kernels over commits, dates, ranks or GPUs: times, steps, imbalance of ranks.

It finds the files, reads diagnoses from JSON documents and builds the ``History``.
"""
