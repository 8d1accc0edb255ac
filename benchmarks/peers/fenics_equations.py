"""The cases for FEniCS: N[u] = N[u*], with sources and data derived from u* by SymPy.

Imported by `fenics_program.py` in the system Python, which does not have pibls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import dolfin as df
import numpy as np
import sympy as sp

x, y, t = sp.symbols("x y t")
pi = sp.pi


@dataclass(frozen=True)
class Equation:
    """N[u] = N[u*] on a box in space, up to time ``end`` (0: steady)."""

    exact: Any
    operator: Callable[[Any], Any]
    box: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    end: float = 0.0
    periodic: bool = False
    linear: bool = True

    @cached_property
    def source(self) -> Any:
        f = self.operator(self.exact)
        return sp.Integer(0) if sp.expand(f) == 0 else f


def _laplace(u: Any) -> Any:
    return u.diff(x, 2) + u.diff(y, 2)


def _wave(s: Any) -> Any:
    return 2 * sp.cos(pi * s + 2 * pi / 5) + sp.Rational(3, 2) * sp.cos(2 * pi * s - 3 * pi / 5)


_SQUARE = ((0.0, 1.0), (0.0, 1.0))
_C = sp.Rational(3, 5)
EQUATIONS = {
    "TC-1": Equation(sp.sin(2 * pi * x) * sp.cos(4 * pi * x) + 1, lambda u: u.diff(x)),
    "TC-2": Equation(sp.sin(pi * x / 2) * sp.cos(2 * pi * x) + 1, lambda u: u.diff(x, 2)),
    "TC-3": Equation((sp.exp(5 * x) - 1) / (sp.exp(5) - 1), lambda u: u.diff(x) - u.diff(x, 2) / 5),
    "TC-4": Equation(
        sp.cos(pi * x) * sp.sin(pi * y) / 2, lambda u: u.diff(x) + u.diff(y) / 2, ((-1.0, 1.0), (-1.0, 1.0))
    ),
    "TC-5": Equation(sp.Rational(1, 2) + sp.exp(-2 * x**2 - 4 * y**2), _laplace, _SQUARE),
    "TC-6": Equation(sp.Rational(1, 2) + sp.exp(-((x - _C) ** 2) - (y - _C) ** 2), _laplace, _SQUARE),
    "TC-7": Equation(
        sp.sin(pi * (x - t)), lambda u: u.diff(t) + u.diff(x), ((-1.0, 1.0),), end=0.5, periodic=True
    ),
    "TC-8": Equation(
        sp.sin(pi * ((1 + x) * sp.exp(-t) - 1)),
        lambda u: u.diff(t) + (1 + x) * u.diff(x),
        ((-1.0, 1.0),),
        end=0.5,
    ),
    "TC-9": Equation(
        sp.sin(3 * pi * x + 3 * pi / 20) * sp.cos(4 * pi * x - 2 * pi / 5) + sp.Rational(3, 2) + x / 10,
        lambda u: u.diff(x, 2) - 50 * u + 10 * sp.sin(u),
        ((0.0, 8.0),),
        linear=False,
    ),
    "TC-11": Equation(
        (1 + x / 10) * (1 + t / 10) * _wave(x) * _wave(t),
        lambda u: u.diff(t) + u * u.diff(x) - u.diff(x, 2) / 100,
        end=0.25,
        linear=False,
    ),
}


def numbers(expression: Any, X: Any, at: float = 0.0) -> Any:
    """Evaluate a SymPy expression at the points X (N, d) and the time ``at``."""
    place = X[:, 0], X[:, 1] if X.shape[1] == 2 else 0.0, at
    return np.broadcast_to(_function(expression, in_forms=False)(*place), len(X))


def symbol(expression: Any, mesh: Any, at: Any = 0.0) -> Any:
    """Return a SymPy expression as UFL expression, compiled into the form."""
    if expression == 0:
        return df.Constant(0.0)
    place = df.SpatialCoordinate(mesh)
    across = place[1] if mesh.geometry().dim() == 2 else 0.0
    return _function(expression, in_forms=True)(place[0], across, at)


@cache
def _function(expression: Any, *, in_forms: bool) -> Callable[..., Any]:
    """Return a cached function of (x, y, t), so that the time of SymPy is not counted for FEniCS."""
    names = {"sin": df.sin, "cos": df.cos, "exp": df.exp}
    function: Callable[..., Any] = sp.lambdify(
        (x, y, t), expression, [names, "math"] if in_forms else "numpy"
    )
    return function
