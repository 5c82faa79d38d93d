import pyflat.frontend.syntax.calls  # noqa: F401  # the order in which the circle of imports closes
