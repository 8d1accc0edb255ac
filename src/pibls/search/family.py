r"""N ↦ basis: waves at any width, with the scale that the width demands, stretched per coordinate."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pibls.basis import BasisSpec, Waves
from pibls.basis.scale import scale_for
from pibls.basis.waves import few_coordinates
from pibls.search.thresholds import FAMILY


@dataclass(frozen=True)
class WaveFamily:
    """Waves with |w| ≤ R(N, d), stretched per coordinate."""

    stretch: tuple[float, ...]
    low: float = FAMILY.low_share
    """The share of functions of one or two coordinates."""

    @classmethod
    def isotropic(cls, dimension: int) -> WaveFamily:
        return cls((1.0,) * dimension)

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        """At most ``nodes`` functions, at ``shrink`` times the scale of the scale-width rule."""
        d = len(self.stretch)
        subsets = few_coordinates(d) if d > 3 else []
        each = 2 * int(self.low * nodes / (2 * len(subsets))) if subsets else 0
        if each < FAMILY.least_group:
            subsets, each = [], 0
        dense = nodes - each * len(subsets)
        radius = shrink * scale_for("waves", max(dense, 32), d)
        groups = tuple((c, each, shrink * scale_for("waves", max(each, 32), len(c))) for c in subsets)
        return Waves(dense, tuple(radius * s for s in self.stretch), groups)

    def leaning(self, axis: int, factor: float) -> WaveFamily:
        """More frequencies along one coordinate, fewer along the others.

        The volume of the band, and with it the numerical rank, stays the same.
        """
        others = factor ** (-1.0 / (len(self.stretch) - 1))
        stretch = tuple(s * (factor if i == axis else others) for i, s in enumerate(self.stretch))
        return replace(self, stretch=stretch)

    def shares(self) -> list[WaveFamily]:
        """The same with fewer functions of few coordinates, where there are any."""
        return [replace(self, low=low) for low in FAMILY.other_shares] if len(self.stretch) > 3 else []

    def neighbours(self) -> list[WaveFamily]:
        """The families that lean towards one coordinate more."""
        if len(self.stretch) == 1:
            return []
        return [self.leaning(axis, 2.0) for axis in range(len(self.stretch))]

    def further(self, before: WaveFamily) -> list[WaveFamily]:
        """One more step in the direction that led here from ``before``."""
        stretch = tuple(a * a / b for a, b in zip(self.stretch, before.stretch, strict=True))
        return [replace(self, stretch=stretch)]
