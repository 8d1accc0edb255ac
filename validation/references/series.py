"""Series, roots, jumps of piecewise expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from validation.statements.symbols import x
from validation.statements.types import Array


def find_root(function: Callable[[Any], Any], start: float) -> sp.Float:
    """A root to thirty digits."""
    with mpmath.workdps(35):
        return sp.Float(mpmath.nstr(mpmath.findroot(function, start), 32), 32)


def summed(term: Callable[..., Array], numbers: Array, *arrays: Array, chunk: int = 400) -> Array:
    """The sum over the numbers of term(number, *coordinates), at scattered points in chunks."""
    coordinates = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arrays))
    flat = [c.ravel() for c in coordinates]
    result = np.empty(flat[0].size)
    for a in range(0, result.size, chunk):
        result[a : a + chunk] = np.sum(
            term(numbers[None, :], *(c[a : a + chunk, None] for c in flat)), axis=1
        )
    return result.reshape(coordinates[0].shape)


def jump_defect(expression: sp.Expr, at: sp.Expr, order: int, wanted: float) -> float:
    """How far the jump of a derivative differs from the wanted one, all lower ones being continuous."""
    left, right = expression.args[0][0], expression.args[1][0]
    defects = [
        abs(float((right - left).diff(x, k).subs(x, at)) - (wanted if k == order else 0))
        for k in range(order + 1)
    ]
    return max(defects) / max(abs(wanted), 1e-300)
