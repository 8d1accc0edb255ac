"""Ω: where the equations hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.quasi import RULES
from pibls.domain import Domain, box_of
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Pen, Place

_ROUNDS = 12
_ROUNDS_IN_BOX = 5


@dataclass(frozen=True)
class Inside(Place):
    """The domain itself."""

    is_inside = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        if box is None:
            return PointSet.inside(_fill(domain, points.interior, points.rule, rng))
        return PointSet.inside(_fill_box(domain, box, points.interior, points.rule, rng))

    def follows(self, domain: Domain) -> bool:
        return True

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return "in the domain"


def _fill(domain: Domain, n: int, name: str, rng: np.random.Generator) -> Array:
    """n points inside: the rule over the bounding box, and of those the ones that are inside."""
    box = box_of(domain)
    low, high = box.T
    wanted = n
    for _ in range(_ROUNDS):
        U = RULES[name](wanted, len(box), rng)
        X = low * (1.0 - U) + high * U
        inside = X[np.asarray(domain.contains(X), dtype=bool)]
        if len(inside) == len(X):
            return np.asarray(X)
        if len(inside) >= n:
            return np.asarray(inside[:n] if name not in ("grid", "chebyshev") else inside)
        wanted = max(2 * wanted, int(1.1 * n * wanted / max(len(inside), 1)) if len(inside) else 0)
        wanted = min(wanted, 64 * n + 4096)
    # Hardly anything of the box is inside: let the shape draw its own points.
    return np.asarray(domain.interior(n, rng), dtype=float)


def _fill_box(domain: Domain, box: Array, n: int, name: str, rng: np.random.Generator) -> Array:
    """n points of the box that are inside; fewer where a sliver of the domain has so few, even when 16 n are
    looked at."""
    low, high = box.T
    wanted = n
    for last in (False,) * (_ROUNDS_IN_BOX - 1) + (True,):
        U = RULES[name](wanted, len(box), rng)
        X = low * (1.0 - U) + high * U
        inside = X[np.asarray(domain.contains(X), dtype=bool)]
        if last or len(inside) == len(X) or (not len(inside) and wanted > n):
            break
        if len(inside) >= n:
            return np.asarray(inside[:n] if name not in ("grid", "chebyshev") else inside)
        wanted *= 2
    return np.asarray(inside)
