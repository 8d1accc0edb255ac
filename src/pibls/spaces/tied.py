r"""u_k(x) = A(x) w_k + B_k(x) c: functions that all unknowns share the coefficients of.

At a corner of a system one function is a velocity and a pressure together: it has a part in the basis of
every unknown, and one coefficient. The space has a coefficient for each part; the tie says which are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis import (
    Basis,
    BasisSpec,
    Joined,
    JoinedBasis,
    PolarBasis,
    PowersBasis,
    SingularBasis,
    without_corners,
)
from pibls.spaces.single_domain import Whole


@dataclass(frozen=True)
class TiedFunctions:
    """Functions of several unknowns: bases by (piece, unknown), all of one size, and their degrees."""

    bases: Mapping[tuple[int, int], PowersBasis | PolarBasis | SingularBasis]
    degrees: tuple[float, ...]
    point: tuple[float, ...]
    strong: bool = True
    """Whether nothing else does what the first of them do: small cells do without the others."""
    exact: bool = True
    """Whether each of them holds the highest part of the equations and conditions."""

    @property
    def size(self) -> int:
        return len(self.degrees)

    def reduced(self, share: float) -> TiedFunctions:
        """Without the highest degrees: for a second solution that does not share what is left over."""
        most = max(share * max(self.degrees), 4.0)
        return self.below(most)

    def below(self, most: float) -> TiedFunctions:
        """The functions up to a degree."""
        return self.between(-np.inf, most)

    def between(self, low: float, high: float) -> TiedFunctions:
        """The functions of degrees above ``low``, and up to ``high``."""
        kept = np.array([i for i, d in enumerate(self.degrees) if low < d <= high], dtype=np.intp)
        bases = {key: b.chosen(kept) for key, b in self.bases.items()}
        return replace(self, bases=bases, degrees=tuple(self.degrees[i] for i in kept))


@dataclass(frozen=True)
class Tied:
    """The same ``parts`` for every unknown, and ``fields`` of all of them together."""

    parts: tuple[BasisSpec, ...]
    fields: tuple[TiedFunctions, ...]

    is_crowded = True

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts) + sum(f.size for f in self.fields)

    @property
    def spread(self) -> int:
        """What needs points all over the domain: of a function of three unknowns a third for each."""
        unknowns = len({key for f in self.fields for key in f.bases})
        return Joined(self.parts).spread + sum(f.size for f in self.fields) // max(unknowns, 1)

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Whole:
        """A basis per unknown: what is common first."""
        common = Joined(self.parts).draw(box, rng)
        return Whole(tuple(with_fields(common, self.fields, 0, k) for k in range(unknowns)))


def with_fields(common: Basis, fields: Sequence[TiedFunctions], piece: int, unknown: int) -> Basis:
    """The basis of an unknown in a piece."""
    mine = [f.bases[piece, unknown] for f in fields if (piece, unknown) in f.bases]
    return JoinedBasis((common, *mine)) if mine else common


def bare(space: Whole) -> Whole:
    """What is common to all unknowns, without the functions of corners."""
    made = {id(b): without_corners(b) for b in space.bases}
    return Whole(tuple(made[id(b)] for b in space.bases))


def bared(space: Whole, w: Array) -> Array:
    """The coefficients of that."""
    own = bare(space).bases
    return np.concatenate([w[part][: b.size] for part, b in zip(space.slices, own, strict=True)])


def ties_of(space: Whole, fields: Sequence[TiedFunctions], unknowns: int) -> Numbers:
    """For each coefficient of a space which of the coefficients that are looked for it is.

    Those of the common functions come first, unknown by unknown, then those of the fields.
    """
    pieces = len(space.bases) // unknowns
    keys = [(piece, k) for piece in range(pieces) for k in range(unknowns)]
    common = [
        basis.size - sum(f.size for f in fields if key in f.bases)
        for basis, key in zip(space.bases, keys, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum(common)])
    firsts = starts[-1] + np.concatenate([[0], np.cumsum([f.size for f in fields])])
    out = []
    for number, key in enumerate(keys):
        out.append(np.arange(starts[number], starts[number + 1]))
        out += [np.arange(firsts[i], firsts[i + 1]) for i, f in enumerate(fields) if key in f.bases]
    return np.concatenate(out).astype(np.intp)
