"""Textbook problems: curvature and minimal surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from validation.references.chebyshev import chebyshev, coefficient_matrix
from validation.statements.statement import stated
from validation.statements.symbols import laplacian, u_of, x, y
from validation.statements.types import Array, References

_liouville = sp.log(8 / (1 + x**2 + y**2) ** 2)


def _flatter_cap(n: int = 36) -> References:
    """The smaller solution with the same values on the sides, by collocation on (-1, 1)²: Newton from below.

    The sphere's own cap reaches beyond its equator here, where another, flatter one has the same rim.
    """
    nodes, slope = chebyshev(n)
    bend, one = slope @ slope, np.eye(n + 1)
    laplacian = np.kron(bend, one) + np.kron(one, bend)
    X, Y = (a.ravel() for a in np.meshgrid(nodes, nodes, indexing="ij"))
    rim = (np.abs(X) == 1.0) | (np.abs(Y) == 1.0)
    given = np.log(8.0 / (1.0 + X**2 + Y**2) ** 2)
    laplacian[rim] = np.eye((n + 1) ** 2)[rim]
    u = np.linalg.solve(laplacian, np.where(rim, given, 0.0))
    for _ in range(30):
        left = np.where(rim, u - given, laplacian @ u + np.exp(u))
        step = np.linalg.solve(laplacian + np.diag(np.where(rim, 0.0, np.exp(u))), left)
        u = u - step
        if np.abs(step).max() < 1e-13:
            break
    to = coefficient_matrix(n)
    series = to @ u.reshape(n + 1, n + 1) @ to.T

    def values(first: Array, second: Array) -> Array:
        return np.asarray(np.polynomial.chebyshev.chebval2d(first, second, series))

    return {"u": values}


@stated(
    "elliptic",
    "geometry",
    "Evans style",
    tags="2d, nonlinear, smooth, two solutions",
    exact={"u": _liouville},
    also=(_flatter_cap,),
)
def liouville(p: Any) -> Any:
    """Constant curvature on a square around the pole."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (-1, 1), y: (-1, 1)}), [laplacian(u) + sp.exp(u)], [p.Dirichlet(u, _liouville)]
    )


_scherk = sp.log(sp.cos(y) / sp.cos(x))


@stated("elliptic", "geometry", "Courant style", tags="2d, nonlinear, smooth", exact={"u": _scherk})
def soap_film(p: Any) -> Any:
    """Scherk's minimal surface."""
    u = u_of(x, y)
    minimal = (
        (1 + u.diff(y) ** 2) * u.diff(x, 2)
        - 2 * u.diff(x) * u.diff(y) * u.diff(x, y)
        + (1 + u.diff(x) ** 2) * u.diff(y, 2)
    )
    return p.Problem(p.Box({x: (-1, 1), y: (-1, 1)}), [minimal], [p.Dirichlet(u, _scherk)])
