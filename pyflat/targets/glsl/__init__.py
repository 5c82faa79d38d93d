"""The GLSL way out: complete compute and fragment shaders for OpenGL 4.3."""

from pyflat.targets.glsl.shaders import compute, fragment, function

__all__ = ["compute", "fragment", "function"]
