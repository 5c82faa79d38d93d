"""The WGSL way out: complete compute and fragment shaders. `run` executes them through wgpu."""

from pyflat.targets.wgsl.shaders import compute, fragment, function

__all__ = ["compute", "fragment", "function"]
