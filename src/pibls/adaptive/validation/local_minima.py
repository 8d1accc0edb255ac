"""Local minima of the residual at which Newton's method ends in several spaces."""

from __future__ import annotations

from dataclasses import dataclass, field

from pibls.adaptive.candidate import Candidate
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import SCHEDULER
from pibls.adaptive.validation.agreement import are_same_function
from pibls.status import Status


@dataclass
class LocalMinima:
    """Results of Newton's method with a large residual everywhere.

    A minimum whose position and value do not change when functions are added is a property of the equations;
    an unresolved one changes, or has a large residual in a few places only.
    """

    found: list[Candidate] = field(default_factory=list)

    def repeats(self, strategy: Strategy) -> bool:
        """Return whether the last candidate of a strategy is a minimum that was found in other spaces too."""
        context = strategy.context
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
        if worst.rms < 0.1 * worst.max or any(now is other for other in self.found):
            return False
        matching = [
            other for other in self.found if are_same_function(now, other, context.thresholds.max_unchanged)
        ]
        self.found.append(now)
        return len({a.space.columns for a in (now, *matching)}) >= SCHEDULER.repeated_minima
