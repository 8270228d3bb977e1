"""The what-if model: how much faster a launch becomes when a change takes demand from its units or its latency."""
