"""Conditions that are missing, as far as that is known before anything is solved."""

from __future__ import annotations

import numpy as np

from pibls.adaptive.evolutions.growth import untold_where_it_is_needed
from pibls.analysis.coverage import probed, unbegun, uncovered
from pibls.analysis.walls import is_bare
from pibls.geometry import box_of, faces_of, time_of
from pibls.problem import Problem
from pibls.problem.forms.lowering import LoweredProblem, lower

_REGULAR = 1e-6  # of the other coefficients: a smaller leading one makes an end singular, which needs less


def missing_conditions(problem: Problem) -> tuple[str, ...]:
    """Which conditions a well-posed problem would also have, in words; none where that is not certain."""
    lowered, domain = lower(problem), problem.domain
    found = list(_initial(problem))
    if untold_where_it_is_needed(lowered, domain) or is_bare(lowered, domain):
        found += [f"a condition where {place}" for place in uncovered(problem)]
    return (*found, *_on_a_line(problem, lowered))


def _initial(problem: Problem) -> list[str]:
    """Values and rates that are not given at the start, unless something else may stand for them."""
    time = time_of(problem.domain)
    if time is None:
        return []
    axis = len(problem.coordinates) - 1
    told = [s.region for s in problem.statements if not s.region.is_inside]
    if not all(r.is_boundary or r.plane() is not None or r.period not in (None, axis) for r in told):
        return []
    start = float(box_of(problem.domain)[axis, 0])
    statements = [(s.region, s.form.jets) for s in problem.statements]
    rates = unbegun(problem.domain, statements)
    return [f"{problem.unknowns[k].diff(time, j)} at {time} = {start:g}" for k, j in rates]


def _on_a_line(problem: Problem, lowered: LoweredProblem) -> list[str]:
    """On a line the conditions must be as many as the orders add up to, where no end is singular."""
    if lowered.dimension != 1:
        return []
    inside = [r for r in lowered.residuals if r.region.is_inside]
    orders = [
        max((j.alpha[0] for r in inside for j in r.jets if j.unknown == k), default=0)
        for k in range(lowered.unknowns)
    ]
    leading = [[j for j in r.jets if j.alpha[0] == orders[j.unknown]] for r in inside]
    alone = all(len(jets) == 1 for jets in leading)
    if not alone or len({jets[0].unknown for jets in leading}) != len(orders):
        return []  # algebraic, or coupled in the highest derivatives: fewer may be enough
    X = np.concatenate([face.at(np.empty((1, 0))).points for face in faces_of(problem.domain)])
    for residual, (jet,) in zip(inside, leading, strict=True):
        with np.errstate(all="ignore"):
            a = residual.coefficients(X, np.zeros_like(X), residual.known_data(X))
        if jet not in residual.linear or not np.isfinite(a).all():
            return []
        if (np.abs(a[residual.linear.index(jet)]) <= _REGULAR * np.abs(a).sum(axis=0)).any():
            return []
    rng = np.random.default_rng(0)
    given = 0
    for residual in lowered.residuals:
        if not residual.region.is_inside:
            held = [bool(probed(face, [residual.region], rng)[1].any()) for face in faces_of(problem.domain)]
            given += 1 if residual.region.sites > 1 else max(sum(held), 1)
    needed = sum(orders)
    return [f"{needed - given} more of {needed} conditions"] if given < needed else []
