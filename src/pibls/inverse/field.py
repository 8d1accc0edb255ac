r"""f(s) = h(Σⱼ cⱼ T_j(s)): a function that is not known, as a block of parameters with a basis of its own.

Chebyshev polynomials up to a total degree over a box, and a link h that keeps bounds. A penalty on ∫|∇²Σ|²
keeps what the data do not tell smooth; how much of it, the data say (`smoothing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, floats
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.inverse.link import Link, link_of

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
        What the search begins with: a constant, or a NumPy function of the arguments.
    bounds
        ``(low, high)``, between which its values lie; None for no bound on a side.
    positive
        Short for ``bounds=(0, None)``, as a conductivity needs.

    Apply it to coordinates (a source, a conductivity, an initial state) or to an unknown (a growth law), and
    give its coefficients to the problem: ``Problem(…, parameters=f.parameters)``. Shorter: write k(x) in the
    problem, ``parameters={k(x): 1.0}``, and ask for it, ``fit(…, unknown={k(x): None})``.

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
        start: Any = 0.0,
        bounds: Any = None,
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
        self.degree = degree
        self.link: Link = link_of((0, None) if positive and bounds is None else bounds, self.name)
        several = len(self.ranges)
        powers = sorted(product(range(degree + 1), repeat=several), key=lambda a: (sum(a), a))
        self.powers = [a for a in powers if sum(a) <= degree]
        self.symbols = tuple(sp.Symbol(f"{self.name}_{'_'.join(map(str, a))}") for a in self.powers)
        self.first = self._first(start)

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
        return self.link.written(sp.Add(*terms))

    @property
    def parameters(self) -> dict[Any, float]:
        """Its coefficients, with the values of ``start``."""
        return dict(zip(self.symbols, map(float, self.first), strict=True))

    def _first(self, start: Any) -> Array:
        """The coefficients whose function is nearest to ``start`` at the points of Gauss's rule."""
        grids, weights = self._rule()
        value = floats(start(*grids) if callable(start) else start)
        if not np.isfinite(value).all() or not self.link.holds(value):
            raise ProblemError(
                "Field(start)",
                expected=f"a number, or a NumPy function, with values {self.link.words}",
                got=repr(start) if value.ndim == 0 else f"{value.min():g} … {value.max():g}",
                remedy="Begin inside of the bounds.",
            )
        inner = self.link.inverse(value)
        if value.ndim == 0:
            return np.array([inner if not any(p) else 0.0 for p in self.powers])
        w = weights[:, None]
        found = np.linalg.lstsq(w * self.table(grids), weights * inner.ravel(), rcond=None)[0]
        # What is rounding in a coefficient would be taken for its size.
        return np.where(np.abs(found) > 1e-10 * np.abs(found).max(), found, 0.0)

    def _rule(self) -> tuple[list[Array], Array]:
        """Points of Gauss's rule over the ranges, and the roots of its weights."""
        d = len(self.ranges)
        z, w = np.polynomial.legendre.leggauss(_POINTS)
        grids = np.meshgrid(*(0.5 * (a + b) + 0.5 * (b - a) * z for a, b in self.ranges), indexing="ij")
        weights = np.sqrt(np.prod(np.meshgrid(*([0.5 * w] * d), indexing="ij"), axis=0)).ravel()
        return [g.ravel() for g in grids], weights

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
        grids, weights = self._rule()
        parts = []
        for orders in product(range(3), repeat=len(self.ranges)):
            if sum(orders) == 2:
                size = np.prod([(b - a) ** o for (a, b), o in zip(self.ranges, orders, strict=True)])
                twice = np.sqrt(2.0) if max(orders) == 1 else 1.0
                parts.append(twice * size * weights[:, None] * self.table(grids, orders))
        R = np.linalg.qr(np.concatenate(parts), mode="r")
        return np.asarray(R)

    @property
    def key(self) -> str:
        """What makes two of them the same."""
        return f"{self.name} {self.ranges} {self.degree} {self.link} {self.first.tolist()}"

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
