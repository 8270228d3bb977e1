"""Untrusted text in every place of a report and every output: it has no effect there."""
