r"""u_k(x) = Σⱼ wⱼ φⱼ(x): a space of functions for all unknowns of a problem, made of blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis import BasisSpec
from pibls.caching import cached_property
from pibls.problem import Jet

if TYPE_CHECKING:
    from pibls.spaces.cells import Cells
    from pibls.spaces.single_domain import Whole
    from pibls.spaces.windows import Windows


class Space(Protocol):
    """What the columns are: blocks, each a basis on a piece of the domain for one unknown."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many coefficients a function of all unknowns has."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """How many functions the unknown with the most of them has."""

    @abstractmethod
    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        """∂^α u_k at the sites for each jet, (number of jets, n)."""

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """(start, stop) of each window in time; empty where time is in one piece."""
        return ()

    @property
    def is_line(self) -> bool:
        """Whether time is the only coordinate, in windows."""
        return False

    @property
    def reach(self) -> tuple[int, float, float] | None:
        """Along which axis it is known only from where to where; None: everywhere."""
        return None

    def boxes_in(self, box: Array) -> Array:
        """The cells that a box (d, 2) is divided into, window by window, (M, d, 2)."""
        return box[None]

    @property
    def whole(self) -> Whole | None:
        """Itself, where it is one piece with a basis for each unknown."""
        return None

    @property
    def cells(self) -> Cells | None:
        """Itself, where it has a space in each cell of a tree."""
        return None

    @property
    def in_time(self) -> Windows | None:
        """Itself, where it has a space in each window of time."""
        return None

    @property
    def together(self) -> Whole | None:
        """The bases of all unknowns in all pieces of the domain, as a system is assembled in them."""
        return self.whole

    def in_every_piece(self, unknowns: int) -> Space:
        """The same function, as one of the unknowns of all pieces."""
        return Repeated(self, unknowns)


class Located(Space):
    """A space in which a point says which of its functions count there."""

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        out = np.empty((len(jets), len(sites[0])))
        for site, X in enumerate(sites):
            here = [i for i, j in enumerate(jets) if j.site == site]
            if here and len(X):
                out[here] = self._at(X, tuple(replace(jets[i], site=0) for i in here), w)
        return out

    @abstractmethod
    def _at(self, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        """∂^α u_k at points (n, d) for each jet, (number of jets, n)."""


def by_part(where: Numbers, values: Callable[[int, Numbers], Array], jets: int) -> Array:
    """(jets, n) from the values of each part at the points that are in it."""
    out = np.empty((jets, len(where)))
    order = np.argsort(where, kind="stable")
    parts, firsts = np.unique(where[order], return_index=True)
    for part, rows in zip(parts.tolist(), np.split(order, firsts[1:]), strict=True):
        out[:, rows] = values(part, rows)
    return out


class Parted(Space):
    """Spaces whose coefficients stand one after another: of cells, of windows."""

    parts: tuple[Space, ...]

    @cached_property
    def starts(self) -> Numbers:
        """Where the coefficients of each part begin, and the end."""
        return np.concatenate([[0], np.cumsum([p.columns for p in self.parts])]).astype(np.intp)

    def _of_part(self, part: int, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        """The values of one of them."""
        return self.parts[part].values((X,), jets, w[self.starts[part] : self.starts[part + 1]])

    @property
    def columns(self) -> int:
        return int(self.starts[-1])

    @property
    def nodes(self) -> int:
        return sum(p.nodes for p in self.parts)


@dataclass(frozen=True)
class Repeated(Space):
    """A function of the problem's unknowns, as one of the unknowns of all pieces."""

    space: Space
    count: int

    @property
    def columns(self) -> int:
        return self.space.columns

    @property
    def nodes(self) -> int:
        return self.space.nodes

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        own = tuple(replace(j, unknown=j.unknown % self.count) for j in jets)
        return self.space.values(sites, own, w)


class SpaceSpec(Protocol):
    """What is chosen, before anything is drawn, where it is more than one basis for all unknowns."""

    @property
    def size(self) -> int:
        """How many functions each unknown gets."""

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Space:
        """A space over the box (d, 2), drawn at random."""


Choice = BasisSpec | SpaceSpec
"""What `solve` takes as ``basis``."""
