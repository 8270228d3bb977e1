"""``KernelResult``, the result of profiled launches for a user's own tests: metrics, time, findings and advice."""
