"""Hashes and generators of random numbers over np.uint64: FNV-1a, xorshift, splitmix64 and the like."""

from __future__ import annotations

from tests.generator.kernels.expressions import WIDE, element
from tests.generator.kernels.scope import Scope

Lines = list[str]


def hashes(scope: Scope) -> Lines:
    """A loop that mixes elements into a number of uint64, and puts out what it gives."""
    r = scope.r
    array = r.choice(scope.arrays)
    if not array.dims:
        return []
    inner = scope.inner(loop=True)
    counters, lines, pad = [], [f"h = np.uint64({r.choice(WIDE)})"], ""
    for dim, name in zip(array.dims, "ijl", strict=False):
        inner.drop(name)
        counters.append(name)
        lines.append(f"{pad}for {name} in range({scope.extent(dim)}):")
        pad += "    "
    read = f"{array.name}[{', '.join(counters)}]"
    if array.number != "int":
        read = f"np.int64({read} > 1)" if r.random() < 0.5 else f"np.uint64({read} * {read} < 5)"
    elif array.dtype != "uint64" and r.random() < 0.8:
        read = f"np.uint64({read})"
    lines += [f"{pad}x = {read}", f"{pad}h = h ^ x" if r.random() < 0.8 else f"{pad}h = x"]
    lines += [pad + _step(scope) for _ in range(r.randint(1, 5))]
    if r.random() < 0.3:
        lines += [f"{pad}if h {r.choice(('>', '<', '==', '>='))} {_number(scope)}:", f"{pad}    h {r.choice('+-^')}= np.uint64({r.choice(WIDE)})"]
    out = r.choice(scope.arrays)
    value = r.choice(("h", "h", "h >> np.uint64(11)", "h % np.uint64(97)", "h / 2**64", "float(h)", "h & np.uint64(255)",
                      "np.float64(h)", "np.int64(h)", "~h", "(h >> np.uint64(40)) * 0.5"))
    lines.append(f"{pad}{_place(inner, out, counters)} = {value}")
    scope.numbers["h"] = "int"
    return lines


def _place(scope: Scope, out: object, counters: Lines) -> str:
    if len(out.dims) == len(counters) and scope.r.random() < 0.8:  # type: ignore[attr-defined]
        return f"{out.name}[{', '.join(counters)}]"  # type: ignore[attr-defined]
    return element(scope, out)  # type: ignore[arg-type]


def _number(scope: Scope) -> str:
    r = scope.r
    return r.choice((f"np.uint64({r.choice(WIDE)})", r.choice(WIDE), "x", "-1", "2**70", "1e19", "np.int64(-5)", "i"))


def _step(scope: Scope) -> str:
    r = scope.r
    count = r.choice(("13", "7", "17", "np.uint64(30)", "np.uint64(64)", "np.uint64(1)", "(x & np.uint64(63))", "63"))
    wide = r.choice((f"np.uint64({r.choice(WIDE)})", f"np.uint64({r.choice(WIDE)})", "x", "3", "h", "np.uint8(3)", "np.uint64(i)"))
    return r.choice((
        f"h ^= h >> {count}", f"h ^= h << {count}", f"h *= {wide}", f"h += {wide}", f"h = (h << {count}) | (h >> {count})",
        f"h = (h ^ (h >> {count})) * {wide}", f"h -= {wide}", "h = ~h", f"h = h % {wide}", f"h = h // {wide}", f"h |= {wide}",
        f"h &= {wide}", "h = -h", f"h = h + {wide} if h < {_number(scope)} else h - {wide}", f"h = h ^ {r.choice(('1', 'i', '2**63', 'x'))}",
    ))
