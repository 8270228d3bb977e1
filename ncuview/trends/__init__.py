"""Compare diagnosed reports of the same kernels over commits, dates, ranks or GPUs: times, steps, imbalance."""
