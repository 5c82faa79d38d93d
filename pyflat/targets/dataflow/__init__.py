"""The dataflow way out: structured loops and ifs to a graph of nodes and tokens, and a simulator that runs it."""

from pyflat.targets.dataflow.engine import DataflowEngine, graph_of
from pyflat.targets.dataflow.graph import Graph, Node, Port
from pyflat.targets.dataflow.lower import lower
from pyflat.targets.dataflow.simulate import Report, Simulation
from pyflat.targets.dataflow.states import CORRECTED, LITERAL, Rules

__all__ = ["CORRECTED", "LITERAL", "DataflowEngine", "Graph", "Node", "Port", "Report", "Rules", "Simulation",
           "graph_of", "lower"]
