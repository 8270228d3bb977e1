"""Long tests of what tests/collect tests."""
