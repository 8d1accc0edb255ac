"""Sections {x ∈ Ω : x_j = c_j} of a domain, with some coordinates fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number
from pibls.geometry import Domain, box_of, time_of
from pibls.geometry.checks.arguments import real_number
from pibls.problem import within


@dataclass(frozen=True)
class Section:
    """The section of a domain on which the coordinates in ``fixed`` (index → value) have the given values.

    The other coordinates, with indices ``free``, are the coordinates of the section, in this order.
    """

    domain: Domain
    free: tuple[int, ...]
    fixed: Mapping[int, float]

    @property
    def bounds(self) -> Array:
        """The bounds of the free coordinates, (k, 2)."""
        return np.asarray(box_of(self.domain)[list(self.free)])

    @property
    def symbols(self) -> tuple[Coordinate, ...]:
        """The symbols of the free coordinates."""
        return tuple(self.domain.coordinates[i] for i in self.free)

    @property
    def is_space(self) -> bool:
        """Whether all free coordinates are spatial, so that their lengths are comparable."""
        return time_of(self.domain) not in self.symbols

    def points(self, P: Array) -> Array:
        """Return points of the section (n, k) as points of the domain (n, d)."""
        X = np.empty((len(P), len(self.domain.coordinates)))
        X[:, list(self.free)] = P
        for i, value in self.fixed.items():
            X[:, i] = value
        return X

    def inside(self, P: Array) -> Mask:
        """Return which points of the section lie in the closed domain."""
        return within(self.domain, self.points(P))

    def shape(self, resolution: int) -> tuple[int, ...]:
        """Return the number of points per free coordinate.

        It is ``resolution`` for the longest; spatial coordinates have equal spacing.
        """
        lengths = np.ptp(self.bounds, axis=1)
        if not self.is_space:
            return (resolution,) * len(lengths)
        least = max(2, resolution // 4)
        counts = np.round(resolution * lengths / lengths.max()).astype(int)
        return tuple(int(max(n, least)) for n in counts)

    def axes(self, shape: tuple[int, ...]) -> tuple[Array, ...]:
        """Return evenly spaced values of each free coordinate, ``shape[i]`` of the i-th."""
        return tuple(np.linspace(low, high, n) for (low, high), n in zip(self.bounds, shape, strict=True))

    def empty_error(self) -> ProblemError:
        """Return the error to raise if the section is empty."""
        names = [str(c) for c in self.domain.coordinates]
        place = ", ".join(f"{names[i]} = {v:g}" for i, v in self.fixed.items())
        return ProblemError(
            "at",
            expected="values for which the section is not empty",
            got=f"{place}, where {self.domain!r} is empty"
            if place
            else f"{self.domain!r}, which appears to be empty",
            remedy="Choose other values with at={…}.",
        )


def fixed_values(
    domain: Domain, at: Mapping[Coordinate | str, Number] | None, argument: str = "at"
) -> dict[int, float]:
    """Return ``at`` ({symbol or name: value}) as {index of the coordinate: value}."""
    names = [str(c) for c in domain.coordinates]
    box = box_of(domain)
    out: dict[int, float] = {}
    if at is not None and not isinstance(at, Mapping):
        raise ProblemError(
            argument,
            expected="a dictionary {coordinate: value}",
            got=repr(at),
            remedy=f"Write {argument}={{{names[-1]}: {box[-1].mean():g}}}.",
        )
    for key, value in (at or {}).items():
        if str(key) not in names:
            raise ProblemError(
                argument,
                expected=f"coordinates of the domain ({', '.join(names)})",
                got=repr(key),
                remedy="Fix one of these.",
            )
        i = names.index(str(key))
        number = real_number(value, f"{argument}[{key}]")
        slack = 1e-9 * (box[i, 1] - box[i, 0])
        if not box[i, 0] - slack <= number <= box[i, 1] + slack:
            raise ProblemError(
                f"{argument}[{key}]",
                expected=f"a value between {box[i, 0]:g} and {box[i, 1]:g}",
                got=f"{number:g}",
                remedy="The solution is only defined in the domain.",
            )
        out[i] = number
    return out
