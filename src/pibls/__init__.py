"""pibls: differential equations without a mesh, without backpropagation, without tuning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pibls._version import __version__
from pibls.cases import cases
from pibls.errors import ConvergenceWarning, PiblsError, ProblemError, ShapeWarning
from pibls.solution.solve import solve

if TYPE_CHECKING:
    from pibls.after.sweeps import sweep
    from pibls.basis import Broad, BroadWeights, Features, GrownBroad, Joined, Ridges, Waves
    from pibls.domain import (
        Ball,
        Box,
        Disk,
        Domain,
        During,
        Ellipse,
        Implicit,
        Interval,
        Polygon,
        Shape,
        Slit,
        Solid,
        Spline,
    )
    from pibls.fitting import Data, Field, Fit, fit
    from pibls.incremental import IncrementalBroad
    from pibls.io import load
    from pibls.io.drawings import read_shape
    from pibls.learn import BroadRegressor as BroadRegressor
    from pibls.linalg import SVD, PivotedQR, RidgeQR
    from pibls.problem import (
        Condition,
        Dirichlet,
        Initial,
        Neumann,
        Periodic,
        Problem,
        Robin,
        div,
        dn,
        grad,
        integral,
        known,
    )
    from pibls.search.budget import Progress
    from pibls.search.judging.estimate import ErrorEstimate
    from pibls.solution import Solution
    from pibls.solver import GaussNewton, LeastSquares, NLSQPerturb, TrustRegion
    from pibls.space import Decomposed
    from pibls.status import Status
    from pibls.system.points import Points

# Everything is loaded when first used: `pibls --help` and the completion of a shell need no SymPy.
_ROOMS = {
    "domain": "Ball Box Disk Ellipse Implicit Polygon Slit Solid Spline Domain During Interval Shape",
    "problem": "Condition Dirichlet Initial Neumann Periodic Problem Robin div dn grad integral known",
    "basis": "Broad BroadWeights Features GrownBroad Waves Joined Ridges",
    "incremental": "IncrementalBroad",
    "learn": "BroadRegressor",
    "space": "Decomposed",
    "search.judging.estimate": "ErrorEstimate",
    "system.points": "Points",
    "solution": "Solution",
    "linalg": "SVD PivotedQR RidgeQR",
    "solver": "GaussNewton LeastSquares NLSQPerturb TrustRegion",
    "status": "Status",
    "search.budget": "Progress",
    "io": "load",
    "io.drawings": "read_shape",
    "after.sweeps": "sweep",
    "fitting": "Data Field Fit fit",
}
_LATER = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'pibls' has no attribute {name!r}")
    value = getattr(import_module(f"pibls.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


# Without BroadRegressor: `from pibls import *` must not need scikit-learn.
__all__ = [
    "SVD",
    "Ball",
    "Box",
    "Broad",
    "BroadWeights",
    "Condition",
    "ConvergenceWarning",
    "Data",
    "Decomposed",
    "Dirichlet",
    "Disk",
    "Domain",
    "During",
    "Ellipse",
    "ErrorEstimate",
    "Features",
    "Field",
    "Fit",
    "GaussNewton",
    "GrownBroad",
    "Implicit",
    "IncrementalBroad",
    "Initial",
    "Interval",
    "Joined",
    "LeastSquares",
    "NLSQPerturb",
    "Neumann",
    "Periodic",
    "PiblsError",
    "PivotedQR",
    "Points",
    "Polygon",
    "Problem",
    "ProblemError",
    "Progress",
    "RidgeQR",
    "Ridges",
    "Robin",
    "Shape",
    "ShapeWarning",
    "Slit",
    "Solid",
    "Solution",
    "Spline",
    "Status",
    "TrustRegion",
    "Waves",
    "__version__",
    "cases",
    "div",
    "dn",
    "fit",
    "grad",
    "integral",
    "known",
    "load",
    "read_shape",
    "solve",
    "sweep",
]
