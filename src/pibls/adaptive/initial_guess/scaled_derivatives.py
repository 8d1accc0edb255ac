r"""The nonlinear equations of a problem with their highest derivatives multiplied by a factor.

F(x, u, …, Dᵐu) = 0 becomes F(x, u, …, M Dᵐu) = 0. For M > 1 it is more viscous: ε u'' + u u' = u is the same
equation with M ε in place of ε, and the Reynolds number of a flow is divided by M. No parameter has to be
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.forms.compiled_expressions import Constants


def with_scaled_highest_derivatives(compiled: CompiledProblem, factor: float) -> CompiledProblem:
    """Return the problem with the highest derivatives of its nonlinear equations multiplied by a factor."""
    return replace(compiled, residuals=tuple(_scaled(r, factor) for r in compiled.residuals))


def _scaled(r: Residual, factor: float) -> Residual:
    if not (r.region.is_interior and r.nonlinear):
        return r
    order = max(sum(j.alpha) for j in r.derivatives)
    linear, nonlinear = (
        tuple(factor if sum(j.alpha) == order else 1.0 for j in part) for part in (r.linear, r.nonlinear)
    )
    return replace(
        r,
        coefficient_function=_with_factors(r.coefficient_function, (), linear),
        rest_function=_with_factors(r.rest_function, nonlinear, (1.0,)),
        partials_function=_with_factors(r.partials_function, nonlinear, nonlinear),
    )


def _with_factors(function: Any, arguments: Sequence[float], values: Sequence[float]) -> Any:
    if isinstance(function, Constants):
        return Constants([f * value for f, value in zip(values, function.values, strict=True)])
    return _ScaledFunction(function, tuple(arguments), tuple(values))


@dataclass(frozen=True)
class _ScaledFunction:
    """A compiled function with its last arguments and its values multiplied by factors."""

    function: Callable[..., Any]
    arguments: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, *given: Any) -> list[Any]:
        first = len(given) - len(self.arguments)
        last = [f * a for f, a in zip(self.arguments, given[first:], strict=True)]
        return [f * v for f, v in zip(self.values, self.function(*given[:first], *last), strict=True)]
