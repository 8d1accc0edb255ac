"""Equations and conditions at a point, with references in place of the unknowns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from validation.references.chebyshev import chebyshev
from validation.statements.recorder import Recorded
from validation.statements.statement import Statement
from validation.statements.types import Array


def patch_derivatives(
    entry: Statement,
    recorded: Recorded,
    point: Array,
    sides: Mapping[int, int],
    wanted: Iterable[sp.Basic],
    patch: float,
) -> dict[sp.Basic, float]:
    """Derivatives of numerical references at a point, from a small Chebyshev patch around or beside it."""
    n = 10 if len(point) < 3 else 8
    nodes, matrix = chebyshev(n)
    grids, rows = [], []
    for i, (a, b) in enumerate(recorded.bounds.values()):
        half = patch * (b - a)
        if i not in sides:
            half = min(half, point[i] - a, b - point[i])
        center = a + half if sides.get(i) == 0 else b - half if sides.get(i) == 1 else point[i]
        grids.append(center + half * nodes)
        at = 0 if sides.get(i) == 0 else n if sides.get(i) == 1 else n // 2
        powers, scaled = [np.eye(n + 1)[at]], matrix / half
        for _ in range(4):
            powers.append(powers[-1] @ scaled)
        rows.append(powers)
    values: dict[str, Array] = {}
    found: dict[sp.Basic, float] = {}
    symbols = recorded.coordinates
    for target in wanted:
        function = target.args[0] if isinstance(target, sp.Derivative) else target
        name = str(function.func)
        if name not in values:
            values[name] = entry.reference[name](*np.meshgrid(*grids, indexing="ij"))
        orders = dict.fromkeys(symbols, 0)
        if isinstance(target, sp.Derivative):
            for symbol, order in target.variable_count:
                orders[symbol] += int(order)
        block = values[name]
        for i, symbol in enumerate(symbols):
            block = np.tensordot(rows[i][orders[symbol]], block, axes=(0, 0))
        found[target] = float(block)
    return found


_MPMATH: list[Any] = [{"airyaiprime": lambda q: mpmath.airyai(q, derivative=1)}, "mpmath"]


class Evaluator:
    """Values of expressions in the unknowns for a reference, with the size of their largest term."""

    def __init__(self, entry: Statement, recorded: Recorded) -> None:
        self.entry, self.recorded = entry, recorded
        self.exact = {recorded.unknowns[n]: e for n, e in entry.exact.items()}
        self.compiled: dict[sp.Expr, list[Any]] = {}

    def __call__(
        self, expression: Any, point: Array, sides: Mapping[int, int], scale: float = 1e-300
    ) -> tuple[float, float]:
        """Return the value at a point, and the size of its terms, which is at least `scale`.

        `sides` are the faces that the point is on.
        """
        expression = sp.sympify(expression).replace(sp.DiracDelta, lambda *_: sp.Integer(0))
        terms = sp.Add.make_args(expression)
        if self.exact:
            if expression not in self.compiled:
                done = [sp.sympify(e).subs(self.exact).doit() for e in terms]
                self.compiled[expression] = [sp.lambdify(self.recorded.coordinates, e, _MPMATH) for e in done]
            with mpmath.workdps(40):
                parts = [f(*(mpmath.mpf(float(q)) for q in point)) for f in self.compiled[expression]]
                return float(mpmath.fsum(parts)), max(scale, float(max(abs(q) for q in parts)))
        wanted = sorted(
            expression.atoms(AppliedUndef) | expression.atoms(sp.Derivative),
            key=lambda e: str(e),
        )
        found = []
        for factor in (
            4.0,
            1.0,
            0.25,
            0.06,
            0.01,
        ):  # truncation asks for small patches, rounding for large ones
            patch = min(self.entry.patch * factor, 0.2)
            known = patch_derivatives(self.entry, self.recorded, point, sides, wanted, patch)
            value, large = self._terms(terms, wanted, known, point)
            found.append((value, max(large, scale)))
        return min(found, key=lambda item: abs(item[0]) / item[1])

    def difference(
        self, what: Any, one: tuple[Array, Mapping[int, int]], two: tuple[Array, Mapping[int, int]]
    ) -> float:
        """How much a derivative differs between two places."""
        if self.exact:
            return abs(self(what, *one)[0] - self(what, *two)[0])
        gaps = []
        for factor in (4.0, 1.0, 0.25, 0.06):
            patch = min(self.entry.patch * factor, 0.2)
            a, b = (patch_derivatives(self.entry, self.recorded, *q, [what], patch)[what] for q in (one, two))
            gaps.append(abs(a - b))
        return min(gaps)

    def _terms(
        self,
        terms: Sequence[sp.Expr],
        wanted: Sequence[sp.Basic],
        known: Mapping[sp.Basic, float],
        point: Array,
    ) -> tuple[float, float]:
        """The sum of the terms and the size of the largest, the derivatives being known."""
        dummies = {target: sp.Dummy() for target in wanted}
        at = {c: float(q) for c, q in zip(self.recorded.coordinates, point, strict=True)}
        values = {dummies[target]: value for target, value in known.items()}
        parts = [float(term.xreplace(dummies).subs(values).subs(at)) for term in terms]
        return math.fsum(parts), max(abs(q) for q in parts)


def holds(relation: Any, point: Array, recorded: Recorded) -> bool:
    """Whether a relation of the kind used here holds at a point."""
    if relation is None:
        return True
    if isinstance(relation, sp.And):
        return all(holds(part, point, recorded) for part in relation.args)
    if isinstance(relation, sp.Or):
        return any(holds(part, point, recorded) for part in relation.args)
    at = {c: float(q) for c, q in zip(recorded.coordinates, point, strict=True)}
    if isinstance(relation, sp.Eq):
        size = max(b - a for a, b in (recorded.bounds[str(s)] for s in relation.free_symbols))
        return bool(abs(float((relation.lhs - relation.rhs).subs(at))) < 1e-9 * size)
    return bool(relation.subs(at))
