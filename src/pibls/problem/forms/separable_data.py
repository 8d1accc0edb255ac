r"""Detection of separable data b(x; k) = Σⱼ fⱼ(k) gⱼ(x), from their formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.expressions import Expression
from pibls.problem.problem import Problem


def separable_factors(problems: Sequence[Problem]) -> Array | None:
    """Return fⱼ(kᵢ), (terms, problems), of a problem at several parameter values; None if not separable.

    The data are not sampled, since a narrow pulse between sample points would be missed.
    """
    first = problems[0]
    factors: set[Expression] = set()
    for statement in first.statements:
        form = statement.form
        if form.nonlinear or form.deltas or form.fluxes:
            return None
        for term in sp.Add.make_args(sp.expand_mul(form.rest)):
            _, factor = term.as_independent(*form.variables.parameters, as_Add=False)
            if factor.free_symbols - set(form.variables.parameters):
                return None
            if term != 0:
                factors.add(factor)
    out = _values_of(factors, problems)
    return out if out.any() and np.isfinite(out).all() else None


def _values_of(factors: set[Expression], problems: Sequence[Problem]) -> Array:
    """Return the factors, sorted by their text, at the parameters of each problem, (factors, problems)."""
    symbols = problems[0].statements[0].form.variables.parameters
    values = [list(p.parameters.values()) for p in problems]
    found = [
        sp.lambdify(symbols, f, "numpy")(*np.array(values, dtype=float).T) for f in sorted(factors, key=str)
    ]
    return np.array([np.broadcast_to(f, len(problems)) for f in found], dtype=float)
