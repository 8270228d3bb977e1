"""Compute per-launch numbers from a profile (quantities, textbook metrics, occupancy), and list the GPU's units."""
