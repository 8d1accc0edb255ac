r"""A space on a single domain with a basis per unknown: u_k(x) = A_k(x) w_k. Unknowns may share a basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis import Basis
from pibls.basis.protocol import Operator, apply_operators, linear_combinations, rescaled
from pibls.problem import PartialDerivative
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.spaces.protocol import Space, apply_first

if TYPE_CHECKING:
    from pibls.spaces.cell_space import CellSpace

T = TypeVar("T")

SLICE_ENTRIES = 1 << 16
"""Entries of ∂^α A per slice: half a megabyte, so that all derivatives stay in the processor's cache."""
MIN_SLICE_ROWS = 128
"""Minimum number of rows per slice: a basis of many parts is slow for a few points at a time."""


@dataclass(frozen=True)
class SingleDomainSpace(Space):
    """A basis per unknown on the whole domain; w holds the coefficients of one unknown after another."""

    bases: tuple[Basis, ...]

    @classmethod
    def shared(cls, basis: Basis, unknowns: int) -> SingleDomainSpace:
        """Return the space with the same basis for every unknown."""
        return cls((basis,) * unknowns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each unknown."""
        ends = np.cumsum([0, *(b.size for b in self.bases)]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def basis_owners(self) -> tuple[int, ...]:
        """For each unknown, the first unknown with the same basis: ∂^α A is computed once for both."""
        first: dict[int, int] = {}
        return tuple(first.setdefault(id(b), k) for k, b in enumerate(self.bases))

    @cached_property
    def columns(self) -> int:
        return int(self.slices[-1].stop)

    @cached_property
    def nodes(self) -> int:
        return max(b.size for b in self.bases)

    def rescaled(self, box: Array) -> SingleDomainSpace:
        """Return the same functions in coordinates in which ``box`` is [-1, 1]^d."""
        centre, half = box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0])
        made = {id(b): rescaled(b, centre, half) for b in self.bases}
        return SingleDomainSpace(tuple(made[id(b)] for b in self.bases))

    def tables(
        self, X: Array, wanted: Iterable[tuple[int, MultiIndex]]
    ) -> dict[tuple[int, MultiIndex], Array]:
        """Return ∂^α A_k (n, M) for each wanted (k, α), with k from `basis_owners`."""
        found = self.apply_operators(X, [(owner, ((alpha, 1.0),)) for owner, alpha in wanted])
        return {(owner, alpha): phi for (owner, ((alpha, _),)), phi in found.items()}

    def apply_operators(
        self,
        X: Array,
        wanted: Iterable[tuple[int, Operator]],
        targets: Mapping[tuple[int, Operator], Array] | None = None,
    ) -> dict[tuple[int, Operator], Array]:
        """Return Σ c ∂^α A_k (n, M) for each wanted (k, operator), with k from `basis_owners`.

        ``targets``: output arrays for some of them.
        """
        covers_whole_faces: dict[int, dict[Operator, None]] = {}
        for owner, terms in wanted:
            covers_whole_faces.setdefault(owner, {})[terms] = None
        out = {}
        for owner, operators in covers_whole_faces.items():
            check_deadline(__name__)
            mine = {terms: A for (k, terms), A in (targets or {}).items() if k == owner}
            found = apply_operators(self.bases[owner], X, list(operators), mine)
            out.update({(owner, terms): phi for terms, phi in zip(operators, found, strict=True)})
        return out

    @property
    def unknowns(self) -> int:
        return len(self.bases)

    def by_kind(
        self,
        *,
        single_domain: Callable[[SingleDomainSpace], T] | None = None,
        cells: Callable[[CellSpace], T] | None = None,
        other: Callable[[Space], T] | None = None,
    ) -> T:
        return apply_first(self, single_domain, other)

    def parts_with_coefficients(self, w: Array) -> list[tuple[SingleDomainSpace, Array]]:
        """Return the space itself, as the only part."""
        return [(self, w)]

    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        n = len(sites[0])
        out = np.empty((len(derivatives), n))
        step = max(2 * SLICE_ENTRIES // max(self.nodes, 1), MIN_SLICE_ROWS)  # Fourier features need no matrix
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            for site, X in enumerate(sites):
                for owner in set(self.basis_owners):
                    rows = [
                        i
                        for i, j in enumerate(derivatives)
                        if j.site == site and self.basis_owners[j.unknown] == owner
                    ]
                    wanted = [(derivatives[i].alpha, w[self.slices[derivatives[i].unknown]]) for i in rows]
                    if rows:
                        out[rows, part] = linear_combinations(self.bases[owner], X[part], wanted)
        return out
