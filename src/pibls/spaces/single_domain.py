r"""u_k(x) = A_k(x) w_k: one piece, with a basis for each unknown; several unknowns may share one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis import Basis
from pibls.basis.protocol import Operator, operated, seen_from, summed
from pibls.caching import cached_property
from pibls.deadline import go_on
from pibls.problem import Jet
from pibls.spaces.protocol import Space

SLICE_ENTRIES = 1 << 16
"""Entries of a jet per slice: half a megabyte, so that all of them stay in the cache."""
LEAST_SLICE = 128
"""Rows of a slice at least: a basis of many parts is slow for a few points at a time."""


@dataclass(frozen=True)
class Whole(Space):
    """A basis per unknown over all of a piece; w holds the coefficients of the unknowns one after another."""

    bases: tuple[Basis, ...]

    @classmethod
    def shared(cls, basis: Basis, unknowns: int) -> Whole:
        """The same basis for every unknown."""
        return cls((basis,) * unknowns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each unknown."""
        ends = np.cumsum([0, *(b.size for b in self.bases)]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """For each unknown the first that has the same basis: its jets serve both."""
        first: dict[int, int] = {}
        return tuple(first.setdefault(id(b), k) for k, b in enumerate(self.bases))

    @cached_property
    def columns(self) -> int:
        return int(self.slices[-1].stop)

    @cached_property
    def nodes(self) -> int:
        return max(b.size for b in self.bases)

    def seen_from(self, box: Array) -> Whole:
        """The same functions in the coordinates of a box, which is [-1, 1]^d there."""
        centre, half = box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0])
        made = {id(b): seen_from(b, centre, half) for b in self.bases}
        return Whole(tuple(made[id(b)] for b in self.bases))

    def tables(
        self, X: Array, wanted: Iterable[tuple[int, MultiIndex]]
    ) -> dict[tuple[int, MultiIndex], Array]:
        """∂^α A_k (n, M) for each wanted (k, α) with k an owner; each activation is computed once."""
        found = self.operated(X, [(owner, ((alpha, 1.0),)) for owner, alpha in wanted])
        return {(owner, alpha): phi for (owner, ((alpha, _),)), phi in found.items()}

    def operated(
        self,
        X: Array,
        wanted: Iterable[tuple[int, Operator]],
        targets: Mapping[tuple[int, Operator], Array] | None = None,
    ) -> dict[tuple[int, Operator], Array]:
        """Σ c ∂^α A_k (n, M) for each wanted operator and owner k; ``targets``: where some may be written."""
        by_owner: dict[int, dict[Operator, None]] = {}
        for owner, terms in wanted:
            by_owner.setdefault(owner, {})[terms] = None
        out = {}
        for owner, operators in by_owner.items():
            go_on(__name__)
            mine = {terms: A for (k, terms), A in (targets or {}).items() if k == owner}
            found = operated(self.bases[owner], X, list(operators), mine)
            out.update({(owner, terms): phi for terms, phi in zip(operators, found, strict=True)})
        return out

    @property
    def whole(self) -> Whole:
        return self

    def each(self, w: Array) -> list[tuple[Whole, Array]]:
        """Itself, as the only cell."""
        return [(self, w)]

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        n = len(sites[0])
        out = np.empty((len(jets), n))
        step = max(2 * SLICE_ENTRIES // max(self.nodes, 1), LEAST_SLICE)  # no table is made of waves
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            for site, X in enumerate(sites):
                for owner in set(self.owners):
                    rows = [
                        i for i, j in enumerate(jets) if j.site == site and self.owners[j.unknown] == owner
                    ]
                    wanted = [(jets[i].alpha, w[self.slices[jets[i].unknown]]) for i in rows]
                    if rows:
                        out[rows, part] = summed(self.bases[owner], X[part], wanted)
        return out
