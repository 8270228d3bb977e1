"""Long tests of what tests/hostility tests."""
