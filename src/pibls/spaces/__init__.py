"""Function spaces for all unknowns of a problem: the columns of the least-squares matrix.

A space is a single domain with a basis per unknown, a tree of cells, a tensor grid, subdomains between
interfaces, time windows, or a sum of spaces.
"""

from pibls.spaces.cell_space import CellSpace
from pibls.spaces.cell_tree import (
    Branch,
    CellTree,
    Node,
    SharedFace,
    divided_at_planes,
    graded_node,
    graded_tree,
)
from pibls.spaces.decomposed import Decomposed
from pibls.spaces.protocol import Choice, Space, SpaceSpec
from pibls.spaces.single_domain import SingleDomainSpace
from pibls.spaces.subdomains import SubdomainSpace
from pibls.spaces.sum_space import SumSpace
from pibls.spaces.tensor_grid import TensorGridSpace
from pibls.spaces.time_windows import TimeWindows
from pibls.spaces.vector_enrichment import (
    VectorEnriched,
    VectorFunctions,
    coefficient_map,
    coefficients_without_enrichment,
    enriched_basis,
    without_enrichment,
)

__all__ = [
    "Branch",
    "CellSpace",
    "CellTree",
    "Choice",
    "Decomposed",
    "Node",
    "SharedFace",
    "SingleDomainSpace",
    "Space",
    "SpaceSpec",
    "SubdomainSpace",
    "SumSpace",
    "TensorGridSpace",
    "TimeWindows",
    "VectorEnriched",
    "VectorFunctions",
    "coefficient_map",
    "coefficients_without_enrichment",
    "divided_at_planes",
    "enriched_basis",
    "graded_node",
    "graded_tree",
    "without_enrichment",
]
