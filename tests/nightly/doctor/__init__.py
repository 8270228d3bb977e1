"""Long tests of what tests/doctor tests."""
