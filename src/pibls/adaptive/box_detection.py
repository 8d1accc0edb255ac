"""Detection of stationary problems on boxes, without importing the tensor-product strategy."""

from __future__ import annotations

from pibls.adaptive.thresholds import TENSOR_PRODUCTS
from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.tensor_products.box_problem import BoxProblem


def box_problem_of(context: ValidationContext) -> BoxProblem | None:
    """Return the problem on its box; None if it is an evolution, has subdomains, or is not on a box."""
    if (
        context.evolution is not None
        or context.subdomains is not None
        or context.compiled.dimension not in TENSOR_PRODUCTS.comparison_points
    ):
        return None
    if context.cache.box_problem is None:
        context.cache.box_problem = (BoxProblem.of(context.compiled, context.domain, context.box),)
    return context.cache.box_problem[0]
