r"""Measured data yᵢ = g[u](xᵢ) + σᵢ εᵢ: expression, points, values and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.geometry import box_of, time_of
from pibls.problem import Problem, within
from pibls.problem.conditions import dn
from pibls.problem.forms.integral import integral


@dataclass(frozen=True, init=False, eq=False)
class Data:
    """Values of an expression of the unknowns, measured at scattered points.

    Masked entries of NumPy masked arrays are missing measurements: a value is omitted if it, its point or its
    sigma is masked.

    Parameters
    ----------
    expression
        What was measured: an unknown, or any SymPy expression of unknowns, derivatives, coordinates and
        parameters (a flux ``-k*u.diff(x)``, a sum, ``gain*u``), or a sum of integrals of such.
    points
        ``{x: xs, t: ts}``: numbers or arrays that broadcast against each other. For an integral over space,
        ``pibls.integral(u)``, the times ``{t: ts}``, or ``{}`` where there is no time.
    values
        The measured values, in the shape of the points, or with an additional leading axis for replicates.
    sigma
        The standard deviation of the noise: one number, or an array in the shape of the values. If omitted,
        it is estimated from the misfit.

    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> len(Data(u, {x: [0.1, 0.5, 0.9]}, [1.0, 2.0, 3.0], sigma=0.1))
    3
    """

    expression: Expression
    coordinates: tuple[Coordinate, ...]
    X: Array
    """(n, d), in the order of ``coordinates``."""
    values: Array
    sigma: Array | None

    def __init__(
        self,
        expression: Expression,
        points: Mapping[Coordinate | str, npt.ArrayLike],
        values: npt.ArrayLike,
        *,
        sigma: npt.ArrayLike | None = None,
    ) -> None:
        if not isinstance(expression, sp.Expr):
            raise ProblemError(
                "Data(expression)",
                expected="an unknown or a SymPy expression of unknowns and their derivatives",
                got=repr(expression),
                remedy="Write Data(u, {x: xs}, values); strings are not evaluated.",
            )
        whole = expression.has(integral)
        if not isinstance(points, Mapping) or not (points or whole):
            raise ProblemError(
                "Data(points)",
                expected="a mapping of the coordinates to arrays",
                got=repr(points),
                remedy="Write Data(u, {x: xs, t: ts}, values).",
            )
        symbols = tuple(points)
        columns = [_array(points[c], f"Data(points)[{c}]") for c in symbols]
        missing = [_missing(given) for given in (*(points[c] for c in symbols), values, sigma)]
        y = _array(values, "Data(values)")
        X = _points_of_values(columns, y)
        noise = None if sigma is None else _sigma(sigma, y)
        kept = _kept_rows(missing, y)
        object.__setattr__(self, "expression", expression)
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "X", X[kept])
        object.__setattr__(self, "values", y.ravel()[kept])
        object.__setattr__(self, "sigma", None if noise is None else noise[kept])

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        noise = "estimated" if self.sigma is None else f"{np.median(self.sigma):.3g}"
        return f"<Data: {len(self)} values of {self.expression}, sigma {noise}>"

    def points_in(self, problem: Problem) -> Array:
        """Return the points, (n, d), in the order of the problem's coordinates; for an integral the times."""
        if self.expression.has(integral):
            return self._times(problem)
        if set(self.coordinates) != set(problem.coordinates):
            names = ", ".join(map(str, problem.coordinates))
            raise ProblemError(
                "Data(points)",
                expected=f"the coordinates {names} of the problem",
                got=", ".join(map(str, self.coordinates)),
                remedy=f"Write Data(…, {{{', '.join(f'{c}: …' for c in problem.coordinates)}}}, values).",
            )
        X = self.X[:, [self.coordinates.index(c) for c in problem.coordinates]]
        outside = ~np.asarray(within(problem.domain, X), dtype=bool)
        if outside.any():
            place = ", ".join(
                f"{c} = {v:.6g}" for c, v in zip(problem.coordinates, X[outside][0], strict=True)
            )
            raise ProblemError(
                "Data(points)",
                expected=f"points in {problem.domain!r}",
                got=f"{np.count_nonzero(outside)} outside, the first at {place}",
                remedy="Leave them out, or enlarge the domain.",
            )
        if self.expression.has(dn):
            raise ProblemError(
                "Data(expression)",
                expected="derivatives by the coordinates",
                got=str(self.expression),
                remedy="Write the normal derivative explicitly: n_x*u.diff(x) + n_y*u.diff(y).",
            )
        return X

    def _times(self, problem: Problem) -> Array:
        time = time_of(problem.domain)
        wanted = () if time is None else (time,)
        if self.coordinates != wanted:
            given = ", ".join(map(str, self.coordinates)) or "none"
            raise ProblemError(
                "Data(points)",
                expected=f"{time} alone, for an integral over space" if wanted else "{}, for an integral",
                got=given,
                remedy=f"Write Data(integral(…), {{{f'{time}: …' if wanted else ''}}}, values).",
            )
        low, high = box_of(problem.domain)[problem.coordinates.index(time)] if wanted else (0.0, 0.0)
        outside = self.X[((low > self.X) | (high < self.X)).any(axis=1)]
        if len(outside):
            raise ProblemError(
                "Data(points)",
                expected=f"times from {low:g} to {high:g}",
                got=f"{len(outside)} outside, the first at {time} = {outside[0, 0]:.6g}",
                remedy="Leave them out, or enlarge the domain.",
            )
        return self.X


