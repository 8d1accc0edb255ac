"""The status of a solution as sentences: possible causes, and what is known of the solution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pibls.analysis.corners.incompatible_conditions import incompatible_conditions
from pibls.analysis.coverage import missing_initial_conditions, overridden_conditions, uncovered_boundary
from pibls.problem import Problem
from pibls.status import AS_ESTIMATED, Status

if TYPE_CHECKING:
    from pibls.solution.notes import Notes
    from pibls.solution.solution import Solution

_MAX_LISTED = 3  # corners, jumps or layers listed in a message
_MAX_CONSISTENT_RESIDUAL = 1e-6  # relative; NO_SOLUTION below it means that the solution is unbounded
_UNBOUNDED_MESSAGE = (
    "No solution: the function with the smallest residual grows without bounds, so the equations and "
    "conditions contradict each other. Examples are a source in a closed box and a load at a resonance."
)
SLOW_STATUSES = (Status.NODE_LIMIT, Status.SLOW_CONVERGENCE, Status.TIME_LIMIT, Status.NO_SOLUTION)
"""Statuses that singularities at corners may cause."""


def explain(solution: Solution, max_residual: float, min_difference: float) -> str:
    """Return the explanation of a solution.

    ``max_residual`` is its largest relative residual, ``min_difference`` the least difference of two
    conditions at a corner that counts as incompatible.
    """
    text = _contradiction(solution.status, solution.notes)
    parts = [_status_text(solution, max_residual), *_causes(solution)] if text is None else [text]
    parts += _findings(solution.status, solution.notes)
    if solution.status in SLOW_STATUSES and (
        corners := incompatible_conditions(solution.problem, min_difference)
    ):
        more = f"; and {len(corners) - _MAX_LISTED} more" if len(corners) > _MAX_LISTED else ""
        named = "; ".join(corners[:_MAX_LISTED])
        parts.append(f"The solution is singular at corners, which slows convergence: {named}{more}.")
    return " ".join(parts)


def _contradiction(status: Status, notes: Notes) -> str | None:
    """Return the contradiction between conditions, which replaces all other causes, or None."""
    if "imbalance" in notes:
        name, sources, through = notes["imbalance"]
        return (
            f"No solution: in {name} the sources add up to {sources:.6g} over the domain, but the "
            f"boundary conditions prescribe a flux of {through:.6g}; the two must be equal. Change one "
            "of them, or prescribe values on a part of the boundary."
        )
    if status is Status.NO_SOLUTION and "told" in notes:
        violated = ", ".join(f"{name} by {miss:.1e}" for name, miss in notes["told"].items())
        return (
            "No solution: conditions may contradict each other. Some are redundant, because the equation "
            "and the other conditions already determine these values, and the solution without them "
            f"violates {violated}. Remove them, or impose them where no condition is given."
        )
    return None


def _status_text(solution: Solution, max_residual: float) -> str:
    """Return the sentence of the status."""
    text = solution.status.value
    if solution.status is Status.NO_SOLUTION and max_residual < _MAX_CONSISTENT_RESIDUAL:
        return _UNBOUNDED_MESSAGE
    if AS_ESTIMATED in text and not math.isfinite(solution.error.max):
        unknown = "No error bound is known for the solution returned: start with an easier problem."
        return text.replace(AS_ESTIMATED, unknown)
    return text


def _causes(solution: Solution) -> Iterator[str]:
    """Yield possible causes of the status."""
    if "engine" in solution.notes:
        yield f"The engine was lost: {solution.notes['engine']}"
    if solution.status is Status.UNDETERMINED:
        yield from _missing_conditions(solution.problem)
    if solution.status is Status.UNSTABLE:
        yield (
            "Perturbations with a wavelength of a tenth of the width grow by a factor of "
            f"1e{solution.notes['growth']:.0f}."
        )


def _missing_conditions(problem: Problem) -> Iterator[str]:
    """Yield where and for which values no condition is given."""
    if uncovered := uncovered_boundary(problem):
        yield f"No condition is given where {', '.join(uncovered)}."
    if overridden := overridden_conditions(problem):
        yield (
            "A condition without on= does not apply where another condition on the same unknown has "
            f"an on=: {'; '.join(overridden)}."
        )
    statements = [(s.region, s.form.derivatives) for s in problem.statements]
    if missing := missing_initial_conditions(problem.domain, statements):
        time = problem.coordinates[-1]
        rates = [str(problem.unknowns[k].diff(time, j)) for k, j in missing]
        yield f"The initial value of {', '.join(rates)} is not given."


def _findings(status: Status, notes: Notes) -> Iterator[str]:
    """Yield where the solution ends, where it jumps, and for which times the estimate holds."""
    if "stopped" in notes:
        until, why = notes["stopped"]
        yield f"It ends at {until:.6g}: {why}."
    for name, coordinate, levels in notes.get("function_jumps", ()):
        shown = ", ".join(f"{x:.6g}" for x in levels[:_MAX_LISTED])
        more = f" and {len(levels) - _MAX_LISTED} other places" if len(levels) > _MAX_LISTED else ""
        yield (
            f"The Python function {name} jumps at {coordinate} = {shown}{more}, as its samples show; "
            "breaks= or a Piecewise is faster, and safer if there may be more jumps between the samples."
        )
    yield from _excluded_times(status, notes)
    if notes.get("lost") is not None:
        yield f"No digit is correct after {notes['lost']:.6g}."


def _excluded_times(status: Status, notes: Notes) -> Iterator[str]:
    """Yield the times near incompatible or abruptly changing data, where the estimate does not hold."""
    if "promised" in notes:
        yield (
            "The initial data are not smooth, or not compatible with the boundary conditions: the "
            f"estimate holds for all times from {notes['promised']:.3g} on; error.over_time() "
            "includes the earlier times."
        )
    elif status is Status.INCOMPATIBLE_DATA:
        yield "error.max covers all times, including those close to the start."
    later = [layer for layer in notes.get("layers", ()) if layer[1] != notes.get("promised")]
    if later:
        spans = ", ".join(f"{b - a:.2g} after {a:.6g}" for a, b in later[:_MAX_LISTED])
        yield (
            "Data that change abruptly are incompatible with the solution before the change: the "
            f"estimate excludes times until {spans}{' and others' if len(later) > _MAX_LISTED else ''}; "
            "error.over_time() includes them."
        )
