"""Running WGSL through wgpu: compute shaders over arrays, fragment shaders into a picture.

The adapter is the one that wgpu finds: a GPU, or a software driver such as Mesa's lavapipe. Data on the device is
32 bits wide: float64 is rounded, int64 must fit, results are float32, int32 and bool.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders import Printed
from pyflat.targets.target import require
from pyflat.targets.wgsl.shaders import WORKGROUP, compute, fragment

Array = npt.NDArray[Any]
HOST: dict[Kind, str] = {BOOL: "<u4", INT: "<i4", FLOAT: "<f4"}
RESULTS: dict[Kind, type[np.generic]] = {BOOL: np.bool_, INT: np.int32, FLOAT: np.float32}
LANES = 1 << 20
"""Lanes in one dispatch: far below the limits of every adapter on buffers and workgroups."""


class NoAdapter(RuntimeError):
    """wgpu is installed, and finds neither a GPU nor a software driver, or only one through OpenGL."""


@functools.cache
def device() -> Any:
    """The device that shaders run on. Raises ImportError without wgpu, NoAdapter where it finds no adapter."""
    require("wgpu", "running shaders")
    import wgpu

    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    except RuntimeError as error:
        raise NoAdapter(f"wgpu finds no adapter ({error}); Mesa's software driver is Debian's package "
                        "mesa-vulkan-drivers") from error
    if adapter is None:
        raise NoAdapter("wgpu finds no adapter; Mesa's software driver is Debian's package mesa-vulkan-drivers")
    if adapter.info["backend_type"] == "OpenGL":
        raise NoAdapter(f"wgpu reaches {adapter.info['device']} through OpenGL only, where -1 // 5 was seen to be 0; "
                        "it needs a driver for Vulkan, such as Debian's package mesa-vulkan-drivers")
    return adapter.request_device_sync()


def adapter_name() -> str:
    """The adapter in words, as "llvmpipe (LLVM 15.0.6, 256 bits), Vulkan"."""
    info = device().adapter.info
    return f"{info['device']}, {info['backend_type']}"


def pack(fields: Sequence[tuple[str, Kind]], lanes: Sequence[Array | np.generic], count: int) -> Array:
    """Lanes as an array of structures. Raises OverflowError for an int beyond 32 bits."""
    packed = np.empty(count, np.dtype([(name, HOST[kind]) for name, kind in fields]))
    for (name, kind), lane in zip(fields, lanes, strict=True):
        if kind is INT and count and (np.max(lane) >= 2**31 or np.min(lane) < -(2**31)):
            raise OverflowError(f"{name} has an int beyond the 32 bits of the device")
        with np.errstate(over="ignore"):
            packed[name] = lane
    return packed


def run_compute(printed: Printed, lanes: Sequence[Array | np.generic], count: int) -> list[Array]:
    """The results of a function over `count` lanes, one array for each result leaf."""
    results = [np.empty(count, RESULTS[kind]) for _, kind in printed.results]
    pipeline = _compute_pipeline(compute(printed)) if count else None
    for start in range(0, count, LANES):
        stop = min(start + LANES, count)
        part = [lane[start:stop] if isinstance(lane, np.ndarray) and lane.ndim else lane for lane in lanes]
        found = _dispatch(pipeline, printed, pack(printed.params, part, stop - start), stop - start)
        for result, (name, _) in zip(results, printed.results, strict=True):
            result[start:stop] = found[name]
    return results


@functools.lru_cache(64)
def _compute_pipeline(source: str) -> Any:
    module = device().create_shader_module(code=source)
    return device().create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})


def _dispatch(pipeline: Any, printed: Printed, given: Array, count: int) -> Array:
    import wgpu

    outs = np.dtype([(name, HOST[kind]) for name, kind in printed.results])
    storage, copy = wgpu.BufferUsage.STORAGE, wgpu.BufferUsage.COPY_SRC
    result = device().create_buffer(size=count * outs.itemsize, usage=storage | copy)
    entries = [{"binding": 1, "resource": {"buffer": result}}]
    if printed.params:
        buffer = device().create_buffer_with_data(data=given.view(np.uint8), usage=storage)
        entries.append({"binding": 0, "resource": {"buffer": buffer}})
    group = device().create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device().create_command_encoder()
    at = encoder.begin_compute_pass()
    at.set_pipeline(pipeline)
    at.set_bind_group(0, group)
    at.dispatch_workgroups(-(-count // WORKGROUP))
    at.end()
    device().queue.submit([encoder.finish()])
    return np.frombuffer(device().queue.read_buffer(result), outs)


def run_fragment(
    printed: Printed, uniform: Sequence[bool], values: Sequence[Any], width: int, height: int
) -> npt.NDArray[np.float32]:
    """The picture of a fragment shader: an array of shape (height, width, 4), the top row first.

    `values` are those of the uniform parameters, in order.
    """
    import wgpu

    fields = [("width of the picture", FLOAT), ("height of the picture", FLOAT),
              *[field for field, fixed in zip(printed.params, uniform, strict=True) if fixed]]
    constants = pack(fields, [np.float32(width), np.float32(height), *map(np.asarray, values)], 1)
    padded = constants.tobytes() + b"\0" * (-constants.nbytes % 16)
    buffer = device().create_buffer_with_data(data=padded, usage=wgpu.BufferUsage.UNIFORM)
    pipeline = _render_pipeline(fragment(printed, uniform))
    group = device().create_bind_group(layout=pipeline.get_bind_group_layout(0),
                                       entries=[{"binding": 0, "resource": {"buffer": buffer}}])
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = device().create_texture(size=(width, height, 1), format="rgba32float", usage=usage)
    encoder = device().create_command_encoder()
    attachment = {"view": texture.create_view(), "load_op": "clear", "store_op": "store", "clear_value": (0, 0, 0, 0)}
    at = encoder.begin_render_pass(color_attachments=[attachment])
    at.set_pipeline(pipeline)
    at.set_bind_group(0, group)
    at.draw(3)
    at.end()
    device().queue.submit([encoder.finish()])
    data = device().queue.read_texture({"texture": texture, "mip_level": 0, "origin": (0, 0, 0)},
                                       {"offset": 0, "bytes_per_row": width * 16, "rows_per_image": height},
                                       (width, height, 1))
    return np.frombuffer(data, np.float32).reshape(height, width, 4)


@functools.lru_cache(64)
def _render_pipeline(source: str) -> Any:
    module = device().create_shader_module(code=source)
    return device().create_render_pipeline(
        layout="auto",
        vertex={"module": module, "entry_point": "vertex"},
        primitive={"topology": "triangle-list"},
        fragment={"module": module, "entry_point": "fragment", "targets": [{"format": "rgba32float"}]},
    )
