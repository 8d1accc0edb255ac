"""The keyword arguments of `pibls.solve` as a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from pibls.adaptive.budget import Progress
    from pibls.assembly.points import Points
    from pibls.expressions import Expression
    from pibls.nonlinear import Method
    from pibls.spaces import Choice


class SolveSettings(TypedDict, total=False):
    """Keyword arguments of `pibls.solve`; those that are missing have their default values."""

    tol: float
    basis: Choice | None
    points: Points | None
    method: Method | None
    guess: Any  # a number, an expression, a callable, a `Solution`, or a mapping of unknowns to these
    enrich: Sequence[Expression] | Expression | None
    seed: int
    max_nodes: int
    time_limit: float | None
    progress: bool
    callback: Callable[[Progress], object] | None
    engine: Any  # a Dask client
