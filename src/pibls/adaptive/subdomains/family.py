r"""span{φ} of each piece: waves over its box, in the mirrors of its gaps, and what is known around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.adaptive.random_features.family import WaveFamily
from pibls.adaptive.thresholds import PIECED, WAVES
from pibls.analysis.holes.holes import Around
from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec, Joined, Mirrored, Waves
from pibls.basis.scale import scale_for
from pibls.spaces import TiedFunctions


@dataclass(frozen=True)
class PerPiece:
    """A basis for each piece; all unknowns share that of a piece."""

    specs: tuple[BasisSpec, ...]
    fields: tuple[TiedFunctions, ...] = ()
    """Functions of several unknowns and pieces together."""
    waves: int | None = None
    """Waves in all, without what corners and gaps bring."""

    def draw(self, box: Array, rng: np.random.Generator) -> Basis:
        """None for a box: `Pieced` draws for the pieces."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        return sum(s.size for s in self.specs) + sum(f.size for f in self.fields)

    @property
    def spread(self) -> int:
        """What needs points all over its piece."""
        return sum(getattr(s, "spread", s.size) for s in self.specs) + sum(f.size for f in self.fields)


@dataclass(frozen=True)
class PieceFamily:
    """N ↦ bases: waves in every piece, and what is around its gaps.

    Where the equation of a piece has functions around holes (`diagnose.holes.holes`), these; else waves in
    the mirror of every gap.
    """

    gaps: tuple[tuple[tuple[tuple[float, ...], float], ...], ...]
    dimension: int
    around: tuple[Around, ...] = ()

    @property
    def stretch(self) -> tuple[float, ...]:
        """The same along all coordinates."""
        return (1.0,) * self.dimension

    @property
    def _first(self) -> tuple[float, ...]:
        """The waves of each piece: what fills a gap of another is smoother than what surrounds it."""
        holed = [bool(mine) or bool(k.holes) for mine, k in zip(self.gaps, self._known, strict=True)]
        return tuple(1.0 if mine or not any(holed) else PIECED.share for mine in holed)

    @property
    def _known(self) -> tuple[Around, ...]:
        return self.around or (Around(),) * len(self.gaps)

    @property
    def shares(self) -> tuple[float, ...]:
        """The functions of each piece, in the same units."""
        return tuple(w * (1.0 + PIECED.share * len(g)) for w, g in zip(self._first, self.gaps, strict=True))

    def spec(self, nodes: int, shrink: float = 1.0) -> PerPiece:
        """About ``nodes`` waves in all, at ``shrink`` times the scale of the scale-width rule.

        What is known around gaps comes besides.
        """
        known = self.known(nodes)
        unit = nodes / sum(self.shares)
        specs = [
            self._of(unit * w, g, shrink, k.functions(shrink) if k else ())
            for w, g, k in zip(self._first, self.gaps, known, strict=True)
        ]
        return PerPiece(tuple(specs), waves=nodes)

    def known(self, nodes: int) -> tuple[Around, ...]:
        """What is around the gaps of each piece, as many functions as fit to that many waves."""
        share = 2.0 * nodes / (WAVES.first.get(self.dimension, 1) * sum(self.shares))
        digits = PIECED.digits + PIECED.per_doubling * math.log2(max(share, 1.0))
        return tuple(replace(k, digits=digits) if k else k for k in self._known)

    def others(self, subsets: tuple[tuple[int, ...], ...] = ()) -> list[WaveFamily]:
        """None: pieces are in few dimensions."""
        return []

    def neighbours(self) -> list[WaveFamily]:
        """None: waves of a piece lean nowhere."""
        return []

    def _of(
        self,
        nodes: float,
        mine: Sequence[tuple[tuple[float, ...], float]],
        shrink: float,
        known: Sequence[BasisSpec],
    ) -> BasisSpec:
        waves = self._waves(nodes, shrink)
        if not mine and not known:
            return waves
        beside = self._waves(PIECED.share * nodes, shrink)
        return Joined((waves, *(Mirrored(beside, centre, radius) for centre, radius in mine), *known))

    def _waves(self, nodes: float, shrink: float) -> Waves:
        nodes = max(int(nodes) // 2 * 2, 2)
        return Waves(nodes, shrink * scale_for("waves", max(nodes, 32), self.dimension))
