"""The problem: equations, conditions and where they hold, still in SymPy."""

from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin, dn
from pibls.problem.forms.calling import Datum
from pibls.problem.forms.flux import div, grad
from pibls.problem.forms.form import Form, Jet, Language
from pibls.problem.forms.integral import integral
from pibls.problem.forms.known import known
from pibls.problem.interfaces.planes import Breaks, refuse_unsolved
from pibls.problem.problem import Problem, condition_regions
from pibls.problem.regions.on import Inside, Pair, Part, Region, Scattered, Slice, Spot, within
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
