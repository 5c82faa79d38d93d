"""The SQL way out: a function as a `CASE` expression, or as a query, for DuckDB and SQLite."""

from pyflat.targets.sql.text import expression, expressions, query

__all__ = ["expression", "expressions", "query"]
