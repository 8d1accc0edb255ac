"""Outcomes that explain themselves: the value of each member is the sentence to show."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended: what happened, and what can be done about it."""

    TOLERANCE = "The estimated error is below the tolerance."
    SOLVED = "The system was solved as given, and the equations hold on points that were not fitted."
    FLOOR = (
        "The rounding floor was reached: in double precision no smaller error is to be had. "
        "The estimate says where it lies; a larger tol would be met."
    )
    NODE_LIMIT = (
        "The node limit was reached before the tolerance: raise max_nodes, or "
        "take what there is for as good as its estimated error says."
    )
    SLOW = (
        "Digits come too slowly: even at max_nodes the tolerance was not to be expected, and wider attempts "
        "were not made. Raise tol, or take what there is for as good as its estimated error says."
    )
    TIME_LIMIT = (
        "The time limit leaves no room for the next, wider attempt: raise time_limit, or "
        "take what there is for as good as its estimated error says."
    )
    MEMORY_LIMIT = (
        "The next, finer attempt needs more memory than this process, or its workers, may use: give it more, "
        "take more workers or larger ones, or raise tol. The solution returned is accurate to the estimated "
        "error."
    )
    ROUGH = (
        "The data contradict each other at the start, where no function is close to them: the error is large "
        "there, and falls with time where the equation smooths; kinks that travel are carried along. "
        "error.over_time() says how far to trust it when."
    )
    STOPPED = "The solution was computed from its start, but not to the end of its time. It holds until then."
    DISCONTINUOUS_DATA = (
        "A Python function among the data jumps at places that could not be located, so that no estimate of "
        "the error holds: name them with pibls.known(f, t, breaks={t: […]}), or write it as a Piecewise."
    )
    INTERRUPTED = "Interrupted: this is the best that was found until then."
    UNRESOLVED = (
        "The system was solved at the fitted points, but the equations do not hold between them: "
        "give the basis more nodes or another scale, or use more points."
    )
    UNDETERMINED = (
        "The problem looks under-determined: two different functions satisfy the equations and all "
        "conditions as far as rounding can tell. Look for a missing condition, such as a value where "
        "only derivatives are given, or for an eigenvalue of the operator."
    )
    UNSTABLE = (
        "The problem is unstable: ripples in its data grow the faster the finer they are, so that no "
        "accuracy of the data bounds the error. Give conditions on the other sides too, or "
        "at the other end of time; or look for the solution that fits measured values, with pibls.fit."
    )
    NO_SOLUTION = (
        "No solution found: the residual stays large however wide the basis becomes. Equations and "
        "conditions may contradict each other, or the solution is too rough or too steep to resolve."
    )
    STALLED = (
        "The nonlinear solver stopped while the residual was still large: the problem may have no "
        "solution near the start. Try another seed, or continue from an easier problem."
    )
    STEP_LIMIT = (
        "The nonlinear solver reached its step limit before it settled: raise max_steps of the method."
    )

    @property
    def final(self) -> bool:
        """Whether no other way of solving would change this outcome."""
        return self in (
            Status.TOLERANCE,
            Status.UNDETERMINED,
            Status.NO_SOLUTION,
            Status.STOPPED,
            Status.DISCONTINUOUS_DATA,
            Status.ROUGH,
            Status.TIME_LIMIT,
        )

    @property
    def converged(self) -> bool:
        """Whether this outcome is a solution as good as was asked for."""
        return self in (Status.TOLERANCE, Status.SOLVED)
