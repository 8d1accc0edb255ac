"""Evaluation of SymPy relations over the coordinates, such as x = 0 or y > ½, at arrays of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from pibls.arrays import Array, Mask, PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Logical
from pibls.geometry.faces.face import Face, bisect

_FACE_SAMPLES = 129  # points of a face at which inequalities are evaluated
_MAX_ZOOMS = 20  # each reduces the interval by a factor of four
_EQUALITY_TOLERANCE = 1e-9  # relative to the largest difference of the two sides over the domain
_ROUNDING = 1e-14  # relative to the same


@dataclass(frozen=True)
class Relation:
    """A relation over the coordinates, callable with points (n, d); equalities hold up to a tolerance."""

    expression: Logical
    coordinates: tuple[Coordinate, ...]
    box: tuple[tuple[float, float], ...]

    def __call__(self, X: Array) -> Mask:
        return self._mask(self.expression, X)

    def _mask(self, e: Logical, X: Array) -> Mask:
        if e == sp.true:
            return np.ones(len(X), dtype=np.bool_)
        if e == sp.false:
            return np.zeros(len(X), dtype=np.bool_)
        if isinstance(e, Relational):
            return self._compare(e, X)
        parts = [self._mask(a, X) for a in e.args]
        if isinstance(e, sp.And):
            return np.asarray(np.logical_and.reduce(parts))
        if isinstance(e, sp.Or):
            return np.asarray(np.logical_or.reduce(parts))
        return ~parts[0]

    def breakpoints(self, face: Face) -> Array:
        """Return the parameters of a face of one parameter at which an inequality changes its truth value.

        Extrema of lhs - rhs are located too, so that both ends of (y - a)² < w² are found for small w.
        """
        found = [np.empty(0)]
        for atom in self.expression.atoms(Relational) - self.expression.atoms(sp.Equality, sp.Unequality):
            function, scale = _compiled(atom.lhs - atom.rhs, self.coordinates, self.box)

            def value(u: Array, f: PointFunction = function) -> Array:
                return _call(f, face.at(u[:, None]).points)

            u = np.linspace(0.0, 1.0, _FACE_SAMPLES)
            v = value(u)
            with np.errstate(all="ignore"):  # 1/x may be infinite on a face
                steps = np.diff(v)
                steps[np.abs(steps) <= _ROUNDING * scale] = 0.0  # such as x along a side x = 0
                turns = np.flatnonzero(steps[:-1] * steps[1:] < 0)
            u = np.unique(np.concatenate([u, *(_extremum(value, u[i], u[i + 2]) for i in turns)]))
            below = value(u) < 0
            i = np.flatnonzero(below[1:] != below[:-1])
            first = below[i]
            a, b = bisect(lambda c, f=value, first=first: (f(c) < 0) == first, u[i], u[i + 1])  # type: ignore[misc]
            found.append(0.5 * (a + b))
        return np.unique(np.concatenate(found))

    def _compare(self, e: Logical, X: Array) -> Mask:
        function, scale = _compiled(e.lhs - e.rhs, self.coordinates, self.box)
        difference = _call(function, X)
        equal = np.abs(difference) <= _EQUALITY_TOLERANCE * scale
        table: dict[type, Callable[[], Mask]] = {
            sp.Equality: lambda: equal,
            sp.Unequality: lambda: ~equal,
            sp.StrictLessThan: lambda: (difference < 0) & ~equal,
            sp.StrictGreaterThan: lambda: (difference > 0) & ~equal,
            sp.LessThan: lambda: (difference < 0) | equal,
            sp.GreaterThan: lambda: (difference > 0) | equal,
        }
        return table[type(e)]()


@lru_cache(maxsize=256)
def _compiled(
    difference: Expression, coordinates: tuple[Coordinate, ...], box: tuple[tuple[float, float], ...]
) -> tuple[Expression, float]:
    """Return an expression as a NumPy function and its largest finite value at sample points of the box."""
    function = sp.lambdify(coordinates, difference, modules="numpy")
    low, high = np.array(box).T
    inside = np.random.default_rng(0).uniform(low, high, (256, len(box)))
    corners = np.array(np.meshgrid(*box)).reshape(len(box), -1).T
    values = np.abs(_call(function, np.concatenate([inside, corners])))
    return function, float(values.max(initial=0.0, where=np.isfinite(values)))


def _extremum(value: Callable[[Array], Array], a: float, b: float) -> Array:
    """Return the position of the extremum of a function that has one between a and b."""
    rising = value(np.array([a, 0.5 * (a + b)]))
    sign = 1.0 if rising[1] > rising[0] else -1.0
    for _ in range(_MAX_ZOOMS):
        u = np.linspace(a, b, 9)
        best = int(np.argmax(sign * value(u)))
        a, b = float(u[max(best - 1, 0)]), float(u[min(best + 1, 8)])
    return np.array([0.5 * (a + b)])


def check_relation(expression: Logical, coordinates: tuple[Coordinate, ...], argument: str) -> None:
    """Raise a ProblemError unless it consists of (in)equalities over the coordinates, And, Or and Not."""
    strange = {*expression.free_symbols, *expression.atoms(AppliedUndef)} - set(coordinates)
    if strange:
        raise ProblemError(
            argument,
            expected=f"a relation over the coordinates {coordinates}",
            got=expression,
            remedy=f"{', '.join(sorted(map(str, strange)))} is not a coordinate of the domain.",
        )
    if expression.has(sp.I):
        raise ProblemError(
            argument,
            expected="a relation between real numbers",
            got=expression,
            remedy="Coordinates are real: write the relation without the imaginary unit.",
        )
    if isinstance(expression, (sp.And, sp.Or, sp.Not)):
        for part in expression.args:
            check_relation(part, coordinates, argument)
    elif not isinstance(expression, (Relational, BooleanTrue, BooleanFalse)):
        raise ProblemError(
            argument,
            expected="equalities and inequalities joined by sympy.And, Or, Not",
            got=expression,
            remedy="Rewrite the relation with these.",
        )


def _call(function: PointFunction, X: Array) -> Array:
    with np.errstate(all="ignore"):
        value = np.asarray(function(*X.T), dtype=float)
    return np.broadcast_to(value, (len(X),))


def fixed_coordinates(expression: Logical, coordinates: tuple[Coordinate, ...]) -> list[tuple[int, float]]:
    """Return (axis, level) for each coordinate that a conjunction fixes by an equality x = level."""
    atoms = expression.args if isinstance(expression, sp.And) else (expression,)
    out = []
    for atom in atoms:
        if not isinstance(atom, sp.Equality):
            continue
        for side, other in ((atom.lhs, atom.rhs), (atom.rhs, atom.lhs)):
            if side in coordinates and other.is_number and other.is_extended_real:
                out.append((coordinates.index(side), float(other)))
                break
    return out
