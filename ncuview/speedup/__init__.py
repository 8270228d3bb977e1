"""Predict speedups by the what-if model of unit use and latency; look up and calibrate attainable shares of peak."""
