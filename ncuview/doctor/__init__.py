"""What of this machine stands in the way of profiling: 22 checks, each with what was seen and the fix."""
