r"""Times t with f(u(t), u'(t), …) = 0, at which an expression of a solution changes its sign."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Number
from pibls.geometry import box_of
from pibls.solution import Solution

_SAMPLES_PER_WINDOW = 32
_SAMPLES = 2048  # if the solution has no time windows


def when(
    solution: Solution, expression: Expression, t: Coordinate | str | None = None, **at: Number
) -> Array:
    """Return the values of ``t`` at which the expression changes its sign, in ascending order.

    ``at`` holds a value for each of the other coordinates. Two sign changes between neighbouring samples are
    not detected.

    >>> import sympy as sp, pibls
    >>> t = sp.Symbol("t")
    >>> u = sp.Function("u")(t)
    >>> swing = pibls.Problem(
    ...     pibls.Interval(t, 0, 7), [u.diff(t, 2) + u], [pibls.Initial(u, 1), pibls.Initial(u.diff(t), 0)]
    ... )
    >>> [round(float(s), 6) for s in when(pibls.solve(swing), u, t)]
    [1.570796, 4.712389]
    """
    from scipy.optimize import brentq

    coordinates = [str(c) for c in solution.problem.coordinates]
    name = str(t) if t is not None else coordinates[-1]
    others = set(coordinates) - {name}
    if name not in coordinates or set(at) != others:
        raise ProblemError(
            "solution.when(expression, t)",
            expected=f"one of {', '.join(coordinates)}, and a value for each of the others",
            got=f"{name} with {', '.join(at) or 'no others'}",
            remedy=f"Write solution.when(expression, {coordinates[-1]}"
            + "".join(f", {c}=0.5" for c in coordinates[:-1])
            + ").",
        )

    def value(s: Array) -> Array:
        return np.asarray(solution.evaluate(expression, **{name: s, **at}))

    low, high = box_of(solution.problem.domain)[coordinates.index(name)]
    times = np.linspace(low, high, _SAMPLES + 1)
    if solution.windows:
        parts = [np.linspace(a, b, _SAMPLES_PER_WINDOW, endpoint=False) for a, b in solution.windows]
        times = np.append(np.concatenate(parts), solution.windows[-1][1])
    f = np.asarray(value(times), dtype=float)
    finite = np.isfinite(f)
    times, f = times[finite], f[finite]
    found = list(times[f == 0.0])
    for i in np.flatnonzero(f[:-1] * f[1:] < 0):
        a, b = times[i], times[i + 1]
        found.append(brentq(lambda s: float(value(s)), a, b, xtol=1e-15 * (b - a), rtol=1e-15))
    return np.array(sorted(found))
