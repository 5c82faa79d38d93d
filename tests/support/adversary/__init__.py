"""Functions that a language lawyer would write, one module per subject; tests/programs/test_adversary.py runs them."""

small = int
"""The annotation of ints from -2 to 6."""
