"""The part Ω × (t₀, t*) of a domain in which a solution was computed, if a time integration ended early."""

from __future__ import annotations

from pibls.geometry import Domain, box_of, with_range
from pibls.solution import Solution

_SAME = 1e-9


def computed_domain(solution: Solution) -> Domain:
    """Return the domain of the problem, restricted to the part where the solution was computed."""
    domain, reach = solution.problem.domain, solution.space.known_range
    if reach is None:
        return domain
    axis, low, high = reach
    start, stop = box_of(domain)[axis]
    slack = _SAME * (stop - start)
    if low <= start + slack and high >= stop - slack:
        return domain
    # A user-defined domain cannot be restricted: the solution is NaN where it was not computed.
    return with_range(domain, axis, max(low, float(start)), min(high, float(stop))) or domain
