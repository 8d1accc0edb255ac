r"""u_k(x) = Σⱼ wⱼ φⱼ(x): a space of functions for all unknowns of a problem, made of blocks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np

from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.problem import Jet


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
    def reach(self) -> tuple[int, float, float] | None:
        """Along which axis it is known only from where to where; None: everywhere."""
        return None

    def boxes_in(self, box: Array) -> Array:
        """The cells that a box (d, 2) is divided into, window by window, (M, d, 2)."""
        return box[None]


class SpaceSpec(Protocol):
    """What is chosen, before anything is drawn, where it is more than one basis for all unknowns."""

    @property
    def size(self) -> int:
        """How many functions each unknown gets."""

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Space:
        """A space over the box (d, 2), drawn at random."""


Choice = BasisSpec | SpaceSpec
"""What `solve` takes as ``basis``."""
