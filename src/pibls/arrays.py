"""Array types. Shapes: points (N, d), basis values (N, M), coefficients (M,) per unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]
Complex: TypeAlias = npt.NDArray[np.complex128]
Numbers: TypeAlias = Array | Complex
Bounds: TypeAlias = Array | Sequence[Sequence[float]]
"""The lower and upper ends of each coordinate, (d, 2)."""
MultiIndex: TypeAlias = tuple[int, ...]
Rng: TypeAlias = np.random.Generator
PointFunction: TypeAlias = Callable[..., Any]
"""User function of the coordinate arrays, one argument per coordinate."""


def floats(values: Any) -> Array:
    """Return an array of float64; masked entries of a NumPy masked array become NaN.

    >>> floats(np.ma.array([1.0, 2.0], mask=[False, True]))
    array([ 1., nan])
    """
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(values.astype(float), np.nan))
        return np.asarray(values, dtype=float)
    except OverflowError as problem:  # integers such as 10**400
        raise ValueError(str(problem)) from None
