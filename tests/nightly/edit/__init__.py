"""Long tests of what tests/edit tests."""
