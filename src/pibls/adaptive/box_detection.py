"""Detection of stationary problems on boxes, without importing the tensor-product strategy."""

from __future__ import annotations

from typing import cast

from pibls.adaptive.thresholds import TENSOR_PRODUCTS
from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.tensor_products.box_problem import BoxProblem


def box_problem_of(context: ValidationContext) -> BoxProblem | None:
    """Return the problem on its box; None if it is an evolution, has subdomains, or is not on a box."""
    if (
        context.evolution is not None
        or context.subdomains is not None
        or context.compiled.dimension not in TENSOR_PRODUCTS.typical_work
    ):
        return None
    known = context.problem_cache.get("boxed")
    if known is None or known[0] is not context.compiled:
        known = context.problem_cache["boxed"] = (
            context.compiled,
            BoxProblem.of(context.compiled, context.domain, context.box),
        )
    return cast("BoxProblem | None", known[1])
