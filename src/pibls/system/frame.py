r"""n₁ × n₂ × … rows: how the rows of an evolution on a box are products of points along its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from pibls.arrays import Array


@dataclass(frozen=True)
class Side:
    """A side across a coordinate, at one end, with the numbers of points along all of them."""

    axis: int
    end: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Frame:
    """How the rows of an evolution on a box are products of lines."""

    sizes: tuple[int, ...]
    repeated: tuple[bool, ...]
    half: Array
    order: tuple[int, ...]
    """For each equation the unknown that it determines."""
    orders: tuple[tuple[int, ...], ...]
    """Along each coordinate, of each unknown."""
    conditions: tuple[tuple[int, tuple[Side, ...]], ...]
    """The unknown of each condition, and its sides in the order of its rows."""