def _kept_rows(missing: Sequence[Mask | Literal[False]], y: Array) -> Mask:
    """Return which values, flattened, are not masked; raise a ProblemError if none is left."""
    masked = np.zeros(y.shape, dtype=bool)
    for mask in missing:
        masked |= mask
    kept = ~masked.ravel()
    if not kept.any():
        got = "none" if not y.size else f"{y.size}, all of them masked"
        raise ProblemError("Data(values)", expected="at least one value", got=got, remedy="Add data.")
    return kept


def _missing(values: object) -> Mask | Literal[False]:
    """Return the mask of a masked array, else False."""
    return np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else False


def _array(values: npt.ArrayLike, argument: str) -> Array:
    """Return an array of finite numbers; masked entries, which are omitted later, are set to 1."""
    try:
        masked = isinstance(values, np.ma.MaskedArray)
        out = np.asarray(np.ma.filled(values, 1) if masked else values, dtype=float)
    except (TypeError, ValueError, OverflowError) as reason:
        raise ProblemError(
            argument, expected="real numbers", got=str(reason), remedy="Give an array of numbers."
        ) from None
    bad = ~np.isfinite(out)
    if bad.any():
        raise ProblemError(
            argument,
            expected="finite numbers",
            got=f"{np.count_nonzero(bad)} NaN or infinite of {out.size}",
            remedy="Omit missing measurements together with their points.",
        )
    return out


def _points_of_values(columns: list[Array], y: Array) -> Array:
    """Return the point of each value, (values, coordinates); the columns broadcast to the values."""
    try:
        columns = list(np.broadcast_arrays(*columns))
        shape = columns[0].shape if columns else y.shape
        if y.shape != shape and y.shape[1:] != shape:
            raise ValueError(f"{y.shape} for points of the shape {shape}")
    except ValueError as reason:
        raise ProblemError(
            "Data(values)",
            expected="points that broadcast against each other, and a value for each of them",
            got=str(reason),
            remedy="Give values in the shape of the points; replicates along an additional leading axis.",
        ) from None
    X = np.empty((y.size, len(columns)))
    for i, column in enumerate(columns):
        X[:, i] = np.broadcast_to(column, y.shape).ravel()
    return X


def _sigma(sigma: npt.ArrayLike, values: Array) -> Array:
    out = _array(sigma, "Data(sigma)")
    if (out <= 0).any():
        raise ProblemError(
            "Data(sigma)",
            expected="positive numbers",
            got=f"{out.min():g}",
            remedy="A sigma of zero gives an infinite weight; omit sigma to have it estimated.",
        )
    try:
        return np.broadcast_to(out, values.shape).ravel().copy()
    except ValueError:
        raise ProblemError(
            "Data(sigma)",
            expected=f"one number, or an array of the shape {values.shape}",
            got=f"the shape {out.shape}",
            remedy="Give a standard deviation for each value.",
        ) from None
