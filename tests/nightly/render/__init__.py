"""Long tests of what tests/render tests."""
