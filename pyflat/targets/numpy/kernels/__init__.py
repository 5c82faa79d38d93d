"""Kernels over arrays on the NumPy target: parallel loops are operations on whole arrays."""
