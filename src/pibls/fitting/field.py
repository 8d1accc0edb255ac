r"""f(s) = Σⱼ cⱼ T_j(s): a function that is not known, as a block of parameters with a basis of its own.

Chebyshev polynomials up to a total degree over a box. A penalty on ∫|∇²f|² keeps what the data do not tell
smooth; how much of it, the data say (`smoothing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError

_POINTS = 20  # of Gauss's rule along each axis, which is exact for all degrees that are allowed
_MOST = 15


class Field:
    """An unknown function of one or two arguments, for use in equations and conditions.

    Parameters
    ----------
    name
        Its coefficients are called name_0, name_1, ….
    ranges
        The range of each argument: ``(0, 1)``, or ``[(0, 1), (0, 2)]``.
    degree
        The highest total degree.
    start
        The constant that the search begins with.
    positive
        Whether it is exp(Σ …), as a conductivity is.

    Apply it to coordinates (a source, a conductivity, an initial state) or to an unknown (a growth law), and
    give its coefficients to the problem: ``Problem(…, parameters=f.parameters)``.

    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> f = Field("f", (0, 2), degree=2)
    >>> f(x)
    f_0 + f_1*(x - 1) + f_2*(2*(x - 1)**2 - 1)
    """

    def __init__(
        self,
        name: str,
        ranges: Sequence[Any],
        *,
        degree: int = 8,
        start: float = 0.0,
        positive: bool = False,
    ) -> None:
        self.name = str(name)
        self.ranges = _ranges(ranges)
        if not isinstance(degree, int) or not 0 < degree <= _MOST:
            raise ProblemError(
                "Field(degree)",
                expected=f"a whole number from 1 to {_MOST}",
                got=repr(degree),
                remedy="The penalty keeps it smooth: 8 is enough for most.",
            )
        if positive and not start > 0:
            raise ProblemError(
                "Field(start)",
                expected="a positive number for a positive function",
                got=repr(start),
                remedy="Write start=1.0.",
            )
        self.degree, self.positive = degree, positive
        self.start = float(np.log(start)) if positive else float(start)
        several = len(self.ranges)
        powers = sorted(product(range(degree + 1), repeat=several), key=lambda a: (sum(a), a))
        self.powers = [a for a in powers if sum(a) <= degree]
        self.symbols = tuple(sp.Symbol(f"{self.name}_{'_'.join(map(str, a))}") for a in self.powers)

    def __call__(self, *arguments: Any) -> Any:
        """The function of these SymPy expressions."""
        if len(arguments) != len(self.ranges):
            raise ProblemError(
                f"{self.name}(…)",
                expected=f"{len(self.ranges)} argument(s)",
                got=f"{len(arguments)}",
                remedy="Give one expression for each range.",
            )
        z = [
            (sp.sympify(s) - _exact((a + b) / 2)) / _exact((b - a) / 2)
            for s, (a, b) in zip(arguments, self.ranges, strict=True)
        ]
        terms = [
            c * sp.Mul(*(sp.chebyshevt(n, s) for n, s in zip(power, z, strict=True)))
            for c, power in zip(self.symbols, self.powers, strict=True)
        ]
        total = sp.Add(*terms)
        return sp.exp(total) if self.positive else total

    @property
    def parameters(self) -> dict[Any, float]:
        """Its coefficients, with the values of the constant ``start``."""
        return {s: self.start if not any(p) else 0.0 for s, p in zip(self.symbols, self.powers, strict=True)}

    def table(self, points: Sequence[Any], orders: Sequence[int] | None = None) -> Array:
        """The basis, or its derivatives, at points, (n, coefficients)."""
        from numpy.polynomial import chebyshev

        orders = orders or (0,) * len(self.ranges)
        factors = []
        for s, (a, b), order in zip(points, self.ranges, orders, strict=True):
            z = (2 * np.ravel(s) - a - b) / (b - a)
            eye = np.eye(self.degree + 1)
            made = [chebyshev.chebval(z, chebyshev.chebder(e, order) if order else e) for e in eye]
            factors.append(np.array(made) * (2 / (b - a)) ** order)
        columns = [
            np.prod([f[n] for f, n in zip(factors, power, strict=True)], axis=0) for power in self.powers
        ]
        return np.column_stack(columns)

    @cached_property
    def roughness(self) -> Array:
        """B with |B c|² = ∫|∇²f|² over the unit of its ranges, (rows, coefficients)."""
        d = len(self.ranges)
        z, w = np.polynomial.legendre.leggauss(_POINTS)
        grids = np.meshgrid(*(0.5 * (a + b) + 0.5 * (b - a) * z for a, b in self.ranges), indexing="ij")
        weights = np.sqrt(np.prod(np.meshgrid(*([0.5 * w] * d), indexing="ij"), axis=0)).ravel()
        parts = []
        for orders in product(range(3), repeat=d):
            if sum(orders) == 2:
                size = np.prod([(b - a) ** o for (a, b), o in zip(self.ranges, orders, strict=True)])
                twice = np.sqrt(2.0) if max(orders) == 1 else 1.0
                parts.append(twice * size * weights[:, None] * self.table([g.ravel() for g in grids], orders))
        R = np.linalg.qr(np.concatenate(parts), mode="r")
        return np.asarray(R)

    def __repr__(self) -> str:
        return f"<Field {self.name} on {self.ranges}, {len(self.symbols)} coefficients>"


def _exact(value: float) -> Any:
    return sp.nsimplify(value, rational=True)


def _ranges(ranges: Any) -> tuple[tuple[float, float], ...]:
    try:
        pairs = [ranges] if not isinstance(ranges[0], (tuple, list)) else list(ranges)
        found = tuple((float(a), float(b)) for a, b in pairs)
        if not all(np.isfinite([a, b]).all() and a < b for a, b in found) or not 1 <= len(found) <= 2:
            raise ValueError
    except (TypeError, ValueError, IndexError, KeyError):
        raise ProblemError(
            "Field(ranges)",
            expected="(low, high), or a list of two of them",
            got=repr(ranges),
            remedy='Write Field("k", (0, 1)) or Field("f", [(0, 1), (0, 1)]).',
        ) from None
    return found


def expanded(unknown: Any) -> tuple[Any, tuple[Field, ...]]:
    """The wanted parameters with the coefficients of fields in the place of these, and the fields."""
    if not isinstance(unknown, Mapping):
        return unknown, ()
    out: dict[Any, Any] = {}
    for key, bounds in unknown.items():
        if isinstance(key, Field):
            out.update(dict.fromkeys(key.symbols))
        else:
            out[key] = bounds
    return out, tuple(k for k in unknown if isinstance(k, Field))
