r"""lᵢ ≤ θᵢ ≤ hᵢ: the wanted parameters, where they may lie and where the search begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, sqrt
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.problem import Problem

_DECADES = 10.0  # positive bounds that far apart are halved as logarithms


@dataclass(frozen=True)
class Unknowns:
    """The parameters of a fit, in the order in which they were asked for."""

    symbols: tuple[Any, ...]
    low: Array
    high: Array
    start: Array

    @property
    def scale(self) -> Array:
        """A size of each: what a change of one is measured by."""
        width = np.where(np.isfinite(self.high - self.low), self.high - self.low, 1.0)
        return np.where(self.start != 0, np.abs(self.start), width)

    def __len__(self) -> int:
        return len(self.symbols)

    def find(self, key: Any, argument: str) -> int:
        """The place of a parameter, by symbol or name."""
        for i, s in enumerate(self.symbols):
            if key is s or key == s or str(key) == str(s):
                return i
        raise ProblemError(
            f"{argument}({key})",
            expected=f"a parameter that was fitted ({', '.join(map(str, self.symbols))})",
            got=repr(key),
            remedy="Name one of them.",
        )


def read_unknowns(
    unknown: Any, problems: Sequence[Problem], expressions: Sequence[Any], start: Mapping[Any, Any] | None
) -> Unknowns:
    """{D: (100, 3000), r: None}: symbols or names, each a parameter of some problem or of the data."""
    if not isinstance(unknown, Mapping) or not unknown:
        raise ProblemError(
            "unknown",
            expected="a mapping of parameters to their bounds",
            got=repr(unknown),
            remedy="Write unknown={D: (100, 3000)}; None for no bounds.",
        )
    values: dict[Any, float] = {}
    for p in reversed(problems):
        values.update(p.parameters)
    free = set().union(*(e.free_symbols for e in expressions)) - {c for p in problems for c in p.coordinates}
    known = [*values, *sorted(free - values.keys(), key=str)]
    given = {str(k): v for k, v in (start or {}).items()}
    symbols, low, high, first = [], [], [], []
    for key, bounds in unknown.items():
        symbol = next((s for s in known if s == key or (isinstance(key, str) and str(s) == key)), None)
        if symbol is None:
            raise ProblemError(
                f"unknown[{key}]",
                expected=f"a parameter of the problem ({', '.join(map(str, known)) or 'it has none'})",
                got=repr(key),
                remedy=f"Declare it: Problem(…, parameters={{{key}: …}}) with a first guess.",
            )
        a, b = _bounds(bounds, key)
        value = given.get(str(symbol), values.get(symbol))
        symbols.append(symbol)
        low.append(a)
        high.append(b)
        first.append(_first(a, b, None if value is None else float(value), key))
    extra = sorted(map(str, free - values.keys() - set(symbols)))
    if extra:
        raise ProblemError(
            "Data(expression)",
            expected="coordinates, unknowns, parameters of the problem or of the fit",
            got=f"the free symbol {', '.join(extra)}",
            remedy=f"Ask for it: unknown={{{extra[0]}: (low, high)}}.",
        )
    return Unknowns(tuple(symbols), np.array(low), np.array(high), np.array(first))


def _bounds(bounds: Any, key: Any) -> tuple[float, float]:
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


def _first(a: float, b: float, value: float | None, key: Any) -> float:
    """The problem's own value, if it is a possible one; otherwise the middle of the bounds."""
    if value is not None and a < value < b:
        return value
    if not (isfinite(a) and isfinite(b)):
        if value is None:
            raise ProblemError(
                f"unknown[{key}]",
                expected="finite bounds, since the problem has no value to begin with",
                got=f"({a:g}, {b:g})",
                remedy="Give both bounds.",
            )
        return a + 1.0 if isfinite(a) else b - 1.0
    return sqrt(a * b) if a > 0 and b > _DECADES * a else 0.5 * (a + b)
