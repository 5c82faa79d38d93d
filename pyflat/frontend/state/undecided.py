"""What library sources raise where the original has to say what happens."""


class UndecidedError(Exception):
    """No exception of Python's: no handler of the flattened function catches it, and the original runs the lane."""
