"""The problem: equations, conditions and where they hold, still in SymPy."""

from pibls.problem.breaks import Breaks, refuse_unsolved
from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin, dn
from pibls.problem.flux import div, grad
from pibls.problem.form import Datum, Form, Jet, Language
from pibls.problem.integral import integral
from pibls.problem.known import known
from pibls.problem.problem import Problem, condition_regions
from pibls.problem.region import Inside, Pair, Part, Region, Scattered, Slice, Spot, within
from pibls.problem.statement import Statement

__all__ = [
    "Breaks",
    "Condition",
    "Datum",
    "Dirichlet",
    "Form",
    "Initial",
    "Inside",
    "Jet",
    "Language",
    "Neumann",
    "Pair",
    "Part",
    "Periodic",
    "Problem",
    "Region",
    "Robin",
    "Scattered",
    "Slice",
    "Spot",
    "Statement",
    "condition_regions",
    "div",
    "dn",
    "grad",
    "integral",
    "known",
    "refuse_unsolved",
    "within",
]
