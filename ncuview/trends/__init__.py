"""Many diagnoses of the same kernels in an order: commits, dates, ranks or GPUs."""
