"""pibls: solve differential equations by random features and least squares, with error estimates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pibls._version import __version__
from pibls.cases import cases
from pibls.errors import ConvergenceWarning, PiblsError, ProblemError, ShapeWarning
from pibls.solution.solve import solve

if TYPE_CHECKING:
    from pibls.adaptive.budget import Progress
    from pibls.adaptive.validation.estimate import ErrorEstimate
    from pibls.assembly.points import Points
    from pibls.basis import Broad, BroadWeights, Features, GrownBroad, Joined, Ridges, Waves
    from pibls.geometry import (
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
    from pibls.incremental import IncrementalBroad
    from pibls.inverse import Data, Field, Fit, fit
    from pibls.io import load
    from pibls.io.drawings import read_shape
    from pibls.linalg import SVD, PivotedQR, RidgeQR
    from pibls.nonlinear import GaussNewton, LeastSquares, NLSQPerturb, TrustRegion
    from pibls.postprocess.sweeps import sweep
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
    from pibls.regression import BroadRegressor as BroadRegressor
    from pibls.solution import Solution
    from pibls.spaces import Decomposed
    from pibls.status import Status

# Names are imported when first used: `pibls --help` and shell completion need no SymPy.
_EXPORTS = {
    "geometry": "Ball Box Disk Ellipse Implicit Polygon Slit Solid Spline Domain During Interval Shape",
    "problem": "Condition Dirichlet Initial Neumann Periodic Problem Robin div dn grad integral known",
    "basis": "Broad BroadWeights Features GrownBroad Waves Joined Ridges",
    "incremental": "IncrementalBroad",
    "regression": "BroadRegressor",
    "spaces": "Decomposed",
    "adaptive.validation.estimate": "ErrorEstimate",
    "assembly.points": "Points",
    "solution": "Solution",
    "linalg": "SVD PivotedQR RidgeQR",
    "nonlinear": "GaussNewton LeastSquares NLSQPerturb TrustRegion",
    "status": "Status",
    "adaptive.budget": "Progress",
    "io": "load",
    "io.drawings": "read_shape",
    "postprocess.sweeps": "sweep",
    "inverse": "Data Field Fit fit",
}
_LAZY = {name: package for package, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'pibls' has no attribute {name!r}")
    value = getattr(import_module(f"pibls.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY})


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
