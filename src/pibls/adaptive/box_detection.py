"""Whether a problem is one of a box: asked before what solves along its axes is imported."""

from __future__ import annotations

from typing import cast

from pibls.adaptive.thresholds import PRODUCTS
from pibls.adaptive.validation.context import Bench
from pibls.assembly.tensor_products.boxed import Boxed


def boxed_in(bench: Bench) -> Boxed | None:
    """The problem on its box; None where it has none, moves, or is in pieces."""
    if (
        bench.evolution is not None
        or bench.pieced is not None
        or bench.lowered.dimension not in PRODUCTS.usual
    ):
        return None
    known = bench.kept.get("boxed")
    if known is None or known[0] is not bench.lowered:
        known = bench.kept["boxed"] = bench.lowered, Boxed.of(bench.lowered, bench.domain, bench.box)
    return cast("Boxed | None", known[1])
