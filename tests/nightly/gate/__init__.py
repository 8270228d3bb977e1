"""Long tests of what tests/gate tests."""
