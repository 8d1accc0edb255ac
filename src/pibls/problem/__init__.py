"""The problem: equations, conditions and where they hold, still in SymPy."""

from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin, dn
from pibls.problem.form import Datum, Form, Jet, Language
from pibls.problem.known import known
from pibls.problem.problem import Problem, Statement, condition_regions
from pibls.problem.region import Inside, Pair, Part, Region, Slice, Spot, within

__all__ = [
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
    "Slice",
    "Spot",
    "Statement",
    "condition_regions",
    "dn",
    "known",
    "within",
]
