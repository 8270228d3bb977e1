"""Long tests of what tests/report tests."""
