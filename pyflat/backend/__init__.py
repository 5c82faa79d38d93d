"""pyflat for your own backend: functions without control flow, calls or loops, as a list of nodes.

    from pyflat.backend import Call, flatten_fold, flatten_function

    flat = flatten_fold(flatten_function(shade, whitelist=[Call("texture", result="vec4", barrier=True)]))
    for node in flat.nodes:
        emit(node.opcode, node.inputs, node.attrs)

See docs/how-to/backend.md.
"""

from pyflat.backend.flat import FlatFunction, Node
from pyflat.backend.flatten import Preshader, flatten_function, preshader
from pyflat.backend.graph import FlatGraph, graph
from pyflat.backend.pack import PackedFunction, flatten_pack
from pyflat.backend.registered import target
from pyflat.backend.residuals import Residual, fold_residuals
from pyflat.backend.steps import FastMath, flatten_fold, flatten_fuse, flatten_optimize
from pyflat.errors import FlattenError
from pyflat.ir.opaque_calls import Call

__all__ = [
    "Call",
    "FastMath",
    "FlatFunction",
    "FlatGraph",
    "FlattenError",
    "Node",
    "PackedFunction",
    "Preshader",
    "Residual",
    "flatten_fold",
    "flatten_function",
    "flatten_fuse",
    "flatten_optimize",
    "flatten_pack",
    "fold_residuals",
    "graph",
    "preshader",
    "target",
]
