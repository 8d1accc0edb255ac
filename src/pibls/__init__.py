"""pibls: differential equations without a mesh, without backpropagation, without tuning."""

from pibls._version import __version__
from pibls.basis import Broad, Features
from pibls.cases import cases
from pibls.domain import Box, Domain, During, Interval, Shape
from pibls.errors import PiblsError, ProblemError
from pibls.points import Points
from pibls.problem import Condition, Dirichlet, Initial, Neumann, Periodic, Problem, Robin, dn, known
from pibls.solution import Solution
from pibls.solve import solve
from pibls.solver import SVD, GaussNewton, LeastSquares, NLSQPerturb, PivotedQR, TrustRegion
from pibls.status import Status

__all__ = [
    "SVD",
    "Box",
    "Broad",
    "Condition",
    "Dirichlet",
    "Domain",
    "During",
    "Features",
    "GaussNewton",
    "Initial",
    "Interval",
    "LeastSquares",
    "NLSQPerturb",
    "Neumann",
    "Periodic",
    "PiblsError",
    "PivotedQR",
    "Points",
    "Problem",
    "ProblemError",
    "Robin",
    "Shape",
    "Solution",
    "Status",
    "TrustRegion",
    "__version__",
    "cases",
    "dn",
    "known",
    "solve",
]
