"""What the engines without lanes of Python share: an engine is a table (`printer.Engine`), and one printer reads it.

    terms    a function and its columns -> a flat function, with one column for each number that it reads, and that as
             a graph of shared terms, in the operations that the engine has
    labels   results that are strings or null
    printer  the table, and terms as texts: one expression, or stages of columns
"""

from pyflat.targets.columns.printer import ColumnsEngine, Printer, Stage, with_objects
from pyflat.targets.columns.terms import Column, Given, Piece, Terms, flattened, terms_of, tests_of

__all__ = ["Column", "ColumnsEngine", "Given", "Piece", "Printer", "Stage", "Terms", "flattened", "terms_of",
           "tests_of", "with_objects"]
