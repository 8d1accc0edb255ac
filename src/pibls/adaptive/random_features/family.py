r"""Families of random features: a basis for every width N, with its scale and anisotropy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pibls.adaptive.thresholds import FEATURE_FAMILY
from pibls.basis import BasisSpec, RandomFourierFeatures
from pibls.basis.random_fourier import coordinate_subsets
from pibls.basis.scale import scale_for


@dataclass(frozen=True)
class RandomFeatureFamily:
    """Random features with frequencies |w| ≤ R(N, d), scaled per coordinate."""

    anisotropy: tuple[float, ...]
    low_dimensional_share: float = field(default_factory=lambda: FEATURE_FAMILY.low_share)
    """Share of functions of one or two coordinates."""
    subsets: tuple[tuple[int, ...], ...] = ()
    """Groups of coupled coordinates, if functions of them replace those of all coordinates
    (`adaptive.random_features.variable_coupling`)."""

    @classmethod
    def isotropic(cls, dimension: int) -> RandomFeatureFamily:
        return cls((1.0,) * dimension)

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        """Return at most ``nodes`` functions, at ``shrink`` times the scale of the scale-width rule."""
        d = len(self.anisotropy)
        if self.subsets:
            return self._spec_by_subsets(nodes, shrink)
        subsets = coordinate_subsets(d) if d > 3 else []
        each = 2 * int(self.low_dimensional_share * nodes / (2 * len(subsets))) if subsets else 0
        if not each:
            subsets = []
        dense = nodes - each * len(subsets)
        radius = shrink * scale_for("waves", max(dense, 32), d)
        groups = tuple((c, each, shrink * scale_for("waves", max(each, 32), len(c))) for c in subsets)
        return RandomFourierFeatures(dense, tuple(radius * s for s in self.anisotropy), groups)

    def _spec_by_subsets(self, nodes: int, shrink: float) -> BasisSpec:
        shares = [FEATURE_FAMILY.growth_per_coordinate ** (len(c) - 1) for c in self.subsets]
        dense = max(2 * int(FEATURE_FAMILY.full_dimension_share * nodes / 2), 2)
        counts = [max(2 * int((nodes - dense) * s / sum(shares) / 2), 2) for s in shares]
        pairs = zip(self.subsets, counts, strict=True)
        groups = tuple((c, n, shrink * scale_for("waves", max(n, 32), len(c))) for c, n in pairs)
        d = len(self.anisotropy)
        return RandomFourierFeatures(dense, shrink * scale_for("waves", max(dense, 32), d), groups)

    def stretched(self, axis: int, factor: float) -> RandomFeatureFamily:
        """Return the family with higher frequencies along one coordinate and lower ones along the others.

        The volume of the band, and with it the numerical rank, stays the same.
        """
        others = factor ** (-1.0 / (len(self.anisotropy) - 1))
        stretch = tuple(s * (factor if i == axis else others) for i, s in enumerate(self.anisotropy))
        return replace(self, anisotropy=stretch)

    def alternatives(self, subsets: tuple[tuple[int, ...], ...] = ()) -> list[RandomFeatureFamily]:
        """Return families with fewer functions of few coordinates, or with those of ``subsets`` only."""
        if len(self.anisotropy) <= 3 or self.subsets:
            return []
        largest = max(map(len, subsets), default=0)
        own = [replace(self, subsets=subsets)] if 0 < largest < len(self.anisotropy) else []
        return [*own, *(replace(self, low_dimensional_share=low) for low in FEATURE_FAMILY.other_shares)]

    def neighbours(self) -> list[RandomFeatureFamily]:
        """Return the families stretched along one coordinate."""
        if len(self.anisotropy) == 1 or self.subsets:
            return []
        return [self.stretched(axis, 2.0) for axis in range(len(self.anisotropy))]

    def extrapolated(self, before: tuple[float, ...]) -> list[RandomFeatureFamily]:
        """Return the family one step further in the direction from the anisotropy ``before``."""
        stretch = tuple(a * a / b for a, b in zip(self.anisotropy, before, strict=True))
        return [replace(self, anisotropy=stretch)]
