"""Render every shader of the gallery, compare with the NumPy twin, and write docs/how-to/gallery.md with the pictures.

    python examples/gallery.py [FOLDER]          make gallery

The pictures are those of the device that wgpu finds; without one, NumPy's.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gallery_shaders import SHADERS
from pyflat import graphics
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Loop, count_ops, walk
from pyflat.targets.shaders import prepare
from pyflat.targets.wgsl.table import WGSL

SIDE = 320
LARGEST = 55_000
"""Bytes of a picture with all its colours."""
HEAD = """# Gallery

<!-- written by examples/gallery.py (`make gallery`); do not edit -->

Each picture is the Python function beside it, of a place in the picture; helpers are in
[examples/gallery_shaders.py](../../examples/gallery_shaders.py). They are
written with branches, early returns, loops, helpers, and `colorsys` of the standard library; pyflat makes fragment
shaders without any of them ([how](graphics.md)).
"""


@dataclass(frozen=True, slots=True)
class Rendered:
    """One shader: its picture, and how it compares with NumPy's."""

    shader: Callable[..., Any]
    picture: np.ndarray
    operations: int
    fast: int
    selects: int
    loops: int
    typical: float
    different: int

    @property
    def name(self) -> str:
        return self.shader.__name__


def device() -> str | None:
    """The adapter in words, None without one."""
    from pyflat.targets.wgsl import run

    try:
        return run.adapter_name()
    except (ImportError, run.NoAdapter) as error:
        warnings.warn(f"no device: the pictures are NumPy's ({error})", stacklevel=2)
        return None


def rendered(shader: Callable[..., Any], side: int, on_device: bool) -> Rendered:
    """The picture, and how many pixels differ from NumPy's by more than one part in a thousand."""
    wanted = graphics.paint(shader, side, side)
    picture = graphics.render(shader, side, side) if on_device else wanted
    distance = np.nan_to_num(np.abs(picture - wanted).max(axis=-1))
    made = graphics.shader(shader)
    ir, fast = (prepare(each, WGSL.stay) for each in (made.ir, made.optimized().ir))
    opcodes = [op.opcode for op in all_ops(ir.body)]
    loops = sum(isinstance(item, Loop) for item in walk(ir.body))
    return Rendered(shader, picture, len(opcodes), count_ops(fast), opcodes.count("select"), loops,
                    float(np.median(distance)), int((distance > 1e-3).sum()))


def save(picture: np.ndarray, file: Path) -> None:
    """A PNG, with 256 colours of its own where all of them take too much room."""
    image = Image.fromarray(graphics.to_bytes(picture)[..., :3])
    image.save(file, optimize=True)
    if file.stat().st_size > LARGEST:
        image.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def page(done: list[Rendered], adapter: str | None) -> str:
    """The text of docs/how-to/gallery.md."""
    lines = [HEAD]
    for one in done:
        lines += [f"## {one.name}", "", f"![{one.name}](gallery/{one.name}.png)", "",
                  "```python example", inspect.getsource(one.shader).rstrip(), "```", ""]
    pixels = SIDE * SIDE
    told = (f"Pictures of {SIDE} x {SIDE} pixels, rendered by {adapter or 'NumPy'} in 32 bits and by the NumPy twin "
            "in 64. A pixel is different when a component is off by more than 0.001: there a comparison went the other "
            "way.")
    lines += ["## In numbers", "", told, "",
              "| shader | operations | of them selects | fast math | loops | typical distance | different pixels |",
              "|---|---|---|---|---|---|---|"]
    lines += [f"| `{one.name}` | {one.operations:,} | {one.selects} | {one.fast:,} | {one.loops} | {one.typical:.0e} | "
              f"{one.different} of {pixels:,} |" for one in done]
    total, selects = sum(one.operations for one in done), sum(one.selects for one in done)
    loops, different = sum(one.loops for one in done), f"{sum(one.different for one in done)} of {pixels * len(done):,}"
    fast = sum(one.fast for one in done)
    lines += [f"| {len(done)} shaders | {total:,} | {selects:,} | {fast:,} | {loops} | | {different} |", ""]
    return "\n".join(lines)


def main(folder: Path) -> None:
    adapter = device()
    pictures = folder / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    done: list[Rendered] = []
    for shader in SHADERS:
        one = rendered(shader, SIDE, adapter is not None)
        file = pictures / f"{one.name}.png"
        save(one.picture, file)
        done.append(one)
        print(f"{one.name:13} {one.operations:6,} operations, {one.selects:4} selects, {one.loops} loops; "
              f"{one.different:3} of {SIDE * SIDE:,} pixels differ from NumPy's; {file.stat().st_size / 1000:.0f} kB")
    (folder / "gallery.md").write_text(page(done, adapter), encoding="utf-8")
    print(f"{folder / 'gallery.md'}: {len(done)} pictures by {adapter or 'NumPy'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "docs" / "how-to")
