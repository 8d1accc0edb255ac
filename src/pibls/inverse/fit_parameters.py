r"""The parameters of a fit, with their bounds lᵢ ≤ θᵢ ≤ hᵢ and initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, sqrt

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Expression, Number, Parameter
from pibls.problem import Problem

_LOG_RATIO = 10.0  # high/low of positive bounds beyond which their geometric mean is the initial value


@dataclass(frozen=True)
class FitParameters:
    """The parameters of a fit, in the order of ``fit(unknown=…)``."""

    symbols: tuple[Parameter, ...]
    low: Array
    high: Array
    start: Array

    @property
    def scale(self) -> Array:
        """A characteristic magnitude of each parameter, by which changes are scaled."""
        width = np.where(np.isfinite(self.high - self.low), self.high - self.low, 1.0)
        return np.where(self.start != 0, np.abs(self.start), width)

    def __len__(self) -> int:
        return len(self.symbols)

    def index_of(self, key: Parameter | str, argument: str) -> int:
        """Return the index of a parameter, given by symbol or name."""
        for i, s in enumerate(self.symbols):
            if key is s or key == s or str(key) == str(s):
                return i
        raise ProblemError(
            f"{argument}({key})",
            expected=f"a parameter that was fitted ({', '.join(map(str, self.symbols))})",
            got=repr(key),
            remedy="Name one of them.",
        )


def _parameter(key: Parameter | str, known: Sequence[Parameter]) -> Parameter:
    """Return the parameter given by its symbol or its name."""
    for symbol in known:
        if symbol == key or (isinstance(key, str) and str(symbol) == key):
            return symbol
    raise ProblemError(
        f"unknown[{key}]",
        expected=f"a parameter of the problem ({', '.join(map(str, known)) or 'it has none'})",
        got=repr(key),
        remedy=f"Declare it: Problem(…, parameters={{{key}: …}}) with a first guess.",
    )


def parse_fit_parameters(
    unknown: Mapping[Parameter | str, tuple[Number, Number] | None],
    problems: Sequence[Problem],
    expressions: Sequence[Expression],
    start: Mapping[Parameter | str, Number] | None,
) -> FitParameters:
    """Parse ``{D: (100, 3000), r: None}``, whose keys are parameters of a problem or of the data."""
    if not isinstance(unknown, Mapping) or not unknown:
        raise ProblemError(
            "unknown",
            expected="a mapping of parameters to their bounds",
            got=repr(unknown),
            remedy="Write unknown={D: (100, 3000)}, or None in place of the bounds for no bounds.",
        )
    values: dict[Parameter, float] = {}
    for p in reversed(problems):
        values.update(p.parameters)
    free = set().union(*(e.free_symbols for e in expressions)) - {c for p in problems for c in p.coordinates}
    known = [*values, *sorted(free - values.keys(), key=str)]
    given = {str(k): v for k, v in (start or {}).items()}
    symbols, low, high, first = [], [], [], []
    for key, bounds in unknown.items():
        symbol = _parameter(key, known)
        a, b = _bounds(bounds, key)
        value = given.get(str(symbol), values.get(symbol))
        symbols.append(symbol)
        low.append(a)
        high.append(b)
        first.append(_initial_value(a, b, None if value is None else float(value), key))
    extra = sorted(map(str, free - values.keys() - set(symbols)))
    if extra:
        raise ProblemError(
            "Data(expression)",
            expected="coordinates, unknowns, parameters of the problem or of the fit",
            got=f"the free symbol {', '.join(extra)}",
            remedy=f"Fit it: unknown={{{extra[0]}: (low, high)}}.",
        )
    return FitParameters(tuple(symbols), np.array(low), np.array(high), np.array(first))


def _bounds(bounds: tuple[Number, Number] | None, key: Parameter) -> tuple[float, float]:
    if bounds is None:
        return -inf, inf
    try:
        if isinstance(bounds, (str, bytes)):
            raise TypeError
        a, b = (
            float(sp.sympify(v)) if v is not None else s * inf for v, s in zip(bounds, (-1, 1), strict=True)
        )
        if isnan(a) or isnan(b) or not a < b:
            raise ValueError
    except (TypeError, ValueError, sp.SympifyError):
        raise ProblemError(
            f"unknown[{key}]",
            expected="bounds (low, high) with low < high, or None",
            got=repr(bounds),
            remedy=f"Write unknown={{{key}: (0, 10)}}.",
        ) from None
    return a, b


def _initial_value(a: float, b: float, value: float | None, key: Parameter) -> float:
    """Return the problem's value if it lies between the bounds, else the middle of the bounds."""
    if value is not None and a < value < b:
        return value
    if not (isfinite(a) and isfinite(b)):
        if value is None:
            raise ProblemError(
                f"unknown[{key}]",
                expected="finite bounds, since the problem gives no initial value",
                got=f"({a:g}, {b:g})",
                remedy="Give both bounds.",
            )
        return a + 1.0 if isfinite(a) else b - 1.0
    return sqrt(a * b) if a > 0 and b > _LOG_RATIO * a else 0.5 * (a + b)
