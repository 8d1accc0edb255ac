r"""N ↦ basis: waves at any width, with the scale that the width demands, stretched per coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pibls.adaptive.thresholds import FAMILY
from pibls.basis import BasisSpec, Waves
from pibls.basis.scale import scale_for
from pibls.basis.waves import few_coordinates


@dataclass(frozen=True)
class WaveFamily:
    """Waves with |w| ≤ R(N, d), stretched per coordinate."""

    stretch: tuple[float, ...]
    low: float = field(default_factory=lambda: FAMILY.low_share)
    """The share of functions of one or two coordinates."""
    subsets: tuple[tuple[int, ...], ...] = ()
    """Where functions of some coordinates alone make up nearly all of it: which (`search.waves.coupled`)."""

    @classmethod
    def isotropic(cls, dimension: int) -> WaveFamily:
        return cls((1.0,) * dimension)

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        """At most ``nodes`` functions, at ``shrink`` times the scale of the scale-width rule."""
        d = len(self.stretch)
        if self.subsets:
            return self._by_subsets(nodes, shrink)
        subsets = few_coordinates(d) if d > 3 else []
        each = 2 * int(self.low * nodes / (2 * len(subsets))) if subsets else 0
        if not each:
            subsets = []
        dense = nodes - each * len(subsets)
        radius = shrink * scale_for("waves", max(dense, 32), d)
        groups = tuple((c, each, shrink * scale_for("waves", max(each, 32), len(c))) for c in subsets)
        return Waves(dense, tuple(radius * s for s in self.stretch), groups)

    def _by_subsets(self, nodes: int, shrink: float) -> BasisSpec:
        shares = [FAMILY.per_coordinate ** (len(c) - 1) for c in self.subsets]
        dense = max(2 * int(FAMILY.besides * nodes / 2), 2)
        counts = [max(2 * int((nodes - dense) * s / sum(shares) / 2), 2) for s in shares]
        pairs = zip(self.subsets, counts, strict=True)
        groups = tuple((c, n, shrink * scale_for("waves", max(n, 32), len(c))) for c, n in pairs)
        d = len(self.stretch)
        return Waves(dense, shrink * scale_for("waves", max(dense, 32), d), groups)

    def leaning(self, axis: int, factor: float) -> WaveFamily:
        """More frequencies along one coordinate, fewer along the others.

        The volume of the band, and with it the numerical rank, stays the same.
        """
        others = factor ** (-1.0 / (len(self.stretch) - 1))
        stretch = tuple(s * (factor if i == axis else others) for i, s in enumerate(self.stretch))
        return replace(self, stretch=stretch)

    def others(self, subsets: tuple[tuple[int, ...], ...] = ()) -> list[WaveFamily]:
        """The same with fewer functions of few coordinates, or of those ``subsets`` alone."""
        if len(self.stretch) <= 3 or self.subsets:
            return []
        largest = max(map(len, subsets), default=0)
        own = [replace(self, subsets=subsets)] if 0 < largest < len(self.stretch) else []
        return [*own, *(replace(self, low=low) for low in FAMILY.other_shares)]

    def neighbours(self) -> list[WaveFamily]:
        """The families that lean towards one coordinate more."""
        if len(self.stretch) == 1 or self.subsets:
            return []
        return [self.leaning(axis, 2.0) for axis in range(len(self.stretch))]

    def further(self, before: tuple[float, ...]) -> list[WaveFamily]:
        """One more step in the direction that led here from the stretch ``before``."""
        stretch = tuple(a * a / b for a, b in zip(self.stretch, before, strict=True))
        return [replace(self, stretch=stretch)]
