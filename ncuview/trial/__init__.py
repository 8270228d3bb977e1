"""Try a change of a kernel: variants of its source, whether they may be believed, and what they gain."""
