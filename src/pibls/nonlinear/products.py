r"""u ← u - L⁻¹ r(u): Newton's method for products along the axes, with L the rows linearised about u.

L is solved through the nearest sum of one operator along each axis: at once where it is such a sum, else by
GMRES with that in front; in the plane, where that takes too many steps, by elimination box by box, which
then stands in front of what changes from step to step. A linear problem takes the same steps: the second one
takes away what rounding has left in the first, which on finely graded axes is more than the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.assembly.tensor_products.products import Linear, ProductRows
from pibls.deadline import go_on
from pibls.nonlinear.inverse import Inverse

_LINEAR, _NEWTON = 6, 30  # steps at most
_ENDED = 2e-15  # a step that changes nothing
_HOLDS = 1e-7  # the last step, relative, of something that was found
_LEFT, _ROUGHLY = 1e-9, 1e-3  # what it leaves, of a linear problem and far from a solution
_MET = 1e-4  # of a side condition on a function as large as the solution: what is left of it at most
_SHORTEST = 1.0 / 64.0
_NOTHING = 1e-8  # of the largest unknown: one that is smaller may be zero


@dataclass(frozen=True)
class SolvedProducts:
    """The coefficients, and how they were found."""

    U: Array
    moved: Array
    """The last step, max|δu| of each unknown: what rounding leaves of a solution."""
    steps: int
    solves: int
    """How often the nearest sum was solved."""
    eliminations: int
    """How often all boxes were eliminated."""
    holds: bool
    """Whether the steps went down to that."""


def solved(rows: ProductRows, U: Array) -> SolvedProducts | None:
    """From a start U; None where nothing is found, or something may be undetermined."""
    inverse = Inverse(rows)
    linear = rows.boxed.is_linear
    moves: list[float] = []
    moved: list[Array] = []
    r, L = rows.residual(U)
    first: Linear = L
    for step in range(_LINEAR if linear else _NEWTON):
        go_on(__name__)
        last = moves[-1] if moves else 1.0
        D = inverse.apply(L, r, _LEFT if linear else max(min(_ROUGHLY, 0.1 * last), 1e-8))
        if D is None:
            return None
        move = rows.sizes(D)
        if not np.isfinite(move).all():
            return None
        size, damping = rows.sizes(U), 1.0
        if linear:
            U = U - D
            r, L = rows.residual(U)[0], first
        else:
            found = _damped(inverse, U, D, r)
            if found is None:
                return None
            U, r, L, damping = found
        size = np.maximum(size, rows.sizes(U))
        moved.append(move)
        # An unknown that is zero is as large as what rounding leaves of the others.
        moves.append(float((move / np.maximum(size, max(_NOTHING * float(size.max()), 1e-300))).max()))
        # From rounding on, steps no longer become shorter.
        stuck = step > 0 and damping == 1.0 and moves[-1] < 1e-5 and moves[-1] > 0.3 * moves[-2]
        if moves[-1] <= _ENDED or stuck:
            break
    holds = bool(moves[-1] < _HOLDS) and _are_met(rows, U, r)
    shortest = min(moved[-2:], key=lambda m: float(m.max()))
    return SolvedProducts(U, shortest, len(moves), inverse.solves, inverse.eliminations, holds)


def _are_met(rows: ProductRows, U: Array, r: list[Array]) -> bool:
    """Whether the conditions hold where they are held: at the nodes of each side, its rim left out."""
    sizes, many = rows.sizes(U), len(rows.boxed.equations)
    lengths = rows.boxed.box[:, 1] - rows.boxed.box[:, 0]
    for side, g, left in zip(rows.boxed.sides, rows.groups[many:], r[many:], strict=False):
        inner = left[tuple(slice(0, 1 if i == side.axis else len(a.nodes)) for i, a in enumerate(rows.axes))]
        natural = [sizes[k] * np.prod(lengths ** -np.array(alpha, dtype=float)) for k, alpha in g.terms]
        known = [float(np.abs(c).max(initial=0.0)) * s for c, s in zip(g.known, natural, strict=False)]
        if known and float(np.abs(inner).max()) > _MET * max(known):
            return False
    return True


def _damped(
    inverse: Inverse, U: Array, D: Array, r: list[Array]
) -> tuple[Array, list[Array], Linear, float] | None:
    """The longest of U - D, U - D/2, … at which the next step would be shorter."""
    front, damping = inverse.front, 1.0
    assert front is not None
    size = float(np.linalg.norm(front.solve(r)))
    while damping >= _SHORTEST:
        go_on(__name__)
        V = U - damping * D
        with np.errstate(all="ignore"):
            left, L = inverse.rows.residual(V)
        inverse.solves += 1
        if all(np.isfinite(part).all() for part in left):
            after = float(np.linalg.norm(front.solve(left)))
            # At the end, rounding alone is left of it.
            if after <= (1.0 - 0.25 * damping) * size or after <= 1e-12 * float(np.linalg.norm(V)):
                return V, left, L, damping
        damping *= 0.5
    return None
