"""Scheduler of strategies: the one expected to reach the tolerance first is advanced next.

The scheduler creates the strategies that apply to a problem, adds further ones (for corners, holes,
subdivision) when they are needed, keeps the best candidate, and decides the final status.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pibls.adaptive.box_detection import box_problem_of
from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.strategy import CostEstimate, Strategy
from pibls.adaptive.thresholds import SCHEDULER, TENSOR_PRODUCTS
from pibls.adaptive.validation.agreement import are_same_function
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate
from pibls.analysis.holes.enrichment import HoleEnrichment
from pibls.assembly.points import Points
from pibls.errors import ProblemError
from pibls.linalg.tree.engine import EngineLostError
from pibls.nonlinear import GaussNewton, Method
from pibls.runtime.deadline import deadline
from pibls.runtime.interruption import clear_pending_interrupt, raise_pending_interrupt
from pibls.spaces import Space
from pibls.status import Status

_Estimate = tuple[Strategy, CostEstimate]
"""A strategy with the predicted cost of its next candidate."""


@dataclass
class StrategyScheduler:
    """State of an automatic solve: the strategies, and the best candidate found so far."""

    context: ValidationContext
    budget: Budget
    points: Points | None = None
    method: Method | None = None
    guess: Space | None = None
    weak_enrichment: Callable[[], Enrichment] | None = None
    """Functions of weak corners and holes, tried if no strategy is about to reach the tolerance."""
    hole_context: Callable[[], ValidationContext | None] | None = None
    """The problem with functions around the holes of its domain, tried at the same time."""
    undivided_context: ValidationContext | None = None
    """The problem without subdomains, if they are optional: kinks may be below the tolerance."""
    allows_subdivision: bool = True
    """Whether the domain and the time interval may be subdivided."""
    strategies: list[Strategy] = field(default_factory=list)
    status: Status = Status.NODE_LIMIT
    accepted: Strategy | None = None
    primary: Strategy | None = None
    """Strategy that usually suffices: those that subdivide the domain, which are slow to import, are
    created only when it does not."""
    weak_corner_strategy: Strategy | None = None
    _local_minima: list[Candidate] = field(default_factory=list)
    """Results of Newton's method with a large residual everywhere."""
    engine_failure: str = ""
    """Reason for which the engine was lost, if it was."""

    def _create_strategies(self) -> None:
        """Create the strategies for the problem."""
        if self.context.subdomains is not None:
            self.strategies = self._subdomain_strategies()
            return
        self.strategies = self._feature_strategies()
        if not self.allows_subdivision or self._is_restricted:
            return
        ode_strategies = self._ode_strategies()
        faces, is_evolution = self.context.compiled.interfaces, self.context.evolution is not None
        is_smooth = not self.context.enrichment.is_essential and not faces.planes
        if is_smooth and (ode_strategies or not is_evolution):
            self.primary = ode_strategies[0] if ode_strategies else self.strategies[0]
            self.strategies += ode_strategies
            return
        subdividing = ode_strategies + self._subdivision_strategies()
        # The solution is not smooth across a jump: only discretizations with faces there converge.
        if faces.planes and subdividing and (faces.in_equations or is_evolution):
            self.strategies, self.weak_enrichment, self.hole_context = subdividing, None, None
        else:
            self.strategies += subdividing

    @property
    def _is_restricted(self) -> bool:
        """Whether points or a method were given, which only random features support."""
        return self.points is not None or self.method is not None

    def _subdomain_strategies(self) -> list[Strategy]:
        """Return the strategies on subdomains, and for optional ones those that do without them."""
        # Corner functions cost little compared with all subdomains, and no other strategy supports those.
        enrichment = replace(self.context.enrichment, hole_functions=HoleEnrichment())
        on_subdomains = self._random_feature_strategy(self.context, enrichment)
        if self.undivided_context is None or self._is_restricted:
            return [on_subdomains]
        return [on_subdomains, *self._time_window_strategies(self.undivided_context)]

    def _feature_strategies(self) -> list[Strategy]:
        """Return the strategies with random features on the whole domain."""
        enrichment = self.context.enrichment
        if not enrichment.is_essential:
            return [self._random_feature_strategy(self.context)]
        enriched = self._random_feature_strategy(self.context, enrichment)
        # At corners of systems random features alone gain nothing.
        if enrichment.vector_functions:
            return [enriched]
        return [self._random_feature_strategy(self.context), enriched]

    def _needs_alternatives(self, first: Strategy) -> bool:
        """Whether the first strategy ends, stagnates, or is slow enough that others may be faster."""
        estimate = first.estimate_cost()
        return (
            estimate is None
            or first.is_stagnating
            or estimate.remaining >= min(TENSOR_PRODUCTS.typical_work.values())
        )

    def _ode_strategies(self) -> list[Strategy]:
        """Return the strategy for ordinary differential equations, if it applies."""
        if self.context.evolution is None or self.context.compiled.dimension > 1:
            return []
        from pibls.adaptive.evolutions.ode_strategy import ODEStrategy

        strategy = ODEStrategy(self.context, self.budget)
        return [] if strategy.estimate_cost() is None else [strategy]

    def _subdivision_strategies(self) -> list[Strategy]:
        """Return the strategies that subdivide the domain or the time interval."""
        from pibls.adaptive.cells.strategy import CellStrategy

        subdividing_strategies = [
            *self._time_window_strategies(self.context),
            *self._tensor_product_strategies(),
            CellStrategy(self.context, self.budget, guess=self.guess),
        ]
        return [strategy for strategy in subdividing_strategies if strategy.estimate_cost() is not None]

    def _tensor_product_strategies(self) -> list[Strategy]:
        """Return the tensor-product strategy on boxes; its import takes half a second."""
        if box_problem_of(self.context) is None:
            return []
        from pibls.adaptive.tensor_products.strategy import TensorProductStrategy

        return [TensorProductStrategy(self.context, self.budget, guess=self.guess)]

    def _time_window_strategies(self, context: ValidationContext) -> list[Strategy]:
        """Return the strategies that integrate an evolution in time windows; their import is slow."""
        if context.evolution is None:
            return []
        from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
        from pibls.time.discretizations import CollocationInSpace, GalerkinInSpace

        return [
            TimeWindowStrategy(context, self.budget, discretization=CollocationInSpace()),
            TimeWindowStrategy(context, self.budget, discretization=GalerkinInSpace()),
        ]

    def _random_feature_strategy(
        self, context: ValidationContext, enrichment: Enrichment | None = None
    ) -> RandomFeatureStrategy:
        more: dict[str, Any] = {} if enrichment is None else {"enrichment": enrichment, "stagnation_count": 1}
        return RandomFeatureStrategy(
            context, self.budget, points=self.points, method=self.method, guess=self.guess, **more
        )

    def run(self) -> None:
        """Run the strategies; an interruption ends with the best candidate so far, if there is one."""
        try:
            more = self.strategies
            self._create_strategies()
            self.strategies += more
            if self._has_unlocated_jumps:
                self.status = Status.DISCONTINUOUS_DATA
            else:
                self._run_strategies()
            raise_pending_interrupt()
        except KeyboardInterrupt:
            if self.found is None:
                raise
            clear_pending_interrupt()
            self.status = Status.INTERRUPTED
        except OutOfTimeError:
            self.status = Status.TIME_LIMIT
            with deadline(None):
                for strategy in self.strategies:
                    strategy.finalize_from_history()
        except MemoryError:
            if self.found is None:
                raise
            self.status = Status.MEMORY_LIMIT
        except EngineLostError as reason:
            if self.found is None:
                raise
            self.status, self.engine_failure = Status.INTERRUPTED, str(reason)
        if self.found is None:
            # Fallback with few random features: there is always a result, with its residuals.
            fallback_nodes = min(
                SCHEDULER.fallback_nodes * self.context.compiled.unknowns, self.budget.max_nodes
            )
            fallback_budget = replace(self.budget, time_limit=None, max_nodes=fallback_nodes)
            newton = GaussNewton(rounds=0, continuation=0, max_steps=SCHEDULER.fallback_steps)
            fallback = RandomFeatureStrategy(self.context, fallback_budget, newton=newton)
            min_nodes = fallback.min_nodes
            if min_nodes > self.budget.max_nodes:
                raise ProblemError(
                    "max_nodes",
                    expected=f"at least {min_nodes} for this problem",
                    got=self.budget.max_nodes,
                    remedy="The problem needs at least one basis function of each kind: raise max_nodes.",
                )
            fallback_budget.max_nodes = max(fallback_nodes, min_nodes)
            with deadline(None):
                fallback.advance()
            self.strategies.append(fallback)

    @property
    def _has_unlocated_jumps(self) -> bool:
        """Whether a Python function jumps at unknown places; two solutions may agree nevertheless."""
        return self.context.compiled.interfaces.unlocated > self.context.tol

    def _run_strategies(self) -> None:
        """Advance one strategy after the other until one is accepted or none is worth its cost."""
        while True:
            if self.primary is not None and self._needs_alternatives(self.primary):
                self.primary = None
                self.strategies += self._subdivision_strategies()
            estimates = [
                (strategy, estimate)
                for strategy in self.strategies
                if (estimate := strategy.estimate_cost()) is not None
            ]
            if self._add_delayed_strategy(estimates):
                continue
            if not estimates or self._is_exhausted(estimates):
                self._set_final_status()
                return
            chosen = self._choose(estimates)
            if chosen is None:
                return
            strategy, estimate = chosen
            self._report_expected_time(strategy, estimate)
            strategy.warm_start(self.found)
            self._advance(strategy)
            if self._is_final(strategy):
                return

    def _add_delayed_strategy(self, estimates: list[_Estimate]) -> bool:
        """Add the functions of weak corners, then those of holes, if no strategy is about to succeed."""
        if any(not estimate.remaining > SCHEDULER.corner_delay for _, estimate in estimates):
            return False
        if self.weak_enrichment is not None:
            self._add_corner_strategy(self.weak_enrichment())
            return True
        if self.hole_context is not None:
            self._add_hole_strategy(self.hole_context())
            return True
        return False

    def _choose(self, estimates: list[_Estimate]) -> _Estimate | None:
        """Return the strategy to be advanced next; None if there is none, with the status set."""
        is_first = self.found is None
        affordable = [(p, o) for p, o in estimates if is_first or p.fits_budget(o.work)]
        # On subdomains no other strategy applies: continue up to the limits.
        alone = self.context.subdomains is not None
        promising = [pair for pair in affordable if alone or math.isfinite(pair[1].remaining)]
        if not promising and len(affordable) < len(estimates):
            self.status = Status.TIME_LIMIT
            self._finalize_best()
            # With a fallback available, start candidates that may exceed the limit; they are aborted
            # at the deadline.
            affordable = promising = [
                (p, o) for p, o in estimates if o.remaining < math.inf and p.may_fit_budget(o.work)
            ]
            if self.accepted is not None or not affordable:
                return None
        strategy, estimate = _most_efficient(affordable)
        if not promising and estimate.work > 0.5 * self.budget.work_done:
            # An expensive candidate that is not expected to help is computed only close to the tolerance.
            self._finalize_best()
            if self.accepted is not None or self.best is not strategy or not strategy.is_near_tolerance:
                self._set_final_status()
                return None
        return strategy, estimate

    def _report_expected_time(self, strategy: Strategy, estimate: CostEstimate) -> None:
        """Report the expected time of the next candidate, if it is long."""
        expected = self.budget.seconds_per_work(strategy) * estimate.work
        now = self.found
        if now is not None and expected > max(self.budget.spent, SCHEDULER.report_interval):
            self.budget.report(
                Progress(now.space.nodes, now.relative_residual, None, self.budget.spent, expected=expected)
            )

    def _is_final(self, strategy: Strategy) -> bool:
        """Whether the search ends with the last candidate of a strategy, with the status set."""
        if self._repeats_local_minimum(strategy):
            self.status, self.accepted = Status.NO_SOLUTION, strategy
            return True
        if strategy.status is None:
            return False
        at_rounding_limit = self._is_at_rounding_limit(strategy)
        if at_rounding_limit and strategy.is_conclusive and self.hole_context is not None:
            before = len(self.strategies)
            self._add_hole_strategy(self.hole_context())
            if len(self.strategies) > before:
                return False
        # For propagating discontinuities below the resolution, accept the time-stepping result.
        is_incompatible = (
            strategy.context is self.undivided_context and strategy.status is Status.INCOMPATIBLE_DATA
        )
        if is_incompatible or not (strategy.status.final or at_rounding_limit):
            return False
        self.status, self.accepted = strategy.status, strategy
        return True

    def _is_at_rounding_limit(self, strategy: Strategy) -> bool:
        """Whether a strategy ended at the rounding limit, with an error that no other is likely to reduce."""
        if strategy.status is not Status.ROUNDING_LIMIT:
            return False
        limit = math.inf if strategy.is_conclusive else self.context.thresholds.rounding_residual
        return strategy.relative_error(_best_of(strategy), strategy.error) < limit

    def _advance(self, strategy: Strategy) -> None:
        """Compute the next candidate of a strategy; if memory does not suffice, the strategy ends."""
        try:
            strategy.advance()
        except MemoryError:
            strategy.status = Status.MEMORY_LIMIT
            with suppress(MemoryError):
                strategy.finalize_from_history()

    def _repeats_local_minimum(self, strategy: Strategy) -> bool:
        """Whether Newton's method ended at the same local minimum of the residual in three spaces.

        A minimum whose position and value do not change when functions are added is a property of the
        equations; an unresolved one changes, or has a large residual in a few places only.
        """
        context = self.context
        alone = context.evolution is not None or context.subdomains is not None
        if context.compiled.is_linear or alone or not strategy.recent:
            return False
        now = strategy.recent[-1]
        if (
            now.outcome.status is not Status.STALLED
            or not now.relative_residual > context.thresholds.min_contradiction_residual
        ):
            return False
        worst = max(now.residuals.values(), key=lambda n: n.relative)
        if worst.rms < 0.1 * worst.max or any(now is other for other in self._local_minima):
            return False
        matching = [
            other
            for other in self._local_minima
            if are_same_function(now, other, context.thresholds.max_unchanged)
        ]
        self._local_minima.append(now)
        return len({a.space.columns for a in (now, *matching)}) >= SCHEDULER.repeated_minima

    def _is_exhausted(self, estimates: list[_Estimate]) -> bool:
        """Whether all remaining strategies fail, and are not expected to find another function."""
        if self.context.compiled.is_linear or self.context.evolution is not None:
            return False
        hopeless = all(math.isinf(estimate.remaining) for _, estimate in estimates)
        all_fail = all(strategy.newton_fails for strategy, _ in estimates)
        return all_fail and (hopeless or any(strategy.repeats_same_function for strategy, _ in estimates))

    def _add_hole_strategy(self, context: ValidationContext | None) -> None:
        """Add a strategy with functions around holes."""
        self.hole_context = None
        if context is not None:
            self.strategies.append(
                self._random_feature_strategy(
                    context, replace(context.enrichment, hole_functions=HoleEnrichment())
                )
            )

    def _add_corner_strategy(self, enrichment: Enrichment) -> None:
        """Add a strategy with functions of weak corners and holes."""
        self.weak_enrichment = None
        if enrichment:
            self.weak_corner_strategy = self._random_feature_strategy(
                self.context.with_enrichment(enrichment), enrichment
            )
            self.strategies.append(self.weak_corner_strategy)

    def _finalize_best(self) -> None:
        """Compare the best candidate with a companion solution, if it has no estimate yet."""
        with_candidate = [strategy for strategy in self.strategies if strategy.best is not None]
        if self.accepted is not None or not with_candidate:
            return
        # The strategy with the smallest residual is finalized too: it may have no estimate yet.
        best, closest = self.best, min(with_candidate, key=lambda p: _best_of(p).relative_residual)
        for strategy in (closest, best):
            if strategy is None or strategy.status is not None:
                continue
            strategy.finalize()
            # NO_SOLUTION is accepted only from the strategy that was best before.
            if (
                strategy.status is not None
                and strategy.status.final
                and (strategy is best or strategy.status.converged)
            ):
                self.status, self.accepted = strategy.status, strategy
                return

    def _set_final_status(self) -> None:
        """Determine the status when all strategies have ended."""
        self._finalize_best()
        if self.accepted is None:
            self.status = self._unaccepted_status()

    def _unaccepted_status(self) -> Status:
        """Return the status if no candidate is accepted."""
        found, best = self.found, self.best
        if best is not None and best.status is Status.INCOMPATIBLE_DATA:
            return Status.INCOMPATIBLE_DATA
        final_statuses = {strategy.status for strategy in self.strategies}
        for status in (Status.INCOMPLETE, Status.MEMORY_LIMIT, Status.ROUNDING_LIMIT, Status.NO_SOLUTION):
            if status in final_statuses:
                return status
        if self._is_contradictory(found):
            return Status.NO_SOLUTION
        if found is not None and found.outcome.status is Status.STALLED:
            return Status.STALLED
        at_limit = best is None or best.estimate_cost() is None
        return Status.NODE_LIMIT if at_limit else Status.SLOW_CONVERGENCE

    def _is_contradictory(self, found: Candidate | None) -> bool:
        """Whether all strategies stagnate at a large residual of a linear problem."""
        if self.context.subdomains is not None or not self.context.compiled.is_linear:
            return False
        if found is not None and not found.relative_residual > self.context.thresholds.unresolved_residual:
            return False
        # Functions of weak corners do not resolve a contradiction: their strategy is not counted.
        counted = [strategy for strategy in self.strategies if strategy is not self.weak_corner_strategy]
        return all(strategy.is_stagnating for strategy in counted)

    @property
    def best(self) -> Strategy | None:
        """The strategy with the smallest estimated error, then the smallest residual."""
        if self.accepted is not None:
            return self.accepted
        with_candidate = [strategy for strategy in self.strategies if strategy.best is not None]
        if not with_candidate:
            return None
        return min(with_candidate, key=self._rank)

    def _rank(self, strategy: Strategy) -> tuple[float, float]:
        found = _best_of(strategy)
        return strategy.relative_error(found, strategy.error), found.relative_residual

    @property
    def found(self) -> Candidate | None:
        best = self.best
        return None if best is None else best.best

    @property
    def error(self) -> ErrorEstimate:
        """The error estimate; none if the equations do not hold, because a comparison then bounds nothing."""
        best = self.best
        if best is None or best.best is None:
            return UNCHECKED
        if (
            self.status in (Status.UNDETERMINED, Status.NO_SOLUTION, Status.DISCONTINUOUS_DATA)
            or best.best.relative_residual > self.context.thresholds.max_solution_residual
        ):
            return UNCHECKED
        return best.error


def _most_efficient(estimates: list[_Estimate]) -> _Estimate:
    """Return the strategy with the least remaining work, or a cheap one that is improving.

    Random features converge slowly until they resolve an oscillation, and then fast.
    """
    first = min(estimates, key=lambda pair: pair[1].remaining)
    cheap = [
        (strategy, estimate)
        for strategy, estimate in estimates
        if estimate.work < SCHEDULER.cheap_fraction * first[1].remaining and strategy.is_improving
    ]
    return min(cheap, key=lambda pair: pair[1].work, default=first)


def _best_of(strategy: Strategy) -> Candidate:
    assert strategy.best is not None
    return strategy.best
