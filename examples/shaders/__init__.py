"""Shaders that a backend without control flow gets: `python -m examples.shaders` prints what becomes of each."""
