"""What a twin does with the arrays of other libraries: docs/reference/containers.md is made from container_cases.txt.

tests/runtime/containers/test_cases.py makes every call of that table whose library is installed and compares what
happens, as `shown` writes it; `python docs/container_cases.py` writes what happens now into the table.
"""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pyflat


class Pair(NamedTuple):
    total: float
    count: int


def fee(amount: float, rate: float = 0.5) -> float:
    if amount > 100.0:
        return 1.0 / rate
    return amount * rate


def share(part: int, whole: int) -> int:
    return part // whole


def pair(x: float, n: int) -> Pair:
    return Pair(x * n, n + 1)


def label(x: float, how: str) -> float:
    return x + x if how == "twice" else x


def grade(x: float) -> str:
    return "low" if 1.0 / x < 0.5 else "high"


def maybe(n: int) -> int | None:
    return n + 1 if n > 0 else None


def bits(n: int) -> int:
    return (n * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF


def amount_of(amount: float | None) -> float:
    import pandas as pd

    return 0.0 if pd.isna(amount) else amount * 2


def of_row(row: Any) -> float:
    return row["amount"] / row.rate if row["amount"] > 1 else 0.0


def total_of(items: Any) -> float:
    total = 0.0
    for item in items:
        total += item
    return total


def safe_root(x: float) -> float:
    return math.sqrt(x) if x > 0.0 else 0.0


def halvings(x: float) -> int:
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
    return n


def newton(x: float) -> float:
    root = x
    while abs(root * root - x) > 1e-12:
        root = 0.5 * (root + x / root)
    return root


class Row(NamedTuple):
    """A call and what happens."""

    library: str
    construct: str
    call: str
    outcome: str


@dataclass(frozen=True)
class Setting:
    """What calls of a library name: made when the library is there."""

    libraries: tuple[str, ...]
    text: str

    @functools.cached_property
    def names(self) -> dict[str, Any]:
        made: dict[str, Any] = {**globals()}
        for name in ("fee", "share", "pair", "label", "safe_root", "total_of", "halvings", "newton",
                     "grade", "maybe", "bits", "amount_of"):
            made[name] = pyflat.twin(globals()[name])
        for option in ("nan", "mask"):
            made[f"{option}_fee"] = pyflat.twin(fee, errors=option)
            made[f"{option}_share"] = pyflat.twin(share, errors=option)
            made[f"{option}_grade"] = pyflat.twin(grade, errors=option)
            made[f"{option}_bits"] = pyflat.twin(bits, errors=option)
        exec(self.text, made)
        return made


SETTINGS = {
    "lists": Setting((), ""),
    "pandas": Setting(("pandas", "pyarrow"), """
import pandas as pd
s = pd.Series([1.0, 4.0], index=["a", "b"], name="price")
t = pd.Series([2.0, 0.25], index=["a", "b"], name="rate")
i = pd.Series([7, 8], name="n")
z = pd.Series([2, 0], name="n")
nullable = pd.Series([3.0, None, 5.0], dtype="Float64")
big = pd.Series([7, None, 9], dtype="Int64")
arrow = pd.Series([3.0, None, 5.0], dtype="double[pyarrow]")
frame = pd.DataFrame({"amount": [2.0, 3.0], "rate": [0.5, 0.0], "n": [1, 2]}, index=["a", "b"])
"""),
    "xarray": Setting(("xarray",), """
import xarray as xr
a = xr.DataArray([[1.0, 2.0]], dims=("y", "x"), coords={"x": [10, 20]}, attrs={"units": "m"}, name="h")
b = xr.DataArray([4.0, 8.0], dims="x", coords={"x": [10, 20]}, attrs={"units": "s"})
n = xr.DataArray([1, 2], dims="x")
dataset = xr.Dataset({"x_": a, "n": n})
"""),
    "dask": Setting(("dask", "pandas"), """
import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
a = da.from_array(np.array([1.0, 4.0, 9.0]), chunks=2)
z = da.from_array(np.array([200.0, 200.0, 200.0]), chunks=2)
frame = pd.DataFrame({"amount": [2.0, 3.0, 4.0], "n": [1, 2, 3]})
table = dd.from_pandas(frame, npartitions=2)
"""),
    "pickle": Setting(("joblib",), """
import joblib, pickle
def arrived(value):
    return pickle.loads(pickle.dumps(value))
"""),
    "numba": Setting(("numba",), "import numba"),
    "polars": Setting(("polars",), """
import polars as pl
s = pl.Series("price", [1.0, None, 4.0])
i = pl.Series("n", [7, 8, 9])
z = pl.Series("n", [2, 0, None])
frame = pl.DataFrame({"amount": [2.0, None], "rate": [0.5, 0.25], "n": [1, 2], "a.b": [1.0, 2.0]})
"""),
    "pyarrow": Setting(("pyarrow",), """
import pyarrow as pa
a = pa.array([1.0, None, 4.0])
z = pa.array([2, 0, None])
chunked = pa.chunked_array([[1.0], [None, 4.0]])
table = pa.table({"x": [1.0, None], "n": [1, 2]})
"""),
    "DuckDB": Setting(("duckdb",), """
import duckdb
relation = duckdb.sql("SELECT * FROM (VALUES (2.0::DOUBLE, 0.5::DOUBLE), (NULL, 1.0::DOUBLE)) AS t(amount, rate)")
"""),
    "pint": Setting(("pint",), """
import pint
ureg = pint.UnitRegistry()
"""),
    "astropy": Setting(("astropy",), """
import astropy.units as u
from astropy.table import Column, QTable, Table
table = Table({"amount": [2.0, 4.0], "n": [1, 2]})
masked = Table({"amount": np.ma.array([2.0, 4.0], mask=[False, True]), "n": [1, 2]})
"""),
    "JAX": Setting(("jax",), """
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
a = jnp.array([1.0, 4.0])
"""),
    "array API": Setting(("array_api_strict",), """
import array_api_strict as xp
a = xp.asarray([1.0, 4.0])
"""),
}


def installed(library: str) -> bool:
    """Whether the libraries of a setting are there."""
    try:
        for name in SETTINGS[library].libraries:
            importlib.import_module(name)
    except ImportError:
        return False
    return True


def outcome(row: Row) -> str:
    """What happens at the call of a row."""
    names = SETTINGS[row.library].names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows of NumPy's scalars, as in pandas itself
        try:
            return shown(eval(row.call, names))
        except Exception as error:  # noqa: BLE001 - whatever is raised is what the row says
            notes = [note.partition(";")[0] for note in getattr(error, "__notes__", ())[:1] if note.startswith("lane")]
            return f"{type(error).__name__}: {' · '.join([str(error).splitlines()[0], *notes])}"


def shown(value: Any) -> str:
    """A value on one line: its type, dtype, values and labels."""
    root, name = type(value).__module__.partition(".")[0], type(value).__name__
    if isinstance(value, Pair):
        return f"Pair({', '.join(map(shown, value))})"
    if isinstance(value, tuple | Mapping) and root == "builtins":
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        return f"{name}({', '.join(f'{key}: {shown(item)}' for key, item in items)})"
    if type(value) is np.ndarray:
        return f"array of {value.dtype} {value.tolist()}"
    written = _WRITTEN.get((root, name))
    return written(value) if written is not None else f"{name} {' '.join(str(value).split())}"


def _series(value: Any) -> str:
    labels = "" if type(value.index).__name__ == "RangeIndex" else f" at {value.index.tolist()}"
    name = f"Series {value.name}" if value.name else "Series"
    return f"{name} of {value.dtype} {value.tolist()}{labels}"


def _frame(value: Any) -> str:
    columns = ", ".join(f"{name}: {value[name].tolist()}" for name in value.columns)
    return f"DataFrame({columns}) at {value.index.tolist()}"


def _data_array(value: Any) -> str:
    coords = ", ".join(f"{name}={coord.values.tolist()}" for name, coord in value.coords.items())
    attrs = "".join(f", {name}={attr}" for name, attr in value.attrs.items())
    dims = ", ".join(value.dims)
    return f"DataArray {value.name or ''}({dims}) {value.values.tolist()} {coords}{attrs}".replace("  ", " ").strip()


def _dask(value: Any) -> str:
    size = f"chunks {value.chunks}" if hasattr(value, "chunks") else f"{value.npartitions} partitions"
    return f"dask {type(value).__name__} of {size}: {shown(value.compute(scheduler='sync'))}"


_WRITTEN = {
    ("dask", "Array"): _dask, ("dask", "Series"): _dask, ("dask", "DataFrame"): _dask,
    ("pandas", "Series"): _series, ("pandas", "DataFrame"): _frame,
    ("pandas", "Index"): lambda v: f"Index {v.name} {v.tolist()}",
    ("pandas", "FloatingArray"): lambda v: f"FloatingArray {v.tolist()}",
    ("xarray", "DataArray"): _data_array,
    ("xarray", "Dataset"): lambda v: f"Dataset({', '.join(f'{name}: {_data_array(v[name])}' for name in v.data_vars)})",
    ("polars", "Series"): lambda v: f"Series {v.name}".strip() + f" of {v.dtype} {v.to_list()}",
    ("polars", "DataFrame"): lambda v: f"DataFrame {v.to_dict(as_series=False)}",
    ("polars", "LazyFrame"): lambda v: f"LazyFrame of {v.collect().to_dict(as_series=False)}",
    ("pyarrow", "DoubleArray"): lambda v: f"Array of {v.type} {v.to_pylist()}",
    **{("pyarrow", name): lambda v: f"Array of {v.type} {v.to_pylist()}" for name in ("StringArray", "UInt64Array")},
    **{("astropy", name): lambda v: f"{type(v).__name__} {v.name or ''}".strip() + f" of {v.dtype} {v.tolist()}"
       for name in ("Column", "MaskedColumn")},
    **{("astropy", name): lambda v: f"{type(v).__name__}({', '.join(f'{c}: {v[c].tolist()}' for c in v.colnames)})"
       for name in ("Table", "QTable")},
    ("pyarrow", "Int64Array"): lambda v: f"Array of {v.type} {v.to_pylist()}",
    ("pyarrow", "ChunkedArray"): lambda v: f"ChunkedArray of {v.type} {[c.to_pylist() for c in v.chunks]}",
    ("pyarrow", "Table"): lambda v: f"Table {v.to_pydict()}",
    ("jaxlib", "ArrayImpl"): lambda v: f"jax.Array of {v.dtype} {np.asarray(v).tolist()}",
    ("array_api_strict", "Array"): lambda v: f"array_api_strict Array of {str(v.dtype).rpartition('.')[2]} "
                                             f"{np.asarray(v).tolist()}",
    ("duckdb", "DuckDBPyRelation"): lambda v: f"relation of {v.columns} {v.fetchall()}",
    ("pyflat", "Faults"): lambda v: f"Faults in lanes {v.lanes.tolist()}",
    ("builtins", "float"): repr, ("builtins", "int"): repr, ("numpy", "float64"): repr,
}


TABLE = Path(__file__).with_suffix(".txt")


def rows() -> Iterator[Row]:
    """The table: below the name of each library lines of construct, call and what happens, with tabs between them."""
    library = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            library = line.strip("[]")
        elif line:
            yield Row(library, *line.split("\t"))


def main() -> None:
    """Write what happens now into the table, where the libraries are installed."""
    lines, library = [], ""
    for row in rows():
        if row.library != library:
            library = row.library
            lines += ["", f"[{library}]"] if lines else [f"[{library}]"]
        found = outcome(row) if installed(library) else row.outcome
        if found != row.outcome:
            print(f"{library}: {row.call}\n    {row.outcome}\n    {found}")
        lines.append("\t".join((row.construct, row.call, found)))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
