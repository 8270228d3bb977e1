"""Results of a profiled kernel for a user's own tests: metrics, time, findings and advice to assert on."""
