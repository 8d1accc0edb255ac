"""Outcome of a solve: an enumeration whose values are the sentences shown to the user."""

from __future__ import annotations

import warnings
from enum import Enum, EnumType
from typing import TYPE_CHECKING, Any

_RENAMED = {
    "FLOOR": "ROUNDING_LIMIT",
    "ROUGH": "INCOMPATIBLE_DATA",
    "SLOW": "SLOW_CONVERGENCE",
    "STOPPED": "INCOMPLETE",
}
"""Names of version 0.2 and their replacements."""
AS_ESTIMATED = "The solution returned is accurate to the estimated error."
"""Sentence in those statuses that still come with an error estimate."""


class _StatusType(EnumType):
    """Enumeration type that accepts the names of version 0.2, with a DeprecationWarning."""

    if not TYPE_CHECKING:  # a type checker reports the old names, and misspelt ones, as errors

        def __getattr__(cls, name: str) -> Any:
            if name in _RENAMED:
                _warn(name)
                return cls._member_map_[_RENAMED[name]]
            inherited = getattr(EnumType, "__getattr__", None)  # of Python 3.11, which looks up members there
            if inherited is not None:
                return inherited(cls, name)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")

        def __getitem__(cls, name: str) -> Any:
            if name in _RENAMED:
                _warn(name)
                name = _RENAMED[name]
            return super().__getitem__(name)


def _warn(name: str) -> None:
    warnings.warn(
        f"Status.{name} was renamed to Status.{_RENAMED[name]}; the old name will be removed in the next "
        "release.",
        DeprecationWarning,
        stacklevel=3,
    )


class Status(Enum, metaclass=_StatusType):
    """Outcome of a solve. The value is a sentence: cause, what is known, what to do.

    >>> Status.TOLERANCE.value
    'The estimated error is below the tolerance.'
    """

    TOLERANCE = "The estimated error is below the tolerance."
    SOLVED = "The system was solved as given, and the equations hold at points that were not fitted."
    ROUNDING_LIMIT = f"The error is limited by rounding; a larger tol would be met. {AS_ESTIMATED}"
    NODE_LIMIT = (
        "The node limit was reached before the tolerance. "
        f"{AS_ESTIMATED} Raise max_nodes, or accept a larger tol."
    )
    SLOW_CONVERGENCE = (
        "The error decreases too slowly to reach the tolerance within max_nodes. "
        f"{AS_ESTIMATED} Raise tol or max_nodes."
    )
    TIME_LIMIT = (
        "The time limit was reached before the tolerance. "
        f"{AS_ESTIMATED} Raise time_limit, or accept a larger tol."
    )
    MEMORY_LIMIT = (
        "The next refinement needs more memory than this process, or its workers, may use. "
        f"{AS_ESTIMATED} Provide more memory, use more or larger workers, or raise tol."
    )
    INCOMPATIBLE_DATA = (
        "Initial and boundary data are incompatible at t₀; the error is large near t₀ and is reported by "
        "error.over_time(). It decreases with time where the equation smooths; discontinuities of "
        "derivatives that propagate are carried along. Use the solution at times with a sufficiently small "
        "error, or change the data."
    )
    INCOMPLETE = (
        "The solution was computed only for a part of the time interval; it may blow up or the equation may "
        "become singular where it ends. It is accurate to the estimated error until then, and NaN "
        "afterwards. End the time interval earlier, or check the equation there."
    )
    DISCONTINUOUS_DATA = (
        "A Python function in the data is discontinuous at places that could not be located, so there is no "
        "error estimate. Give them with pibls.known(f, t, breaks={t: […]}), or write the function as a "
        "Piecewise."
    )
    INTERRUPTED = (
        "Interrupted before the tolerance was reached. The best solution found until then is returned."
    )
    UNRESOLVED = (
        "The system was solved at the fitted points, but the equations do not hold between them. "
        "Give the basis more nodes or another scale, or use more points."
    )
    UNDETERMINED = (
        "The problem appears to be under-determined: two different functions satisfy the equations and all "
        "conditions to rounding error. Check for a missing condition, such as a value where only derivatives "
        "are given, and for an eigenvalue of the operator."
    )
    UNSTABLE = (
        "The problem is unstable (ill-posed): perturbations of the data are amplified without bound as their "
        "wavelength decreases, so no accuracy of the data bounds the error. Give conditions on the other "
        "parts of the boundary or at the other end of the time interval, or fit measured values with "
        "pibls.fit."
    )
    NO_SOLUTION = (
        "No solution was found: the residual remains large for every size of the basis. Equations and "
        "conditions may contradict each other, or the solution is too irregular or too steep to be "
        "resolved. Check the conditions, or start with an easier problem."
    )
    STALLED = (
        "The nonlinear solver stopped while the residual was still large. There may be no solution near the "
        "initial guess. Give another guess or seed, or continue from the solution of an easier problem."
    )
    STEP_LIMIT = (
        "The nonlinear solver reached its step limit before it converged. Raise max_steps of the method."
    )

    @property
    def final(self) -> bool:
        """Whether no other strategy would change this outcome."""
        return self in (
            Status.TOLERANCE,
            Status.UNDETERMINED,
            Status.NO_SOLUTION,
            Status.INCOMPLETE,
            Status.DISCONTINUOUS_DATA,
            Status.INCOMPATIBLE_DATA,
            Status.TIME_LIMIT,
        )

    @property
    def converged(self) -> bool:
        """Whether the solution meets the tolerance, or solves the system that was given."""
        return self in (Status.TOLERANCE, Status.SOLVED)


def current_name(name: str) -> str:
    """Return the present name of a status, for names in files of version 0.2 as well.

    >>> current_name("FLOOR"), current_name("SOLVED")
    ('ROUNDING_LIMIT', 'SOLVED')
    """
    return _RENAMED.get(name, name)
