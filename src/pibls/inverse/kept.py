"""θ ↦ u(θ), ∂u/∂θ with what one search has found: the windows of an orbit, or any space.

Where a source kicks the solution between two windows, and of products along the axes of a box, nothing is
kept; of materials, the spaces of their pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pibls.adaptive.evolution import evolution_of, jumps_in_time
from pibls.arrays import Array
from pibls.inverse.followed import MovingOrbit
from pibls.inverse.held import Held, can_hold
from pibls.inverse.resolve import Anew, Solved
from pibls.problem import Jet, Problem
from pibls.problem.forms.lowering import lower
from pibls.problem.interfaces.materials import materials_of
from pibls.solution import Solution


class Kept(Protocol):
    """What stays while parameters move. A chain is its own form of a solution at one value of them."""

    @property
    def small(self) -> bool:
        """Whether it may be kept for the next fit."""

    def at(self, problem: Problem, past: Any, step: Array) -> Any:
        """The chain at other parameters; raises `LostError` where it is not to be had."""

    def values(self, chain: Any, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α u at points, (jets, n)."""

    def derivatives(self, chain: Any, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α ∂u/∂θ at points, (parameters, jets, n)."""


def kept(solution: Solution, moving: Sequence[int], settings: dict[str, Any]) -> tuple[Kept, Any]:
    """What serves for this solution, and the chain at its parameters."""
    lowered = lower(solution.problem)
    evolution = evolution_of(lowered, solution.problem.domain)
    windows = bool(solution.windows)  # cells of space and time know of jumps at their faces
    if windows and evolution is not None and jumps_in_time(lowered, evolution):
        return Anew(tuple(moving), lowered.interfaces.planes, settings), Solved(solution)
    if materials_of(solution.problem) is not None:
        return Anew(tuple(moving), lowered.interfaces.planes, settings, solution), Solved(solution)
    followed = MovingOrbit.of(solution, moving)
    if followed is not None:
        return followed
    if not can_hold(solution.space):  # products along the axes of a box
        return Anew(tuple(moving), lowered.interfaces.planes, settings), Solved(solution)
    held = Held.of(solution, moving)
    return held, held.begin(solution)
