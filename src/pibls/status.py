"""Outcomes that explain themselves: the value of each member is the sentence to show."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended."""

    SOLVED = "The system was solved, and the equations hold on points that were not fitted."
    UNRESOLVED = (
        "The system was solved at the fitted points, but the equations do not hold between them: "
        "give the basis more nodes or another scale, or use more points."
    )
    STALLED = (
        "The nonlinear solver stopped while the residual was still large: start from more nodes, "
        "another scale or another seed, or check that the problem has a solution."
    )
    STEP_LIMIT = (
        "The nonlinear solver reached its step limit before it settled: raise max_steps of the method."
    )

    @property
    def converged(self) -> bool:
        """Whether this outcome is a solution."""
        return self is Status.SOLVED
