"""Check the references of a statement on a shape without the solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from validation.references.chebyshev import chebyshev
from validation.statements.evaluate import Evaluator, holds
from validation.statements.outlines import Outline
from validation.statements.recorder import Recorded, Said
from validation.statements.statement import Statement
from validation.statements.types import Array


def defects_on_shape(
    entry: Statement,
    recorded: Recorded,
    evaluator: Evaluator,
    points: list[Array],
    sizes: Mapping[str, float],
) -> tuple[float, float]:
    """Return the largest relative defects in the equations and in the conditions."""
    shape = recorded.shape
    assert shape is not None
    rows = _inner_points(entry, recorded, shape, np.column_stack(points))
    residual = 0.0
    for equation in recorded.equations:
        found = [evaluator(equation, row, {}) for row in rows[:: max(1, len(rows) // 40)]]
        floor = max(large for _, large in found) * (1e-3 if not entry.exact else 1e-30)
        residual = max(residual, *(abs(v) / max(large, floor, 1e-290) for v, large in found))
    conditions = _Conditions(entry, recorded, shape, evaluator, sizes)
    return residual, max(conditions.defect(said, rows) for said in recorded.conditions)


def _inner_points(entry: Statement, recorded: Recorded, shape: Outline, rows: Array) -> Array:
    """Return the points whose patch lies in the shape.

    All of them for exact solutions, which need no patch.
    """
    if entry.exact:
        return rows
    span = {c: b - a for c, (a, b) in recorded.bounds.items()}
    d = len(shape.coordinates)
    reach = 4 * entry.patch * np.array([span[str(c)] for c in shape.coordinates])
    ok = np.ones(len(rows), bool)
    for a in np.linspace(0, 2 * np.pi, 16, endpoint=False):
        ok &= shape.contains(rows[:, :d] + 1.5 * reach * np.array([np.cos(a), np.sin(a)]))
    assert ok.sum() > 12, "no inner points"
    return rows[ok]


class _Conditions:
    """Defects of references in the conditions on a shape."""

    def __init__(
        self, entry: Statement, recorded: Recorded, shape: Outline, evaluator: Evaluator,
        sizes: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.entry, self.recorded, self.shape = entry, recorded, shape
        self.evaluator, self.sizes = evaluator, sizes
        self.rng = np.random.default_rng(7)
        self.boundary = shape.boundary(self.rng)
        self.length = max(b - a for a, b in recorded.bounds.values())

    def defect(self, said: Said, rows: Array) -> float:
        """Return the largest defect of one condition relative to the size of its unknowns."""
        functions = sp.sympify(said.what).atoms(AppliedUndef)
        size = max(self.sizes[str(f.func)] for f in functions)
        if said.kind == "initial":
            return max(self._at_the_start(said, row.copy(), size) for row in rows[:8])
        if isinstance(said.on, dict):
            at = [float(said.on[c]) for c in self.recorded.coordinates]
            value = float(self.entry.reference[str(said.what.func)](*at))
            return abs(value - float(said.value)) / size
        found = [
            self._on_the_boundary(said, full, normal, size)
            for full, normal in self._points_of(said, functions)
        ]
        assert found, f"a condition that nothing meets: {said}"
        return max(found)

    def _at_the_start(self, said: Said, row: Array, size: float) -> float:
        assert self.recorded.time is not None
        i = list(self.recorded.bounds).index(self.recorded.time)
        row[i] = self.recorded.bounds[self.recorded.time][0]
        value, large = self.evaluator(said.what - said.value, row, {i: 0}, size)
        return abs(value) / large

    def _points_of(self, said: Said, functions: set[Any]) -> Iterator[tuple[Array, Array]]:
        """Yield points and normals of the part of the boundary on which a condition holds."""
        rivals = [
            o.on
            for o in self.recorded.conditions
            if o is not said and o.on is not None and not isinstance(o.on, dict) and o.kind != "initial"
            and sp.sympify(o.what).atoms(AppliedUndef) & functions
        ]  # fmt: skip
        for point, normal, owner in zip(*self.boundary, strict=True):
            full = point
            if self.recorded.time is not None:
                full = np.append(point, self.rng.uniform(*self.recorded.bounds[self.recorded.time]))
            if said.on is not None and not self._belongs(said.on, full, owner):
                continue
            if said.on is None and any(self._belongs(o, full, owner) for o in rivals):
                continue
            yield full, normal

    def _belongs(self, on: Any, point: Array, owner: Outline) -> bool:
        return owner is on if isinstance(on, Outline) else holds(on, point, self.recorded)

    def _on_the_boundary(self, said: Said, full: Array, normal: Array, size: float) -> float:
        if self.entry.exact:
            value, large = self._exact(said, full, normal, size)
        else:
            value, large = self._computed(said, full, normal, size)
        return abs(value) / large

    def _exact(self, said: Said, full: Array, normal: Array, size: float) -> tuple[float, float]:
        if said.kind == "condition":
            orders = max((d.derivative_count for d in said.what.atoms(sp.Derivative)), default=0)
            return self.evaluator(said.what, full, {}, size / self.length**orders)
        alpha, beta = _weights(said)
        pairs = zip(normal, self.shape.coordinates, strict=True)
        slope = sum(sp.Float(n, 30) * said.what.diff(c) for n, c in pairs)
        scale = size * (1 if beta == 0 else 1 / self.length)
        return self.evaluator(alpha * said.what + beta * slope - said.value, full, {}, scale)

    def _computed(self, said: Said, full: Array, normal: Array, size: float) -> tuple[float, float]:
        """Take the normal derivative on lines of Chebyshev points of several lengths; the best one counts."""
        f = self.entry.reference[str(said.what.func)]
        at = dict(zip(self.recorded.coordinates, map(float, full), strict=True))
        target = float(sp.sympify(said.value).subs(at))
        a, b = (float(sp.sympify(q).subs(at)) for q in _weights(said))
        if b == 0:
            return a * float(f(*full)) - target, size
        nodes, D = chebyshev(10)
        values = []
        for h in (0.08, 0.02, 0.005):
            line = [full[i] - (nodes + 1) / 2 * h * n for i, n in enumerate(normal)]
            line += [np.full(11, q) for q in full[len(normal) :]]
            w = f(*line)
            values.append(float(a * w[0] - b * (D[0] @ w) * 2 / h - target))
        return min(values, key=abs), size * max(abs(a), abs(b) / self.length)


def _weights(said: Said) -> tuple[Any, Any]:
    """Return the factors of the unknown and of its normal derivative."""
    weights: tuple[Any, Any] = {"dirichlet": (1, 0), "neumann": (0, 1)}.get(said.kind) or said.extra or (0, 0)
    return weights
