"""The frozen dataclasses that pass between packages: profile, diagnosis, gate, ladder, calibration, failure.

``documents`` holds those of the JSON documents, ``schema`` makes their schemas and values. No logic and no library.

They hold data and no behaviour beyond what follows from it.
"""
