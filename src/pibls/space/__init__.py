"""Spaces: what the columns are. One piece with a basis per unknown, cells of a tree, windows in time."""

from pibls.space.cells import Cells
from pibls.space.decomposed import Decomposed
from pibls.space.protocol import Space
from pibls.space.tree import CellTree, Joint, Node, crossed, graded
from pibls.space.whole import Whole
from pibls.space.windows import Windows

__all__ = ["CellTree", "Cells", "Decomposed", "Joint", "Node", "Space", "Whole", "Windows", "crossed", "graded"]
