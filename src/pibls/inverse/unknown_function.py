r"""Unknown functions f(s) = h(Σⱼ cⱼ T_j(s)), represented by Chebyshev coefficients that are fitted.

The basis is the Chebyshev polynomials up to a total degree over a box; the link function h enforces bounds.
A penalty on ∫ Σᵢⱼ (∂ᵢ∂ⱼp)² with p = Σⱼ cⱼ T_j, the integral of all squared second derivatives, regularizes
what the data do not determine; its weight is estimated from the data (`pibls.inverse.roughness_penalty`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from pibls.arrays import Array, PointFunction, floats
from pibls.errors import ProblemError
from pibls.expressions import Expression, Parameter
from pibls.inverse.link_function import LinkFunction, link_function
from pibls.runtime.caching import cached_property

_GAUSS_POINTS = 20  # along each axis; exact for all degrees up to _MAX_DEGREE
_MAX_DEGREE = 15


class Field:
    """An unknown function of one or two arguments, for use in equations and conditions.

    Parameters
    ----------
    name
        The name; the coefficients are called name_0, name_1, …, or name_0_0, name_0_1, … with two arguments.
    ranges
        The range of each argument: ``(0, 1)``, or ``[(0, 1), (0, 2)]``.
    degree
        The highest total degree.
    start
        The initial guess: a constant, or a NumPy function of the arguments.
    bounds
        ``(low, high)``, bounds of its values; None for no bound on a side.
    positive
        Short for ``bounds=(0, None)``, for example for a conductivity.

    Apply it to coordinates (a source, a conductivity, an initial state) or to an unknown (a growth law), and
    give its coefficients to the problem: ``Problem(…, parameters=f.parameters)``. A shorter way is to write
    k(x) in the problem, ``parameters={k(x): 1.0}``, and to fit it by ``fit(…, unknown={k(x): None})``.

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
        start: PointFunction | float = 0.0,
        bounds: Sequence[float | None] | None = None,
        positive: bool = False,
    ) -> None:
        self.name = str(name)
        self.ranges = _ranges(ranges)
        if not isinstance(degree, int) or not 0 < degree <= _MAX_DEGREE:
            raise ProblemError(
                "Field(degree)",
                expected=f"a whole number from 1 to {_MAX_DEGREE}",
                got=repr(degree),
                remedy="Write degree=8, which suffices for most functions.",
            )
        self.degree = degree
        self.link: LinkFunction = link_function(
            (0, None) if positive and bounds is None else bounds, self.name
        )
        dimension = len(self.ranges)
        powers = sorted(product(range(degree + 1), repeat=dimension), key=lambda a: (sum(a), a))
        self.exponents = [a for a in powers if sum(a) <= degree]
        self.symbols = tuple(sp.Symbol(f"{self.name}_{'_'.join(map(str, a))}") for a in self.exponents)
        self.initial_coefficients = self._fit_start(start)

    def __call__(self, *arguments: Expression) -> Expression:
        """Return the function of these SymPy expressions, as a SymPy expression."""
        if len(arguments) != len(self.ranges):
            raise ProblemError(
                f"{self.name}(…)",
                expected=f"{len(self.ranges)} argument(s)",
                got=f"{len(arguments)}",
                remedy="Give one expression for each range.",
            )
        z = [
            (sp.sympify(s) - _rational((a + b) / 2)) / _rational((b - a) / 2)
            for s, (a, b) in zip(arguments, self.ranges, strict=True)
        ]
        terms = [
            c * sp.Mul(*(sp.chebyshevt(n, s) for n, s in zip(power, z, strict=True)))
            for c, power in zip(self.symbols, self.exponents, strict=True)
        ]
        return self.link.expression(sp.Add(*terms))

    @property
    def parameters(self) -> dict[Parameter, float]:
        """The coefficients, with the values that represent ``start``."""
        return dict(zip(self.symbols, map(float, self.initial_coefficients), strict=True))

    def _fit_start(self, start: PointFunction | float) -> Array:
        """Return the coefficients of the weighted least-squares fit to ``start`` at the Gauss points."""
        grids, weights = self._gauss_rule()
        value = floats(start(*grids) if callable(start) else start)
        if not np.isfinite(value).all() or not self.link.contains(value):
            raise ProblemError(
                "Field(start)",
                expected=f"a number, or a NumPy function, with values {self.link.description}",
                got=repr(start) if value.ndim == 0 else f"{value.min():g} … {value.max():g}",
                remedy="Start inside the bounds.",
            )
        inner = self.link.inverse(value)
        if value.ndim == 0:
            return np.array([inner if not any(p) else 0.0 for p in self.exponents])
        w = weights[:, None]
        found = np.linalg.lstsq(w * self.basis_values(grids), weights * inner.ravel(), rcond=None)[0]
        # Coefficients at rounding level are set to zero, because a start value also sets the scale.
        return np.where(np.abs(found) > 1e-10 * np.abs(found).max(), found, 0.0)

    def _gauss_rule(self) -> tuple[list[Array], Array]:
        """Return the Gauss points over the ranges, and the square roots of the weights."""
        d = len(self.ranges)
        z, w = np.polynomial.legendre.leggauss(_GAUSS_POINTS)
        grids = np.meshgrid(*(0.5 * (a + b) + 0.5 * (b - a) * z for a, b in self.ranges), indexing="ij")
        weights = np.sqrt(np.prod(np.meshgrid(*([0.5 * w] * d), indexing="ij"), axis=0)).ravel()
        return [g.ravel() for g in grids], weights

    def basis_values(self, points: Sequence[npt.ArrayLike], orders: Sequence[int] | None = None) -> Array:
        """Return the basis functions, or their derivatives, at points, (n, coefficients)."""
        from numpy.polynomial import chebyshev

        orders = orders or (0,) * len(self.ranges)
        factors = []
        for s, (a, b), order in zip(points, self.ranges, orders, strict=True):
            z = (2 * np.ravel(s) - a - b) / (b - a)
            eye = np.eye(self.degree + 1)
            made = [chebyshev.chebval(z, chebyshev.chebder(e, order) if order else e) for e in eye]
            factors.append(np.array(made) * (2 / (b - a)) ** order)
        columns = [
            np.prod([f[n] for f, n in zip(factors, power, strict=True)], axis=0) for power in self.exponents
        ]
        return np.column_stack(columns)

    @cached_property
    def roughness_matrix(self) -> Array:
        """B with |B c|² = ∫|∇²Σ|² over the ranges scaled to unit length, (rows, coefficients)."""
        grids, weights = self._gauss_rule()
        parts = []
        for orders in product(range(3), repeat=len(self.ranges)):
            if sum(orders) == 2:
                size = np.prod([(b - a) ** o for (a, b), o in zip(self.ranges, orders, strict=True)])
                multiplicity = np.sqrt(2.0) if max(orders) == 1 else 1.0
                parts.append(multiplicity * size * weights[:, None] * self.basis_values(grids, orders))
        R = np.linalg.qr(np.concatenate(parts), mode="r")
        return np.asarray(R)

    @property
    def cache_key(self) -> str:
        """A string that is equal for equal fields."""
        return f"{self.name} {self.ranges} {self.degree} {self.link} {self.initial_coefficients.tolist()}"

    def __repr__(self) -> str:
        return f"<Field {self.name} on {self.ranges}, {len(self.symbols)} coefficients>"


def _rational(value: float) -> sp.Rational:
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
