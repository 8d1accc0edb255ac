r"""A space with its own bases in each subdomain between interfaces: u(x) = u_p(x) for x in the subdomain p.

Unknown k of subdomain p has the number p·U + k in the space of all subdomains, in which systems are
assembled. For evaluation, the point determines the subdomain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from pibls.arrays import Array, Indices
from pibls.problem import PartialDerivative
from pibls.spaces.protocol import LocatedSpace, Space, evaluate_by_part
from pibls.spaces.single_domain import SingleDomainSpace

if TYPE_CHECKING:
    from pibls.spaces.cell_space import CellSpace

T = TypeVar("T")


@dataclass(frozen=True)
class SubdomainSpace(LocatedSpace):
    """The bases of all unknowns in all subdomains, and the map from points to subdomains."""

    count: int
    combined: SingleDomainSpace
    locate: Callable[[Array], Indices] | None = field(default=None, compare=False, repr=False)

    @property
    def unknowns(self) -> int:
        return len(self.combined.bases) // self.count

    def by_kind(
        self,
        *,
        single_domain: Callable[[SingleDomainSpace], T] | None = None,
        cells: Callable[[CellSpace], T] | None = None,
        other: Callable[[Space], T] | None = None,
    ) -> T:
        return self.combined.by_kind(single_domain=single_domain, other=other)

    def on_all_subdomains(self, unknowns: int) -> Space:
        return self.combined

    @property
    def columns(self) -> int:
        return self.combined.columns

    @property
    def nodes(self) -> int:
        sizes = [b.size for b in self.combined.bases]
        return max(sum(sizes[k :: self.unknowns]) for k in range(self.unknowns))

    def _evaluate(self, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        assert self.locate is not None

        def of_subdomain(subdomain: int, rows: Indices) -> Array:
            wanted = tuple(replace(j, unknown=subdomain * self.unknowns + j.unknown) for j in derivatives)
            return self.combined.values((X[rows],), wanted, w)

        return evaluate_by_part(self.locate(X), of_subdomain, len(derivatives))
