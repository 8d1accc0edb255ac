"""Defects of references in conditions and at interfaces, on boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from validation.statements.evaluate import Evaluator, holds
from validation.statements.points import sample
from validation.statements.recorder import Recorded
from validation.statements.statement import Statement
from validation.statements.types import Array


def faces_of(
    recorded: Recorded, rng: np.random.Generator, margin: float
) -> list[tuple[Array, dict[int, int]]]:
    """Random points on the faces of space, with the face of each."""
    found = []
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    for i, name in enumerate(recorded.bounds):
        if name == recorded.time:
            continue
        for side in (0, 1):
            for _ in range(4):
                point = low + (high - low) * rng.uniform(margin, 1 - margin, len(low))
                point[i] = (low, high)[side][i]
                found.append((point, {i: side}))
    return found


def condition_defect(
    entry: Statement, recorded: Recorded, evaluator: Evaluator, sizes: Mapping[str, float]
) -> float:
    """The largest relative defect of all conditions."""
    rng = np.random.default_rng(5)
    faces = faces_of(recorded, rng, entry.patch * 1.01)
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    symbols, worst = recorded.coordinates, 0.0
    covered = dict.fromkeys(range(len(recorded.conditions)), 0)
    for number, said in enumerate(recorded.conditions):
        functions = sp.sympify(said.what).atoms(AppliedUndef)
        size = max(sizes[str(f.func)] for f in functions)

        def defect(
            expression: Any, point: Array, sides: Mapping[int, int], scale: float, number: int = number
        ) -> float:
            value, large = evaluator(expression, point, sides, scale)
            covered[number] += 1
            return abs(value) / large

        if said.kind == "initial":
            i = list(recorded.bounds).index(recorded.time) if recorded.time else 0
            order = (
                sum(int(n) for _, n in said.what.variable_count)
                if isinstance(said.what, sp.Derivative)
                else 0
            )
            for _ in range(6):
                point = low + (high - low) * rng.uniform(entry.patch * 1.01, 1 - entry.patch * 1.01, len(low))
                point[i] = low[i]
                scale = size / (high[i] - low[i]) ** order
                worst = max(worst, defect(said.what - said.value, point, {i: 0}, scale))
        elif isinstance(said.on, dict):
            point = np.array([float(said.on[c]) for c in symbols])
            value = float(entry.reference[str(said.what.func)](*point))
            covered[number] += 1
            worst = max(worst, abs(value - float(said.value)) / size)
        elif said.kind == "periodic":
            i = symbols.index(said.extra)
            for point, sides in faces:
                if sides != {i: 0}:
                    continue
                other = point.copy()
                other[i] = high[i]
                for order in range(2):
                    what = said.what.diff(said.extra, order) if order else said.what
                    unit = size / (high[i] - low[i]) ** order
                    gap = evaluator.difference(what, (point, {i: 0}), (other, {i: 1}))
                    covered[number] += 1
                    worst = max(worst, gap / unit)
        else:
            rivals = [
                o.on
                for o in recorded.conditions
                if o is not said
                and o.on is not None
                and not isinstance(o.on, dict)
                and o.kind != "periodic"
                and sp.sympify(o.what).atoms(AppliedUndef) & functions
            ]
            for point, sides in faces:
                if not holds(said.on, point, recorded):
                    continue
                if said.on is None and any(holds(o, point, recorded) for o in rivals):
                    continue
                ((i, side),) = sides.items()
                length = high[i] - low[i]
                if said.kind == "dirichlet":
                    worst = max(worst, defect(said.what - said.value, point, sides, size))
                    continue
                if said.kind == "condition":
                    highest = max((d.derivative_count for d in said.what.atoms(sp.Derivative)), default=0)
                    worst = max(worst, defect(said.what, point, sides, size / length**highest))
                    continue
                outward = (1 if side else -1) * said.what.diff(symbols[i])
                alpha, beta = said.extra if said.kind == "robin" else (0, 1)
                expression = alpha * said.what + beta * outward - said.value
                worst = max(worst, defect(expression, point, sides, size / length))
    if not all(covered.values()):
        missing = [recorded.conditions[i] for i, c in covered.items() if not c]
        raise AssertionError(f"{entry.name}: conditions that no face meets: {missing}")
    return worst


def interface_defect(entry: Statement, recorded: Recorded) -> float:
    """Jumps of the unknowns and of the fluxes at the interfaces, relative to their sizes."""
    worst = 0.0
    exact = {recorded.unknowns[n]: e for n, e in entry.exact.items()}
    rng = np.random.default_rng(3)
    for name, places in entry.interfaces.items():
        watched: list[sp.Expr] = list(exact.values())
        for equation in recorded.equations:
            for d in equation.atoms(sp.Derivative):
                if not isinstance(d.args[0], AppliedUndef) and str(d.variables[0]) == name:
                    watched.append(d.args[0].subs(exact).doit())
        for place in places:
            for expression in watched:
                f = sp.lambdify(recorded.coordinates, expression, "numpy")
                at = {c: rng.uniform(*b) for c, b in recorded.bounds.items()}
                step = 1e-9 * (recorded.bounds[name][1] - recorded.bounds[name][0])
                left, right = (float(f(*{**at, name: place + s}.values())) for s in (-step, step))
                size = max(abs(float(f(*row))) for row in np.column_stack(sample(recorded.bounds, 50, 2)))
                worst = max(worst, abs(left - right) / size)
    return worst
