"""Ω × (t₀, t*): the part of a domain in which a solution is known, where an evolution ended too early."""

from __future__ import annotations

from pibls.geometry import Domain, between, box_of
from pibls.solution import Solution

_SAME = 1e-9


def reach_of(solution: Solution) -> Domain:
    """The domain of a problem, or what its solution has reached of it."""
    domain, reach = solution.problem.domain, solution.space.reach
    if reach is None:
        return domain
    axis, low, high = reach
    start, stop = box_of(domain)[axis]
    slack = _SAME * (stop - start)
    if low <= start + slack and high >= stop - slack:
        return domain
    # Of a shape of one's own, what is not known is not a number.
    return between(domain, axis, max(low, float(start)), min(high, float(stop))) or domain
