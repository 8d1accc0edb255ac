"""Scheduler: follows the strategies of the table from top to bottom and decides the final status.

A strategy is followed until it meets the tolerance, ends, or costs more than the next one in the table. If no
strategy meets the tolerance, those that still gain are followed again, the most accurate first.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.strategies import TABLE, Row, Setup
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import SCHEDULER
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate
from pibls.adaptive.validation.local_minima import LocalMinima
from pibls.errors import ProblemError
from pibls.linalg.tree.engine import EngineLostError
from pibls.nonlinear import GaussNewton
from pibls.runtime.deadline import deadline
from pibls.runtime.interruption import clear_pending_interrupt, raise_pending_interrupt
from pibls.status import Status

_ENDED_WITHOUT_SOLUTION = (
    Status.TIME_LIMIT,
    Status.INCOMPLETE,
    Status.MEMORY_LIMIT,
    Status.ROUNDING_LIMIT,
    Status.NO_SOLUTION,
)
"""Statuses of strategies that become that of the solve if none is accepted, the first that occurs."""
_MAX_OTHER_RESIDUAL = 0.5
"""Relative to a local minimum: with a smaller residual in another basis it is no minimum of the equations."""


@dataclass
class StrategyScheduler:
    """State of an automatic solve: the strategies so far, and the one that was accepted."""

    setup: Setup
    table: tuple[Row, ...] = TABLE
    strategies: list[Strategy] = field(default_factory=list)
    status: Status = Status.NODE_LIMIT
    accepted: Strategy | None = None
    engine_failure: str = ""
    """Reason for which the engine was lost, if it was."""
    _local_minima: LocalMinima = field(default_factory=LocalMinima)
    _minimum: Strategy | None = None
    """Strategy that ended at one of them repeatedly."""
    _known: dict[int, bool] = field(default_factory=dict)
    """Whether a row of the table applies, by its index."""
    _is_late: bool = False
    """Whether a candidate was not started because of the time limit."""

    @property
    def context(self) -> ValidationContext:
        return self.setup.context

    def run(self) -> None:
        """Run the strategies; an interruption ends with the best candidate so far, if there is one."""
        try:
            if self._has_unlocated_jumps:
                self.status = Status.DISCONTINUOUS_DATA
            else:
                self._run_table()
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
            self._compute_fallback()

    @property
    def _has_unlocated_jumps(self) -> bool:
        """Whether a Python function jumps at unknown places; two solutions may agree nevertheless."""
        return self.context.compiled.interfaces.unlocated > self.context.tol

    def _compute_fallback(self) -> None:
        """Compute a candidate with few random features: there is always a result, with its residuals."""
        budget = self.setup.budget
        nodes = min(SCHEDULER.fallback_nodes * self.context.compiled.unknowns, budget.max_nodes)
        fallback_budget = replace(budget, time_limit=None, max_nodes=nodes)
        newton = GaussNewton(rounds=0, continuation=0, max_steps=SCHEDULER.fallback_steps)
        fallback = RandomFeatureStrategy(self.context, fallback_budget, newton=newton)
        min_nodes = fallback.min_nodes
        if min_nodes > budget.max_nodes:
            raise ProblemError(
                "max_nodes",
                expected=f"at least {min_nodes} for this problem",
                got=budget.max_nodes,
                remedy="The problem needs at least one basis function of each kind: raise max_nodes.",
            )
        fallback_budget.max_nodes = max(nodes, min_nodes)
        with deadline(None):
            fallback.advance()
        self.strategies.append(fallback)

    # -- the table --

    def _run_table(self) -> None:
        """Follow the strategies that apply, then those that still gain; set the final status."""
        for index, row in enumerate(self.table):
            if (row.after_stall and not self._newton_stalls) or not self._applies(index):
                continue
            strategy = row.build(self.setup)
            if strategy is None:
                continue
            strategy.warm_start(self.found)
            self.strategies.append(strategy)
            if self._follow(strategy, index):
                return
        for strategy in sorted(self.strategies, key=self._rank):
            if self._follow(strategy, len(self.table)):
                return
        self._finalize_best()
        if self.accepted is None and not self._accept_minimum():
            self.status = self._unaccepted_status()

    def _applies(self, index: int) -> bool:
        """Whether a row applies, which is tested once and only if the rows above do not suffice."""
        if index not in self._known:
            self._known[index] = self.table[index].applies(self.setup)
        return self._known[index]

    def _row_below(self, index: int) -> Row | None:
        """The next row that applies, if there is one."""
        below = (i for i in range(index + 1, len(self.table)) if not self.table[i].after_stall)
        return next((self.table[i] for i in below if self._applies(i)), None)

    def _follow(self, strategy: Strategy, index: int) -> bool:
        """Advance a strategy until it ends or yields to the row below; return whether the solve ends."""
        while not strategy.has_ended:
            if strategy.best is not None and not self._is_continued(strategy, index):
                return self.accepted is not None
            self._report_expected_time(strategy)
            self._advance(strategy)
            if self._is_final(strategy, index):
                return True
        return False

    def _is_continued(self, strategy: Strategy, index: int) -> bool:
        """Whether the next candidate of a strategy is worth its cost, and fits into the time limit."""
        below = self._row_below(index)
        alone = self.context.subdomains is not None and below is None
        if not alone and not strategy.is_worthwhile(None if below is None else below.dense_columns):
            return False
        if strategy.fits_budget():
            return True
        self._is_late = True
        self._finalize_best()
        # With a candidate available, one that may exceed the limit is started, and aborted there.
        return self.accepted is None and not strategy.has_ended and strategy.may_fit_budget()

    def _advance(self, strategy: Strategy) -> None:
        """Compute the next candidate of a strategy; if memory does not suffice, the strategy ends."""
        try:
            strategy.advance()
        except MemoryError:
            strategy.status = Status.MEMORY_LIMIT
            with suppress(MemoryError):
                strategy.finalize_from_history()

    def _report_expected_time(self, strategy: Strategy) -> None:
        """Report the expected time of the next candidate, if it is long."""
        budget, expected, now = self.setup.budget, strategy.expected_seconds, self.found
        if now is not None and expected > max(budget.spent, SCHEDULER.report_interval):
            budget.report(
                Progress(now.space.nodes, now.relative_residual, None, budget.spent, expected=expected)
            )

    # -- the end --

    def _is_final(self, strategy: Strategy, index: int) -> bool:
        """Whether the solve ends with the last candidate of a strategy, with the status set."""
        if self._local_minima.repeats(strategy):
            is_confirmed = self._minimum is not None and type(strategy) is not type(self._minimum)
            strategy.status, self._minimum = Status.STALLED, self._minimum or strategy
            return is_confirmed and self._accept_minimum()
        if strategy.status is None:
            return False
        at_rounding_limit = self._is_at_rounding_limit(strategy)
        # Without essential singular functions, no basis may seem to have a solution.
        is_open = (at_rounding_limit and strategy.is_conclusive) or (
            strategy.status is Status.NO_SOLUTION and self.context.enrichment.is_essential
        )
        below = self._row_below(index) if is_open else None
        if below is not None and below.is_enrichment:
            return False
        # For propagating discontinuities below the resolution, accept the time-stepping result.
        is_incompatible = (
            strategy.context is self.setup.undivided_context and strategy.status is Status.INCOMPATIBLE_DATA
        )
        if is_incompatible or not (strategy.status.final or at_rounding_limit):
            return False
        self.status, self.accepted = strategy.status, strategy
        return True

    @property
    def _newton_stalls(self) -> bool:
        """Whether Newton's method did not converge to the best candidate."""
        return self.found is not None and self.found.outcome.status in (Status.STALLED, Status.STEP_LIMIT)

    def _accept_minimum(self) -> bool:
        """Accept that there is no solution, if a local minimum of the residual was found repeatedly.

        It is not accepted if another basis has a much smaller residual: random features ended three times at
        one minimum for (u u')' = -1 with u = 1 and u = 1/100 at the ends, which has a solution.
        """
        if self._minimum is None:
            return False
        limit = _MAX_OTHER_RESIDUAL * self._minimum.best_residual
        if any(strategy.best_residual < limit for strategy in self.strategies):
            return False
        self.status, self.accepted = Status.NO_SOLUTION, self._minimum
        return True

    def _is_at_rounding_limit(self, strategy: Strategy) -> bool:
        """Whether a strategy ended at the rounding limit, with an error that no other is likely to reduce."""
        if strategy.status is not Status.ROUNDING_LIMIT:
            return False
        limit = math.inf if strategy.is_conclusive else self.context.thresholds.rounding_residual
        return strategy.best_error < limit

    def _finalize_best(self) -> None:
        """Compare the best candidate with a companion solution, if it has no estimate yet."""
        with_candidate = [strategy for strategy in self.strategies if strategy.best is not None]
        if self.accepted is not None or not with_candidate:
            return
        # The strategy with the smallest residual is finalized too: it may have no estimate yet.
        best, closest = self.best, min(with_candidate, key=lambda strategy: strategy.best_residual)
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

    def _unaccepted_status(self) -> Status:
        """Return the status if no candidate is accepted."""
        found, best = self.found, self.best
        if best is not None and best.status is Status.INCOMPATIBLE_DATA:
            return Status.INCOMPATIBLE_DATA
        ended = {strategy.status for strategy in self.strategies}
        if self._is_late:
            ended.add(Status.TIME_LIMIT)
        for status in _ENDED_WITHOUT_SOLUTION:
            if status in ended:
                return status
        if self._is_contradictory(found):
            return Status.NO_SOLUTION
        if found is not None and found.outcome.status is Status.STALLED:
            return Status.STALLED
        at_limit = best is None or best.has_ended
        return Status.NODE_LIMIT if at_limit else Status.SLOW_CONVERGENCE

    def _is_contradictory(self, found: Candidate | None) -> bool:
        """Whether all strategies stagnate at a large residual of a linear problem."""
        if self.context.subdomains is not None or not self.context.compiled.is_linear:
            return False
        if found is not None and not found.relative_residual > self.context.thresholds.unresolved_residual:
            return False
        # Functions of weak corners do not resolve a contradiction: their strategy is not counted.
        return all(
            s.is_stagnating for s in self.strategies if s.context.enrichment is self.context.enrichment
        )

    @property
    def best(self) -> Strategy | None:
        """The strategy with the smallest estimated error, then the smallest residual."""
        if self.accepted is not None:
            return self.accepted
        with_candidate = [strategy for strategy in self.strategies if strategy.best is not None]
        return min(with_candidate, key=self._rank, default=None)

    @staticmethod
    def _rank(strategy: Strategy) -> tuple[float, float]:
        return strategy.best_error, strategy.best_residual

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
            or best.best_residual > self.context.thresholds.max_solution_residual
        ):
            return UNCHECKED
        return best.error
