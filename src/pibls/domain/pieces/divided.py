"""Ω = ∪ Ωₚ: what is asked of a domain in pieces, however it was divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pibls.arrays import Array, Mask, Numbers
from pibls.domain.protocol import Domain


class Divided(Protocol):
    """A domain in pieces."""

    @property
    def domain(self) -> Domain:
        """What is divided."""

    @property
    def samples(self) -> Sequence[Array]:
        """Points of each piece."""

    def __len__(self) -> int:
        """How many pieces there are."""

    def locate(self, X: Array) -> Numbers:
        """The piece of each point."""

    def box(self, piece: int) -> Array:
        """A box (d, 2) around a piece."""

    def is_between(self, X: Array) -> Mask:
        """Which points lie where what is given may jump."""

    def gaps(self, piece: int) -> tuple[tuple[tuple[float, ...], float], ...]:
        """(centre, radius) of circles or spheres in its holes and notches."""

    def are_alike(self, p: int, q: int) -> bool:
        """Whether two pieces are of one kind: what is between them is a seam."""
