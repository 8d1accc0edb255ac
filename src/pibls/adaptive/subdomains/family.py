r"""Bases of subdomains: random features, their images mirrored at cavities, and functions around holes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.thresholds import RANDOM_FEATURES, SUBDOMAINS
from pibls.analysis.holes.enrichment import HoleEnrichment
from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec, Joined, Mirrored, RandomFourierFeatures
from pibls.basis.protocol import interior_size
from pibls.basis.scale import scale_for
from pibls.spaces import VectorFunctions


@dataclass(frozen=True)
class SubdomainSpecs:
    """A basis for each subdomain, shared by all unknowns."""

    specs: tuple[BasisSpec, ...]
    fields: tuple[VectorFunctions, ...] = ()
    """Vector functions of several unknowns and subdomains."""
    waves: int | None = None
    """Total number of random features, without singular functions and those around holes."""

    def draw(self, box: Array, rng: np.random.Generator) -> Basis:
        """Not implemented for a box: `SubdomainProblem` draws the bases of the subdomains."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        return sum(s.size for s in self.specs) + sum(f.size for f in self.fields)

    @property
    def interior_size(self) -> int:
        """Number of functions that need points in the whole subdomain."""
        return sum(map(interior_size, self.specs)) + sum(f.size for f in self.fields)


@dataclass(frozen=True)
class SubdomainFamily:
    """Bases of all subdomains for N random features in total.

    Around a cavity a subdomain has the functions of its equation (`analysis.holes.enrichment`), if they are
    known, or else random features mirrored at the cavity.
    """

    cavities: tuple[tuple[tuple[tuple[float, ...], float], ...], ...]
    dimension: int
    hole_functions: tuple[HoleEnrichment, ...] = ()

    @property
    def anisotropy(self) -> tuple[float, ...]:
        """Anisotropy, which is 1 along all coordinates."""
        return (1.0,) * self.dimension

    @property
    def _feature_shares(self) -> tuple[float, ...]:
        """Relative number of random features of each subdomain: fewer in inclusions, where u is smoother."""
        holed = [
            bool(mine) or bool(k.holes) for mine, k in zip(self.cavities, self._hole_functions, strict=True)
        ]
        return tuple(1.0 if mine or not any(holed) else SUBDOMAINS.inclusion_share for mine in holed)

    @property
    def _hole_functions(self) -> tuple[HoleEnrichment, ...]:
        return self.hole_functions or (HoleEnrichment(),) * len(self.cavities)

    @property
    def shares(self) -> tuple[float, ...]:
        """Relative number of functions of each subdomain, including mirrored ones."""
        return tuple(
            w * (1.0 + SUBDOMAINS.inclusion_share * len(g))
            for w, g in zip(self._feature_shares, self.cavities, strict=True)
        )

    def spec(self, nodes: int, shrink: float = 1.0) -> SubdomainSpecs:
        """Return bases with about ``nodes`` random features, at ``shrink`` times their default scale.

        Functions around holes are added to these.
        """
        efolds = shrink * self.hole_efolds(nodes)
        unit = nodes / sum(self.shares)
        specs = [
            self._spec_of(unit * w, g, shrink, k.functions(efolds) if k else ())
            for w, g, k in zip(self._feature_shares, self.cavities, self._hole_functions, strict=True)
        ]
        return SubdomainSpecs(tuple(specs), waves=nodes)

    def hole_efolds(self, nodes: int) -> float:
        """Return the truncation e^-x of the functions around holes for ``nodes`` random features in total."""
        share = 2.0 * nodes / (RANDOM_FEATURES.initial_nodes.get(self.dimension, 1) * sum(self.shares))
        return SUBDOMAINS.initial_hole_exponent + SUBDOMAINS.hole_exponent_per_doubling * math.log2(
            max(share, 1.0)
        )

    def alternatives(self, subsets: tuple[tuple[int, ...], ...] = ()) -> list[RandomFeatureFamily]:
        """Return no alternatives, which exist in many dimensions only."""
        return []

    def neighbours(self) -> list[RandomFeatureFamily]:
        """Return no neighbours: random features of subdomains are isotropic."""
        return []

    def _spec_of(
        self,
        nodes: float,
        mine: Sequence[tuple[tuple[float, ...], float]],
        shrink: float,
        known: Sequence[BasisSpec],
    ) -> BasisSpec:
        waves = self._features(nodes, shrink)
        if not mine and not known:
            return waves
        beside = self._features(SUBDOMAINS.inclusion_share * nodes, shrink)
        return Joined((waves, *(Mirrored(beside, centre, radius) for centre, radius in mine), *known))

    def _features(self, nodes: float, shrink: float) -> RandomFourierFeatures:
        nodes = max(int(nodes) // 2 * 2, 2)
        return RandomFourierFeatures(nodes, shrink * scale_for("waves", max(nodes, 32), self.dimension))
