"""x = 0, y > ½, …: a SymPy relation as a mask over points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFunction

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError

_EQUAL = 1e-9  # relative to how much the two sides differ over the domain


@dataclass(frozen=True)
class Relation:
    """A relation over the coordinates; equalities hold within rounding."""

    expression: Any
    coordinates: tuple[Any, ...]
    box: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        strange = self.expression.free_symbols - set(self.coordinates)
        if strange:
            raise ProblemError(
                "on",
                expected=f"a relation over the coordinates {self.coordinates}",
                got=self.expression,
                remedy=f"{', '.join(sorted(map(str, strange)))} is not a coordinate of the domain.",
            )

    def __call__(self, X: Array) -> Mask:
        return self._mask(self.expression, X)

    def _mask(self, e: Any, X: Array) -> Mask:
        if e == sp.true:
            return np.ones(len(X), dtype=np.bool_)
        if e == sp.false:
            return np.zeros(len(X), dtype=np.bool_)
        if isinstance(e, Relational):
            return self._compare(e, X)
        if isinstance(e, BooleanFunction):
            parts = [self._mask(a, X) for a in e.args]
            if isinstance(e, sp.And):
                return np.asarray(np.logical_and.reduce(parts))
            if isinstance(e, sp.Or):
                return np.asarray(np.logical_or.reduce(parts))
            if isinstance(e, sp.Not):
                return ~parts[0]
        raise ProblemError(
            "on",
            expected="equalities and inequalities joined by sympy.And, Or, Not",
            got=e,
            remedy="Rewrite the relation with these.",
        )

    def _compare(self, e: Any, X: Array) -> Mask:
        function = sp.lambdify(self.coordinates, e.lhs - e.rhs, modules="numpy")
        difference = _call(function, X)
        corners = np.array(np.meshgrid(*self.box)).reshape(len(self.box), -1).T
        scale = np.nanmax(np.abs(np.concatenate([difference, _call(function, corners)])), initial=0.0)
        equal = np.abs(difference) <= _EQUAL * scale
        table: dict[type, Callable[[], Mask]] = {
            sp.Equality: lambda: equal,
            sp.Unequality: lambda: ~equal,
            sp.StrictLessThan: lambda: (difference < 0) & ~equal,
            sp.StrictGreaterThan: lambda: (difference > 0) & ~equal,
            sp.LessThan: lambda: (difference < 0) | equal,
            sp.GreaterThan: lambda: (difference > 0) | equal,
        }
        return table[type(e)]()


def _call(function: Any, X: Array) -> Array:
    with np.errstate(all="ignore"):
        value = np.asarray(function(*X.T), dtype=float)
    return np.broadcast_to(value, (len(X),))


def pinned(expression: Any, coordinates: tuple[Any, ...]) -> list[tuple[int, float]]:
    """(axis, level) for every coordinate that an equality of a conjunction fixes: x = level."""
    atoms = expression.args if isinstance(expression, sp.And) else (expression,)
    out = []
    for atom in atoms:
        if not isinstance(atom, sp.Equality):
            continue
        for side, other in ((atom.lhs, atom.rhs), (atom.rhs, atom.lhs)):
            if side in coordinates and other.is_number:
                out.append((coordinates.index(side), float(other)))
                break
    return out
