r"""Continuation in the highest derivatives, for nonlinear problems in which Newton's method stalls.

The problem with its highest derivatives multiplied by M (`scaled_derivatives`) is solved for the first of
M = 1, 10, 10², 10⁴, … for which Newton's method converges, and then down to M = 1, each time from the last
solution on the mesh that resolves it. With interior layers no coarse mesh has a solution near that of the
equation: ε u'' + u u' = u with u(0) = -7/6, u(1) = 3/2 stalls for ε ≤ 0.005 from any
constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pibls.adaptive.budget import Budget
from pibls.adaptive.initial_guess.scaled_derivatives import with_scaled_highest_derivatives
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.validation.context import ValidationCache, ValidationContext
from pibls.nonlinear.continuation import follow
from pibls.status import Status

_STAGE_TOLERANCE = 1e-3  # error indicator, relative to max|u|, up to which a stage is resolved
_FACTORS = (1.0, 1e1, 1e2, 1e4, 1e8, 1e16)  # Troesch's problem with λ = 15 needs 1e4, with λ = 20 1e8
_MAX_RATIO = 0.3  # of residuals on successive meshes: above it, the mesh is not what limits the residual
Build = Callable[[ValidationContext, Budget], "Strategy | None"]


def continued_strategy(context: ValidationContext, budget: Budget, build: Build) -> Strategy | None:
    """Return a strategy that starts from the solution found by continuation; None if there is none.

    ``build`` creates the strategy for the first of the more viscous problems.
    """
    own_budget = Budget(budget.began, budget.time_limit, budget.max_nodes)

    def context_at(factor: float) -> ValidationContext:
        return replace(
            context,
            compiled=with_scaled_highest_derivatives(context.compiled, factor),
            tol=max(context.tol, _STAGE_TOLERANCE),
            coefficients_cache={},
            rounding_shifts=[],
            cache=ValidationCache(),
        )

    for factor in _FACTORS:
        first = _solved(build(context_at(factor), own_budget))
        if first is not None:
            break
    else:
        return None

    def solve(s: float, before: Strategy) -> Strategy | None:
        return _solved(before.for_nearby_problem(context_at(factor ** (1.0 - s)), own_budget))

    reached, last = follow(solve, first) if factor > 1.0 else (1.0, first)
    return last.for_nearby_problem(context, budget) if reached == 1.0 else None


def _solved(strategy: Strategy | None) -> Strategy | None:
    """Return the strategy once its solution is resolved; None if Newton's method fails."""
    while strategy is not None and not strategy.has_ended:
        strategy.advance()
        if not strategy.recent or _fails(strategy):
            return None
        if strategy.indicator <= _STAGE_TOLERANCE:
            return strategy
    return None


def _fails(strategy: Strategy) -> bool:
    """Whether Newton's method stalls for another reason than the resolution of the mesh."""
    now = strategy.recent[-1]
    if now.outcome.status is Status.SOLVED or now.relative_residual <= _STAGE_TOLERANCE:
        return False
    history = strategy.residual_history
    is_unresolved = now.relative_residual > strategy.context.thresholds.unresolved_residual
    return is_unresolved or (len(history) > 1 and history[-1] > _MAX_RATIO * history[-2])
