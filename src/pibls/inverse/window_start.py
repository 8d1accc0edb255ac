r"""Initial conditions of a time window: ∂_t^j u(x, t₀) = ∂_t^j ũ(x, t₀) with the solution ũ before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array, Rng
from pibls.basis.cube_points import CLOSED_RULES
from pibls.expressions import Coordinate
from pibls.geometry import Domain
from pibls.problem import PartialDerivative, Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.regions.points import Points, PointSet
from pibls.spaces import Space

if TYPE_CHECKING:
    from pibls.problem.regions.protocol import Notation


@dataclass(frozen=True)
class WindowStart(Region):
    """The initial time of a window as a region."""

    axis: int
    level: float

    is_window_start = True

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        assert box is not None  # a window is always a box
        d = len(box)
        space_axes = [i for i in range(d) if i != self.axis]
        if not space_axes:
            return PointSet.inside(np.array([[self.level]]))
        U = CLOSED_RULES[points.boundary_rule or points.rule](points.initial, d - 1, rng)
        X = np.full((len(U), d), self.level)
        X[:, space_axes] = box[space_axes, 0] * (1.0 - U) + box[space_axes, 1] * U
        return PointSet.inside(X[np.asarray(domain.contains(X), dtype=bool)])

    def allows_time_stepping(self, domain: Domain) -> bool:
        return True

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return f"at the start of the window, {coordinates[self.axis]} = {self.level:g}"


def continuation_conditions(
    space: Space, w: Array, evolution: Evolution, t: float, dimension: int
) -> tuple[Residual, ...]:
    """Return initial conditions ∂_t^j u(x, t) = ∂_t^j ũ(x, t), j below the order, with ũ = (space, w)."""
    out = []
    region = WindowStart(evolution.axis, t)
    for k, order in enumerate(evolution.orders):
        for j in range(order):
            alpha = tuple(j if i == evolution.axis else 0 for i in range(dimension))
            derivative = PartialDerivative(k, alpha)
            out.append(
                Residual(
                    f"the start of unknown {k + 1}, derivative {j}",
                    region,
                    (derivative,),
                    (),
                    (),
                    lambda *_: [1.0],
                    _negated_values(space, w, derivative, dimension),
                    lambda *_: [],
                )
            )
    return tuple(out)


def _negated_values(
    space: Space, w: Array, derivative: PartialDerivative, dimension: int
) -> Callable[..., list[Array]]:
    def rest(*arguments: Array) -> list[Array]:
        X = np.stack(arguments[:dimension], axis=1)
        return [-space.values((X,), (derivative,), w)[0]]

    return rest


def with_initial_conditions(
    compiled: CompiledProblem, evolution: Evolution, initial: tuple[Residual, ...]
) -> CompiledProblem:
    """Return the problem with other initial conditions."""
    kept = tuple(r for i, r in enumerate(compiled.residuals) if i not in evolution.initial_conditions)
    return replace(compiled, residuals=(*kept, *initial))
