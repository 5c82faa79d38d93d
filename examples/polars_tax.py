"""Payroll in Polars: a tax tariff written as one reads it in the law, as a column expression.

    python examples/polars_tax.py

`income_tax` is an ordinary function with early returns and a helper; `expression` makes `when/then/otherwise` of it, so
that it runs inside of Polars, lazily and in parallel, instead of row by row through `map_elements`.
"""

from __future__ import annotations

import sys
import time

import polars as pl

from pyflat.targets.polars import expression, source

BASIC_ALLOWANCE = 11_604.0
CHILD_ALLOWANCE = 3_192.0


def tariff(taxable: float) -> float:
    """Two progressive zones, two proportional ones."""
    if taxable <= BASIC_ALLOWANCE:
        return 0.0
    if taxable <= 17_005.0:
        y = (taxable - BASIC_ALLOWANCE) / 10_000.0
        return (922.98 * y + 1_400.0) * y
    if taxable <= 66_760.0:
        z = (taxable - 17_005.0) / 10_000.0
        return (181.19 * z + 2_397.0) * z + 1_025.38
    if taxable <= 277_825.0:
        return 0.42 * taxable - 10_602.13
    return 0.45 * taxable - 18_936.88


def income_tax(income: float, children: int, married: bool) -> float:
    """The tax of a year in euros and cents. Couples pay twice the tax of half of what they earn."""
    if income < 0.0 or children < 0:
        raise ValueError("no such household")
    taxable = max(income - CHILD_ALLOWANCE * min(children, 6), 0.0)
    if married:
        return round(2.0 * tariff(taxable / 2.0), 2)
    return round(tariff(taxable), 2)


def households(count: int) -> pl.DataFrame:
    rows = pl.int_range(count, eager=True)
    return pl.DataFrame({
        "name": rows.cast(pl.String),
        "income": (rows * 7919 % 320_000).cast(pl.Float64) + 0.37,
        "children": rows % 4,
        "married": rows % 3 == 0,
    })


def main() -> int:
    print(source(tariff, taxable="income"), "\n")
    frame = households(200_000)
    start = time.perf_counter()
    taxed = frame.lazy().with_columns(tax=expression(income_tax)).collect()
    seconds = time.perf_counter() - start
    print(taxed.head(5))
    print(taxed.group_by("married").agg(pl.col("tax").mean()).sort("married"))
    sample = taxed.head(5_000)
    start = time.perf_counter()
    wanted = [income_tax(*row) for row in sample.select("income", "children", "married").iter_rows()]
    python = (time.perf_counter() - start) * frame.height / sample.height
    print(f"{frame.height} households in {seconds:.3f} s; the Python function alone would take {python:.3f} s")
    return 0 if sample["tax"].to_list() == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
