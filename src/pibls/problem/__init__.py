"""Symbolic statement of a problem: equations, conditions, regions where they hold, and their compilation."""

from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin, dn
from pibls.problem.forms.data_functions import DataFunction
from pibls.problem.forms.flux import div, grad
from pibls.problem.forms.form import Form, PartialDerivative, SymbolTable
from pibls.problem.forms.integral import integral
from pibls.problem.forms.known import known
from pibls.problem.interfaces.discontinuities import Discontinuities, refuse_unsupported_sources
from pibls.problem.problem import Problem, condition_regions
from pibls.problem.regions.selection import (
    BoundaryPart,
    Interior,
    PeriodicFaces,
    Region,
    ScatteredPoints,
    SinglePoint,
    Slice,
    within,
)
from pibls.problem.statement import Statement

__all__ = [
    "BoundaryPart",
    "Condition",
    "DataFunction",
    "Dirichlet",
    "Discontinuities",
    "Form",
    "Initial",
    "Interior",
    "Neumann",
    "PartialDerivative",
    "Periodic",
    "PeriodicFaces",
    "Problem",
    "Region",
    "Robin",
    "ScatteredPoints",
    "SinglePoint",
    "Slice",
    "Statement",
    "SymbolTable",
    "condition_regions",
    "div",
    "dn",
    "grad",
    "integral",
    "known",
    "refuse_unsupported_sources",
    "within",
]
