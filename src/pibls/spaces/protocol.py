r"""Protocol of function spaces u_k(x) = Σⱼ wⱼ φⱼ(x) for all unknowns of a problem, and base classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis import BasisSpec
from pibls.problem import PartialDerivative
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.spaces.cell_space import CellSpace
    from pibls.spaces.single_domain import SingleDomainSpace

T = TypeVar("T")
S = TypeVar("S")


class Space(Protocol):
    """Blocks of columns, each a basis on a part of the domain for one unknown."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of coefficients of all unknowns together."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Number of functions per unknown (the largest one)."""

    @property
    @abstractmethod
    def unknowns(self) -> int:
        """Number of unknowns."""

    @abstractmethod
    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        """∂^α u_k at the sites for each derivative, (number of derivatives, n)."""

    @property
    def time_windows(self) -> tuple[tuple[float, float], ...]:
        """(start, stop) of each time window; empty without windows."""
        return ()

    @property
    def is_time_only(self) -> bool:
        """Whether the space is Chebyshev polynomials of time alone, in windows (ordinary evolutions)."""
        return False

    def by_kind(
        self,
        *,
        single_domain: Callable[[SingleDomainSpace], T] | None = None,
        cells: Callable[[CellSpace], T] | None = None,
        other: Callable[[Space], T] | None = None,
    ) -> T:
        """Return the function of the kind of space in which systems are assembled, applied to the space.

        Subdomains are assembled on a single domain. ``other`` is applied to spaces without a function of
        their own, and those in which no system is assembled.
        """
        return apply_first(self, other)

    @property
    def known_range(self) -> tuple[int, float, float] | None:
        """(axis, low, high) if the functions are defined only for this range of a coordinate, else None."""
        return None

    def cell_boxes(self, box: Array) -> Array:
        """Return the cells into which a box (d, 2) is divided, window by window, (M, d, 2)."""
        return box[None]

    @property
    def window_spaces(self) -> tuple[Space, ...]:
        """The space of each time window; without windows the space itself."""
        return (self,)

    def window_coefficients(self, w: Array) -> list[Array]:
        """Return the coefficients of each of the ``window_spaces``."""
        return [w]

    def with_window_spaces(self, parts: Sequence[Space]) -> Space:
        """Return the space with other spaces in its time windows."""
        (part,) = parts
        return part

    def on_all_subdomains(self, unknowns: int) -> Space:
        """Return the space whose unknowns are numbered over all subdomains, p·unknowns + k."""
        return RepeatedUnknowns(self, unknowns)


def apply_first(space: S, *functions: Callable[[S], T] | None) -> T:
    """Return the first function that is given, applied to a space."""
    for function in functions:
        if function is not None:
            return function(space)
    raise TypeError(f"no system is assembled in a {type(space).__name__}")


class LocatedSpace(Space):
    """A space whose points determine which of its functions are evaluated (cells, windows, subdomains)."""

    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        out = np.empty((len(derivatives), len(sites[0])))
        for site, X in enumerate(sites):
            here = [i for i, j in enumerate(derivatives) if j.site == site]
            if here and len(X):
                out[here] = self._evaluate(X, tuple(replace(derivatives[i], site=0) for i in here), w)
        return out

    @abstractmethod
    def _evaluate(self, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        """∂^α u_k at points (n, d) for each derivative, (number of derivatives, n)."""


def evaluate_by_part(where: Indices, values: Callable[[int, Indices], Array], derivatives: int) -> Array:
    """Return values (derivatives, n), evaluated part by part at the points ``where`` assigns to it."""
    out = np.empty((derivatives, len(where)))
    order = np.argsort(where, kind="stable")
    parts, firsts = np.unique(where[order], return_index=True)
    for part, rows in zip(parts.tolist(), np.split(order, firsts[1:]), strict=True):
        out[:, rows] = values(part, rows)
    return out


class ConcatenatedSpace(Space):
    """Several spaces whose coefficients are concatenated, for example those of cells or time windows."""

    parts: tuple[Space, ...]

    @cached_property
    def starts(self) -> Indices:
        """First coefficient of each part, and the total number."""
        return np.concatenate([[0], np.cumsum([p.columns for p in self.parts])]).astype(np.intp)

    def _part_values(
        self, part: int, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array
    ) -> Array:
        """Return values of one part."""
        return self.parts[part].values((X,), derivatives, w[self.starts[part] : self.starts[part + 1]])

    @property
    def columns(self) -> int:
        return int(self.starts[-1])

    @property
    def nodes(self) -> int:
        return sum(p.nodes for p in self.parts)

    @property
    def unknowns(self) -> int:
        return self.parts[0].unknowns


@dataclass(frozen=True)
class RepeatedUnknowns(Space):
    """A space of ``count`` unknowns, used for the unknowns of all subdomains (unknown modulo ``count``)."""

    space: Space
    count: int

    @property
    def columns(self) -> int:
        return self.space.columns

    @property
    def nodes(self) -> int:
        return self.space.nodes

    @property
    def unknowns(self) -> int:
        return self.space.unknowns

    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        own = tuple(replace(j, unknown=j.unknown % self.count) for j in derivatives)
        return self.space.values(sites, own, w)


@runtime_checkable
class SpaceSpec(Protocol):
    """Hyperparameters of a space that is more than one basis for all unknowns."""

    @property
    def size(self) -> int:
        """Number of functions per unknown."""

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Space:
        """Return a space over the box (d, 2) with random weights from ``rng``."""


Choice = BasisSpec | SpaceSpec
"""The argument ``basis`` of `solve`."""
