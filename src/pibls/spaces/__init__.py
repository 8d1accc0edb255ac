"""Spaces: what the columns are. One piece with a basis per unknown, cells of a tree, a lattice, windows."""

from pibls.spaces.cells import Cells
from pibls.spaces.decomposed import Decomposed
from pibls.spaces.protocol import Choice, Space, SpaceSpec
from pibls.spaces.single_domain import Whole
from pibls.spaces.subdomains import Pieces
from pibls.spaces.summed import Summed
from pibls.spaces.tensor_grid import Lattice
from pibls.spaces.tied import Tied, TiedFunctions, bare, bared, ties_of, with_fields
from pibls.spaces.tree import Branch, CellTree, Joint, Node, crossed, graded, graded_towards
from pibls.spaces.windows import Windows

__all__ = [
    "Branch",
    "CellTree",
    "Cells",
    "Choice",
    "Decomposed",
    "Joint",
    "Lattice",
    "Node",
    "Pieces",
    "Space",
    "SpaceSpec",
    "Summed",
    "Tied",
    "TiedFunctions",
    "Whole",
    "Windows",
    "bare",
    "bared",
    "crossed",
    "graded",
    "graded_towards",
    "ties_of",
    "with_fields",
]
