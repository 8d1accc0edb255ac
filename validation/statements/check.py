"""Check the references of a statement without the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import sympy as sp

from validation.statements.check_conditions import condition_defect, interface_defect
from validation.statements.check_shapes import defects_on_shape
from validation.statements.evaluate import Evaluator
from validation.statements.points import points_in, sample
from validation.statements.recorder import Recorded
from validation.statements.statement import Statement
from validation.statements.types import Array


@dataclass(frozen=True)
class Check:
    """What was found about one reference; every number is relative."""

    residual: float
    conditions: float
    second: float
    interface: float
    ok: bool


def check(statement: Statement) -> Check:
    """Check the references: equations, conditions, the second computation, interfaces."""
    extra = statement.extra() if statement.extra else 0.0
    if not statement.has_solution:
        return Check(0.0, 0.0, 0.0, extra, not statement.reference and extra < 1e-7)
    recorded = statement.recorded
    names = set(recorded.unknowns)
    if names != set(statement.reference):
        raise AssertionError(f"references {set(statement.reference)} for unknowns {names}")
    points = points_in(recorded, 600, 11)
    values = {n: f(*points) for n, f in statement.reference.items()}
    if not all(np.all(np.isfinite(v)) for v in values.values()):
        raise AssertionError("the reference is not finite everywhere")
    sizes = {n: float(np.max(np.abs(v))) for n, v in values.items()}
    evaluator = Evaluator(statement, recorded)
    if recorded.shape is None:
        residual = _residual_on_box(statement, recorded, evaluator)
        conditions = condition_defect(statement, recorded, evaluator, sizes)
    else:
        residual, conditions = defects_on_shape(statement, recorded, evaluator, points, sizes)
    second = _second_defect(statement, recorded, points, values, sizes)
    _check_further_solutions(statement, recorded, points)
    interface = max(extra, interface_defect(statement, recorded) if statement.interfaces else 0.0)
    limit = statement.second_tol or 3 * statement.accuracy
    if statement.exact:  # where terms vanish identically, only rounding is left, which is relative to nothing
        strict = residual <= 1e-12 and second <= limit
        right = (strict or (residual < 1e-10 and second < 3e-13)) and conditions <= 1e-12
    else:
        right = residual <= statement.residual_tol and conditions <= 1e-5 and second <= limit
    return Check(residual, conditions, second, interface, right and interface < 1e-7)


def _residual_on_box(statement: Statement, recorded: Recorded, evaluator: Evaluator) -> float:
    rng = np.random.default_rng(7)
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    margin, residual = statement.patch * 1.01, 0.0
    for equation in recorded.equations:
        places = [low + (high - low) * rng.uniform(margin, 1 - margin, len(low)) for _ in range(10)]
        if statement.exact:  # layers too
            places.extend(np.column_stack(sample(recorded.bounds, 20, 13)))
        found = [evaluator(equation, place, {}) for place in places]
        floor = max(large for _, large in found) * (1e-30 if statement.exact else 1e-3)
        residual = max(residual, *(abs(value) / max(large, floor, 1e-290) for value, large in found))
    return residual


def _second_defect(
    statement: Statement, recorded: Recorded, points: list[Array], values: Mapping[str, Array],
    sizes: Mapping[str, float],
) -> float:  # fmt: skip
    """Return the difference from the second computation, and of exact solutions from forty digits."""
    second = max(
        (float(np.max(np.abs(f(*points) - values[n]))) / sizes[n] for n, f in statement.second.items()),
        default=0.0,
    )
    for n, e in statement.exact.items():
        f = sp.lambdify(recorded.coordinates, e, "mpmath")
        with mpmath.workdps(40):
            fine = [float(f(*(mpmath.mpf(float(c[i])) for c in points))) for i in range(0, 600, 15)]
        second = max(second, float(np.max(np.abs(np.array(fine) - values[n][::15]))) / sizes[n])
    return second


def _check_further_solutions(statement: Statement, recorded: Recorded, points: list[Array]) -> None:
    """Raise if a further solution does not satisfy the equations, or is not a further one."""
    if recorded.shape is None:
        rng = np.random.default_rng(7)
        low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
        places = [low + (high - low) * rng.uniform(0.1, 0.9, len(low)) for _ in range(6)]
        patch, limit = statement.patch, 1e-8
    else:
        places, patch, limit = list(np.column_stack(points)[400:406]), 5e-3, 1e-7
    for other in statement.also:
        twin = Evaluator(replace(statement, exact={}, reference=other, patch=patch), recorded)
        for place in places:
            for equation in recorded.equations:
                value, large = twin(equation, place, {})
                if abs(value) > limit * large:
                    raise AssertionError("the further solution does not satisfy the equation")
    if statement.further is None:
        return
    one, two, close = statement.further
    for n, f in one.items():
        values = f(*points)
        if np.max(np.abs(values - two[n](*points))) >= close * np.max(np.abs(values)):
            raise AssertionError("the two computations of the further solution differ")
        if np.max(np.abs(values - statement.reference[n](*points))) <= 1e-2:
            raise AssertionError("the further solution is not another one")
