"""Subdomains in which the functions of a singular point are used: functions jump on a branch cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.thresholds import SYSTEM_CORNERS
from pibls.analysis.corners.system_corners import max_distance
from pibls.analysis.thresholds import JUNCTIONS
from pibls.arrays import Array
from pibls.basis import Tip
from pibls.geometry import Domain, box_of
from pibls.problem.interfaces.decomposition import SubdomainDecomposition


@dataclass(frozen=True, eq=False)
class Cut:
    """The ray from a singular point opposite to the bisector ``middle`` of a sector."""

    point: Array
    middle: float

    @classmethod
    def behind(cls, tip: Tip) -> Cut:
        """Return the branch cut of the functions of a corner."""
        way = tip.inside - np.array(tip.point)
        return cls(np.array(tip.point), float(np.arctan2(way[1], way[0])))

    def crosses(self, subdomain: int, domain: Domain, decomposition: SubdomainDecomposition) -> bool:
        """Whether the ray intersects a subdomain."""
        box = box_of(domain)
        s = np.linspace(1e-4, 1.0, 1000) * float(np.linalg.norm(box[:, 1] - box[:, 0]))
        ray = self.point - s[:, None] * np.array([np.cos(self.middle), np.sin(self.middle)])
        ray = ray[np.asarray(domain.contains(ray), dtype=bool)]
        return bool(len(ray) and np.any(decomposition.locate(ray) == subdomain))


def sectors_reached(
    sectors: Mapping[int, int],
    cuts: Sequence[Cut],
    domain: Domain,
    decomposition: SubdomainDecomposition,
) -> dict[int, int]:
    """Return the sector of each subdomain, continued from ``sectors`` across artificial interfaces."""
    out, point = dict(sectors), cuts[0].point
    pairs = artificial_interfaces(decomposition)
    around = 2.0 * np.pi * np.arange(SYSTEM_CORNERS.lower_order_angles) / SYSTEM_CORNERS.lower_order_angles
    circle = np.column_stack([np.cos(around), np.sin(around)])
    beside = point + JUNCTIONS.offset * max_distance(point, domain) * circle
    beside = beside[np.asarray(domain.contains(beside), dtype=bool)]
    out |= {int(p): -1 for p in np.unique(decomposition.locate(beside)) if p not in out}  # across a slit
    while True:
        beyond = {
            q: out[p]
            for pair in pairs
            for p, q in (pair, pair[::-1])
            if out.get(p, -1) >= 0
            and q not in out
            and _is_close(point, q, decomposition)
            and not cuts[out[p]].crosses(q, domain, decomposition)
        }
        if not beyond:
            return {p: sector for p, sector in out.items() if sector >= 0}
        out |= beyond


def _is_close(point: Array, subdomain: int, decomposition: SubdomainDecomposition) -> bool:
    """Whether a subdomain is so close to a singular point that it needs its functions."""
    box = decomposition.partition.box(subdomain)
    away = float(np.linalg.norm(decomposition.partition.samples[subdomain] - point, axis=1).min())
    return away < SYSTEM_CORNERS.max_relative_distance * float(np.linalg.norm(box[:, 1] - box[:, 0]))


def artificial_interfaces(decomposition: SubdomainDecomposition) -> list[tuple[int, int]]:
    """Return the pairs of subdomains with an artificial interface: both have the same material."""
    pairs = {r.region.subdomains for r in decomposition.interface_residuals}  # type: ignore[attr-defined]
    return [pair for pair in sorted(pairs) if decomposition.partition.have_same_material(*pair)]
