"""Rectilinear grids x₁ × … × x_d over the bounding box of a domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Mask, floats
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of
from pibls.problem import within
from pibls.sampling.sampled_field import SampledField

_DEFAULT_SIZES = {1: 201, 2: 101, 3: 41, 4: 21}
_DEFAULT_SIZE_HIGH_DIMENSION = 11  # points per coordinate for more than four coordinates


@dataclass(frozen=True)
class Grid:
    """A rectilinear grid: one array of values per coordinate of a domain, in its order."""

    domain: Domain
    axes: tuple[Array, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(c) for c in self.domain.coordinates)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a) for a in self.axes)

    def points(self) -> Array:
        """Return all grid points (n, d); the last coordinate varies fastest."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, len(self.axes))

    def inside(self) -> Mask:
        """Return which grid points lie in the domain, in the shape of the grid."""
        return within(self.domain, self.points()).reshape(self.shape)

    def sample(self, field: SampledField) -> Array:
        """Return the values of a field in the shape of the grid; NaN outside the domain."""
        return field(self.points()).reshape(self.shape)


def grid_of(domain: Domain, given: Mapping[str, npt.ArrayLike], default: int | None = None) -> Grid:
    """Return a grid; ``given`` has a number of points or the values of each coordinate, by symbol or name."""
    names = [str(c) for c in domain.coordinates]
    unknown = [str(k) for k in given if str(k) not in names]
    if unknown:
        raise ProblemError(
            "grid",
            expected=f"coordinates of the domain ({', '.join(names)})",
            got=", ".join(unknown),
            remedy=f"Write {names[0]}=50 for 50 points, or {names[0]}=[…] for values.",
        )
    n = default if default is not None else _DEFAULT_SIZES.get(len(names), _DEFAULT_SIZE_HIGH_DIMENSION)
    requested = {str(k): v for k, v in given.items()}
    box = box_of(domain)
    return Grid(domain, tuple(_axis(name, requested.get(name, n), *ends) for name, ends in zip(names, box)))


def _axis(name: str, wanted: npt.ArrayLike, low: float, high: float) -> Array:
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool) and wanted >= 2:
        return np.linspace(low, high, int(wanted))
    try:
        values = floats(wanted)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ProblemError(
            f"grid: {name}",
            expected="a number of points (at least 2), or a list of increasing values",
            got=repr(wanted),
            remedy=f"Write {name}=50, or {name}=[0.5] for a single value.",
        )
    return values
