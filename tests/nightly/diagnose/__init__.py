"""Long tests of what tests/diagnose tests."""
