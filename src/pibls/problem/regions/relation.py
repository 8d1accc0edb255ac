"""x = 0, y > ½, …: a SymPy relation as a mask over points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError

_EQUAL = 1e-9  # relative to how much the two sides differ over the domain


@dataclass(frozen=True)
class Relation:
    """A relation over the coordinates; equalities hold within rounding."""

    expression: Any
    coordinates: tuple[Any, ...]
    box: tuple[tuple[float, float], ...]

    def __call__(self, X: Array) -> Mask:
        return self._mask(self.expression, X)

    def _mask(self, e: Any, X: Array) -> Mask:
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

    def _compare(self, e: Any, X: Array) -> Mask:
        function, scale = _compiled(e.lhs - e.rhs, self.coordinates, self.box)
        difference = _call(function, X)
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


@lru_cache(maxsize=256)
def _compiled(
    difference: Any, coordinates: tuple[Any, ...], box: tuple[tuple[float, float], ...]
) -> tuple[Any, float]:
    """A difference as a NumPy function, and its largest finite value at fixed places of the box."""
    function = sp.lambdify(coordinates, difference, modules="numpy")
    low, high = np.array(box).T
    inside = np.random.default_rng(0).uniform(low, high, (256, len(box)))
    corners = np.array(np.meshgrid(*box)).reshape(len(box), -1).T
    values = np.abs(_call(function, np.concatenate([inside, corners])))
    return function, float(values.max(initial=0.0, where=np.isfinite(values)))


def check_relation(expression: Any, coordinates: tuple[Any, ...], argument: str) -> None:
    """Equalities and inequalities over the coordinates, joined by And, Or, Not; else a ProblemError."""
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
            if side in coordinates and other.is_number and other.is_extended_real:
                out.append((coordinates.index(side), float(other)))
                break
    return out
