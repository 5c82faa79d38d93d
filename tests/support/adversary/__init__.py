"""Functions that a language lawyer would write, one module per subject; tests/test_adversary.py runs them."""
