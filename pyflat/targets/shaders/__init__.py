"""What the shading languages share: a language is a table (`language.Language`), and one printer reads it.

    prepare   flat or masked IR -> the same without faults, in the operations that 32-bit lanes have
    language  the table: types, literals, how each operation is spelled, helper functions
    printer   the prepared function as text
"""

from pyflat.targets.shaders.language import Language, Printed, Spelling, leaf_names
from pyflat.targets.shaders.prepare import prepare
from pyflat.targets.shaders.printer import print_function

__all__ = ["Language", "Printed", "Spelling", "leaf_names", "prepare", "print_function"]
