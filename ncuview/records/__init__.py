"""The frozen dataclasses that pass between packages: profile, diagnosis, gate, ladder, calibration, failure.

They hold data and no behaviour beyond what follows from it, and import no library.
"""
