r"""u ← u - L⁻¹ r(u): Newton's method for products along the axes, with L the rows linearised about u.

L is solved through the nearest sum of one operator along each axis: at once where it is such a sum, else by
GMRES with that in front. A linear problem takes the same steps: the second one takes away what rounding has
left in the first, which on axes that are finely graded is more than the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.linalg.krylov import gmres
from pibls.system.nearest import Nearest
from pibls.system.products import Linear, Rows

_LINEAR, _NEWTON = 6, 30  # steps at most
_ENDED = 2e-15  # a step that changes nothing
_KRYLOV = 150
_ENTRIES = 1.5e8  # of all vectors that GMRES keeps
_LEFT, _ROUGHLY = 1e-9, 1e-3  # what it leaves, of a linear problem and far from a solution
_SHORTEST = 1.0 / 64.0
_SINGULAR = 1e-6
"""The least eigenvalue, in units of what a function that varies over the box has, below which others
are asked whether anything is undetermined."""


@dataclass(frozen=True)
class Solved:
    """The coefficients, and how they were found."""

    U: Array
    moved: float
    """The last step, relative to max|u|: what rounding leaves of a solution."""
    steps: int
    solves: int
    """How often the nearest sum was solved."""
    holds: bool
    """Whether the steps went down to that."""
    triangular: bool = False


def solved(rows: Rows, U: Array, check: Callable[[], None] = lambda: None) -> Solved | None:
    """From a start U; None where nothing is found, or something may be undetermined."""
    linear = rows.boxed.is_linear
    moves: list[float] = []
    solves = 0
    nearest: Nearest | None = None
    r, L = rows.residual(U)
    for step in range(_LINEAR if linear else _NEWTON):
        check()
        if nearest is None or not linear:
            nearest = Nearest.of(rows, L)
            if nearest is None or _is_singular(rows, nearest):
                return None
        last = moves[-1] if moves else 1.0
        D, count = _corrected(nearest, L, r, last, linear, check)
        solves += count
        if D is None:
            return None
        size = float(np.abs(rows.values(U)).max(initial=0.0))
        move = float(np.abs(rows.values(D)).max())
        if not np.isfinite(move):
            return None
        damping = 1.0
        if linear:
            U = U - D
            r, L = rows.residual(U)
        else:
            found = _damped(rows, nearest, U, D, r, check)
            if found is None:
                return None
            U, r, L, damping, tried = found
            solves += tried
        size = max(size, float(np.abs(rows.values(U)).max(initial=0.0)))
        moves.append(move / size if size > 0 else 0.0)
        small = moves[-1] <= _ENDED
        # From rounding on, steps no longer become shorter.
        stuck = step > 0 and damping == 1.0 and moves[-1] < 1e-5 and moves[-1] > 0.3 * moves[-2]
        if small or stuck:
            break
    holds = bool(moves[-1] < 1e-7)
    triangles = any(a.triangle is not None for a in nearest.factors.axes) if nearest else False
    return Solved(U, min(moves[-2:]), len(moves), solves, holds, triangles)


def _is_singular(rows: Rows, nearest: Nearest) -> bool:
    total = np.abs(nearest.factors.sums)
    least, most = float(total.min()), float(total.max())
    return least <= max(_SINGULAR * nearest.natural, 10 * np.finfo(float).eps * most)


def _corrected(
    nearest: Nearest, L: Linear, r: list[Array], last: float, linear: bool, check: Callable[[], None]
) -> tuple[Array | None, int]:
    """L⁻¹ r, and how often the nearest sum was solved for it."""
    b = nearest.solve(r)
    if nearest.exact:
        return b, 1
    left = _LEFT if linear else max(min(_ROUGHLY, last * 0.1), 1e-8)
    most = int(min(_KRYLOV, max(_ENTRIES / b.size, 10)))
    found = gmres(lambda V: nearest.solve(L(V)), b, left=left, most=most, check=check)
    if not found.left < max(30.0 * left, 1e-4):
        return None, found.steps
    return found.z, 1 + found.steps


def _damped(
    rows: Rows, nearest: Nearest, U: Array, D: Array, r: list[Array], check: Callable[[], None]
) -> tuple[Array, list[Array], Linear, float, int] | None:
    """The longest of U - D, U - D/2, … at which the next step would be shorter."""
    size = float(np.linalg.norm(nearest.solve(r)))
    damping, tried = 1.0, 1
    while damping >= _SHORTEST:
        check()
        V = U - damping * D
        with np.errstate(all="ignore"):
            left, L = rows.residual(V)
        tried += 1
        if all(np.isfinite(part).all() for part in left):
            after = float(np.linalg.norm(nearest.solve(left)))
            # At the end, rounding alone is left of it.
            if after <= (1.0 - 0.25 * damping) * size or after <= 1e-12 * float(np.linalg.norm(V)):
                return V, left, L, damping, tried
        damping *= 0.5
    return None
