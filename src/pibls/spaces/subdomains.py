r"""u(x) = u_p(x) for x in the piece p: a basis of its own in each piece of the domain.

Unknown k of piece p is number p·U + k of the space of all pieces, in which systems are assembled; asked for
unknown k, a point says which piece it is in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pibls.arrays import Array, Numbers
from pibls.problem import Jet
from pibls.spaces.protocol import Located, Space, by_part
from pibls.spaces.single_domain import Whole


@dataclass(frozen=True)
class Pieces(Located):
    """The bases of all unknowns of all pieces, and which piece a point is in."""

    count: int
    all: Whole
    locate: Callable[[Array], Numbers] | None = field(default=None, compare=False, repr=False)

    @property
    def unknowns(self) -> int:
        return len(self.all.bases) // self.count

    @property
    def together(self) -> Whole:
        return self.all

    def in_every_piece(self, unknowns: int) -> Space:
        return self.all

    @property
    def columns(self) -> int:
        return self.all.columns

    @property
    def nodes(self) -> int:
        sizes = [b.size for b in self.all.bases]
        return max(sum(sizes[k :: self.unknowns]) for k in range(self.unknowns))

    def _at(self, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        assert self.locate is not None

        def of_piece(piece: int, rows: Numbers) -> Array:
            wanted = tuple(replace(j, unknown=piece * self.unknowns + j.unknown) for j in jets)
            return self.all.values((X[rows],), wanted, w)

        return by_part(self.locate(X), of_piece, len(jets))
