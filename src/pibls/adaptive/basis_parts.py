"""Optional properties of a basis: its parts, scale, frequencies, cells and vector functions, as protocols.

A basis of the user has them if it defines the attributes; no class is named here, so that a new kind of basis
needs no change of the solver.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from pibls.adaptive.subdomains.family import SubdomainSpecs
from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.spaces import Choice, Space, VectorFunctions


@runtime_checkable
class ScaledSpec(Protocol):
    """A basis with a scale, the same or one for each coordinate."""

    @property
    def scale(self) -> float | tuple[float, ...]: ...


@runtime_checkable
class BoundarySpec(Protocol):
    """A basis that states whether its functions need more boundary points."""

    @property
    def needs_dense_boundary(self) -> bool: ...


@runtime_checkable
class CompositeSpec(Protocol):
    """A basis that consists of several bases side by side."""

    @property
    def parts(self) -> tuple[BasisSpec, ...]: ...


@runtime_checkable
class VectorSpec(Protocol):
    """A basis with functions of several unknowns."""

    @property
    def fields(self) -> tuple[VectorFunctions, ...]: ...


@runtime_checkable
class GridSpec(Protocol):
    """A local basis in every cell of a grid."""

    @property
    def cells(self) -> tuple[int, ...]: ...

    @property
    def local(self) -> BasisSpec: ...


@runtime_checkable
class FourierSpec(Protocol):
    """A basis of plane waves with random frequencies, which do not depend on the domain."""

    def frequencies(self, d: int, rng: np.random.Generator) -> Array:
        """Return frequencies in d coordinates, (d, M/2)."""


@runtime_checkable
class SpaceBuilder(Protocol):
    """A basis that defines a space of its own instead of one basis for all unknowns."""

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Space:
        """Return a space over the box (d, 2)."""


@runtime_checkable
class ReducibleSpec(Protocol):
    """Singular functions of which the highest orders can be dropped."""

    def reduced(self, share: float) -> BasisSpec:
        """Return the functions up to a share of the highest order."""


def parts_of(spec: Choice) -> tuple[BasisSpec, ...]:
    """Return the bases that a basis consists of: side by side, or one for each subdomain."""
    if isinstance(spec, CompositeSpec):
        return spec.parts
    return spec.specs if isinstance(spec, SubdomainSpecs) else ()


def vector_functions_of(spec: Choice) -> tuple[VectorFunctions, ...]:
    """Return the functions of several unknowns in a basis."""
    return spec.fields if isinstance(spec, VectorSpec) else ()
