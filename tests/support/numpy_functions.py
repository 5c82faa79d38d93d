"""The names of NumPy's functions that are operations with digits of their own."""

from __future__ import annotations

from pyflat.functions.records import Accuracy, of_accuracy

_RECORDS = [record for record in of_accuracy(Accuracy.NUMPY) if record.python]
NUMPY_UNARY = tuple(record.numpy for record in _RECORDS if record.operands == "d")
NUMPY_BINARY = tuple(record.numpy for record in _RECORDS if record.operands == "dd")
