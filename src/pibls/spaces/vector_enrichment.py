r"""Enrichment by vector-valued functions: u_k(x) = A(x) w_k + B_k(x) c, c shared by all unknowns.

A singular function at a corner of a system is, for example, a velocity and a pressure together: it has a
component in the basis of every unknown, and one coefficient. The space has a coefficient for each component;
`coefficient_map` says which of them are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis import (
    Basis,
    BasisSpec,
    Joined,
    JoinedBasis,
    PolarBasis,
    PowersBasis,
    SingularBasis,
    without_corner_functions,
)
from pibls.spaces.single_domain import SingleDomainSpace


@dataclass(frozen=True)
class VectorFunctions:
    """Vector-valued functions: degrees, and components as bases of one size by (subdomain, unknown)."""

    bases: Mapping[tuple[int, int], PowersBasis | PolarBasis | SingularBasis]
    degrees: tuple[float, ...]
    point: tuple[float, ...]
    strong: bool = True
    """Whether no other function represents the lowest degrees; small cells need only these."""
    exact: bool = True
    """Whether each function satisfies the principal part of the equations and conditions."""

    @property
    def size(self) -> int:
        return len(self.degrees)

    def reduced(self, share: float) -> VectorFunctions:
        """Return the functions without the highest degrees, for a companion solution."""
        most = max(share * max(self.degrees), 4.0)
        return self.below(most)

    def below(self, most: float) -> VectorFunctions:
        """Return the functions up to a degree."""
        return self.between(-np.inf, most)

    def between(self, low: float, high: float) -> VectorFunctions:
        """Return the functions of degrees above ``low`` and up to ``high``."""
        kept = np.array([i for i, d in enumerate(self.degrees) if low < d <= high], dtype=np.intp)
        bases = {key: b.chosen(kept) for key, b in self.bases.items()}
        return replace(self, bases=bases, degrees=tuple(self.degrees[i] for i in kept))


@dataclass(frozen=True)
class VectorEnriched:
    """The same scalar bases ``parts`` for every unknown, and vector-valued functions ``fields``."""

    parts: tuple[BasisSpec, ...]
    fields: tuple[VectorFunctions, ...]

    needs_dense_boundary = True

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts) + sum(f.size for f in self.fields)

    @property
    def interior_size(self) -> int:
        """Functions per unknown that need interior points; a function of three unknowns counts a third."""
        unknowns = len({key for f in self.fields for key in f.bases})
        return Joined(self.parts).interior_size + sum(f.size for f in self.fields) // max(unknowns, 1)

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> SingleDomainSpace:
        """Return a space with a basis per unknown: the common functions, then the enrichment."""
        common = Joined(self.parts).draw(box, rng)
        return SingleDomainSpace(tuple(enriched_basis(common, self.fields, 0, k) for k in range(unknowns)))


def enriched_basis(common: Basis, fields: Sequence[VectorFunctions], subdomain: int, unknown: int) -> Basis:
    """Return the basis of an unknown in a subdomain: ``common`` and its components of the ``fields``."""
    mine = [f.bases[subdomain, unknown] for f in fields if (subdomain, unknown) in f.bases]
    return JoinedBasis((common, *mine)) if mine else common


def without_enrichment(space: SingleDomainSpace) -> SingleDomainSpace:
    """Return the space without the singular functions of corners."""
    made = {id(b): without_corner_functions(b) for b in space.bases}
    return SingleDomainSpace(tuple(made[id(b)] for b in space.bases))


def coefficients_without_enrichment(space: SingleDomainSpace, w: Array) -> Array:
    """Return the coefficients of `without_enrichment`."""
    own = without_enrichment(space).bases
    return np.concatenate([w[part][: b.size] for part, b in zip(space.slices, own, strict=True)])


def coefficient_map(space: SingleDomainSpace, fields: Sequence[VectorFunctions], unknowns: int) -> Indices:
    """Return, for each coefficient of a space, the index of the independent coefficient it equals.

    Independent coefficients are those of the common functions, unknown by unknown, then those of the fields.
    """
    subdomains = len(space.bases) // unknowns
    keys = [(subdomain, k) for subdomain in range(subdomains) for k in range(unknowns)]
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
