"""Spaces: what the columns are. One piece with a basis per unknown, cells of a tree, a lattice, windows."""

from pibls.space.cells import Cells
from pibls.space.decomposed import Decomposed
from pibls.space.lattice import Lattice
from pibls.space.pieces import Pieces
from pibls.space.protocol import Choice, Space, SpaceSpec
from pibls.space.summed import Summed
from pibls.space.tied import Tied, TiedFunctions, bare, bared, ties_of, with_fields
from pibls.space.tree import Branch, CellTree, Joint, Node, crossed, graded, graded_towards
from pibls.space.whole import Whole
from pibls.space.windows import Windows

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
