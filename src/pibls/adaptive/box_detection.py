"""Whether piecewise polynomials apply to a problem, without importing their strategies."""

from __future__ import annotations

from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.geometry import time_of


def box_problem_of(context: ValidationContext) -> BoxProblem | None:
    """Return the problem on its box; None if it is an evolution, has subdomains, or is not on a box."""
    if context.evolution is not None or context.subdomains is not None:
        return None
    if context.cache.box_problem is None:
        context.cache.box_problem = (BoxProblem.of(context.compiled, context.domain, context.box),)
    return context.cache.box_problem[0]


def applies_on_line(context: ValidationContext) -> bool:
    """Whether there is one coordinate, and integrals can be evaluated interval by interval."""
    return context.compiled.dimension == 1 and integrals_are_divisible(context)


def integrals_are_divisible(context: ValidationContext) -> bool:
    """Whether integrals can be evaluated cell by cell, which excludes integrals at all times."""
    sums = [r.region for r in context.compiled.residuals if r.region.is_integral]
    return not sums or (time_of(context.domain) is None and all(r.is_divisible(context.domain) for r in sums))
