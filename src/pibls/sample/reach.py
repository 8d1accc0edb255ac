"""Ω × (t₀, t*): the part of a domain in which a solution is known, where an evolution ended too early."""

from __future__ import annotations

from pibls.domain import Box, Domain, Interval, box_of, space_of, time_of
from pibls.domain.time import During
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
    return _between(domain, axis, max(low, float(start)), min(high, float(stop)))


def _between(domain: Domain, axis: int, low: float, high: float) -> Domain:
    symbol = domain.coordinates[axis]
    if symbol == time_of(domain):
        return During(space_of(domain), symbol, low, high)
    if isinstance(domain, Interval):
        return Interval(symbol, low, high)
    if isinstance(domain, Box):
        return Box({**dict(zip(domain.coordinates, domain.bounds, strict=True)), symbol: (low, high)})
    return domain  # a shape of one's own: what is not known is not a number
