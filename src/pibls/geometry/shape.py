"""Base classes of built-in domains: Boolean operations, transformations, extrusion, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Bounds, Mask, Rng
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry.affine import Affine
from pibls.geometry.faces.face import Boundary, Face, draw_boundary
from pibls.geometry.faces.sampled_face import SampledFace
from pibls.runtime.pickling import DropsCaches, ImplementedFunction

if TYPE_CHECKING:
    from pibls.geometry.extrusion import Extrusion
    from pibls.geometry.protocol import Domain
    from pibls.geometry.revolution import Revolution
    from pibls.geometry.space_time import During


class BuiltinDomain(DropsCaches):
    """Base class of domains that provide faces, spatial domain, time coordinate and primitive shapes."""

    if TYPE_CHECKING:  # at runtime, dataclasses would take these for the default values of their fields

        @property
        def coordinates(self) -> tuple[Coordinate, ...]: ...
        @property
        def bounds(self) -> Bounds: ...
        @property
        def faces(self) -> tuple[Face, ...]: ...
        @property
        def space(self) -> Domain: ...
        @property
        def time(self) -> Coordinate | None: ...
        @property
        def leaves(self) -> tuple[object, ...]: ...
        def interior(self, n: int, rng: Rng) -> Array: ...
        def boundary(self, n: int, rng: Rng) -> Boundary: ...
        def contains(self, X: Array) -> Mask: ...

    @property
    def is_box(self) -> bool:
        """Whether the domain is an axis-parallel box, defined by its bounds."""
        return False

    def with_range(self, axis: int, start: float, stop: float) -> Domain | None:
        """Return the domain with another range of one coordinate; None where that is not supported."""
        return None


class Shape(BuiltinDomain):
    """A domain in space, with Boolean operations ``|``, ``&``, ``-``, affine transformations and time.

    A derived class must define `coordinates`, `bounds`, `interior`, `contains`, and either `boundary` or
    `faces`; the other members have default implementations.
    """

    def boundary(self, n: int, rng: Rng) -> Boundary:
        """Return n random boundary points, uniform over `faces`; a shape without these overrides it."""
        return draw_boundary(self.faces, n, np.ones(len(self.coordinates)), rng)

    @property
    def faces(self) -> tuple[Face, ...]:
        """The smooth faces of the boundary; by default one face that is only sampled at random."""
        return (SampledFace(self),)

    @property
    def space(self) -> Domain:
        """The spatial domain: the shape itself."""
        return self

    @property
    def time(self) -> Coordinate | None:
        """The time symbol: None."""
        return None

    @property
    def leaves(self) -> tuple[object, ...]:
        """The primitive shapes that own the boundary: by default the shape itself."""
        return (self,)

    @property
    def inside(self) -> Logical:
        """A SymPy condition that is true inside, for use in `sympy.Piecewise` (materials, local sources)."""
        return containment_condition(self)

    def mapped(self, affine: Affine) -> Shape:
        """Return the image of the shape under an affine map."""
        from pibls.geometry.mapped import Mapped

        return Mapped(self, affine)

    def moved(self, *distances: Number) -> Shape:
        """Return the translated shape {x + d : x ∈ Ω}, with one distance per coordinate.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Disk((x, y), (0, 0), 1).moved(2, 0.5)
        Disk((x, y), center=(2, 0.5), radius=1)
        """
        from pibls.geometry.transforms import translated

        return translated(self, distances)

    def turned(
        self, angle: Number, *, center: Sequence[Number] | None = None, axis: Coordinate | None = None
    ) -> Shape:
        """Return the shape rotated counter-clockwise by an angle in radians.

        The centre of rotation is ``center``, by default the centre of the bounds. A shape in three dimensions
        is rotated about the coordinate ``axis``.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Disk((x, y), (1, 0), 1).turned(sp.pi / 2, center=(0, 0)).center[1]
        1.0
        """
        from pibls.geometry.transforms import rotated

        return rotated(self, angle, center, axis)

    def scaled(self, factor: Number | Sequence[Number], *, center: Sequence[Number] | None = None) -> Shape:
        """Return the shape scaled about ``center``, by default the centre of its bounds.

        ``factor`` is a number, or one number per coordinate.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Box({x: (0, 2), y: (0, 2)}).scaled(0.5)
        Box({x: (0.5, 1.5), y: (0.5, 1.5)})
        """
        from pibls.geometry.transforms import scaled

        return scaled(self, factor, center)

    def extruded(self, z: Coordinate, low: Number, high: Number) -> Extrusion:
        """Return the extrusion Ω × (low, high) along the coordinate z."""
        from pibls.geometry.extrusion import Extrusion

        return Extrusion(self, z, low, high)

    def revolved(self, x: Coordinate, y: Coordinate) -> Revolution:
        """Return the body of revolution of this profile in (r, z) about the z-axis, with r² = x² + y²."""
        from pibls.geometry.revolution import Revolution

        return Revolution(self, x, y)

    def during(self, t: Coordinate, t0: Number, t1: Number) -> During:
        """Return the space-time domain Ω × (t0, t1).

        >>> import sympy as sp, pibls
        >>> x, t = sp.symbols("x t")
        >>> pibls.Interval(x, 0, 1).during(t, 0, 2).coordinates
        (x, t)
        """
        from pibls.geometry.space_time import During

        return During(self, t, t0, t1)

    def __or__(self, other: object) -> Shape:
        return _combined("|", self, other)

    def __ror__(self, other: object) -> Shape:
        return _combined("|", other, self)

    def __and__(self, other: object) -> Shape:
        return _combined("&", self, other)

    def __rand__(self, other: object) -> Shape:
        return _combined("&", other, self)

    def __sub__(self, other: object) -> Shape:
        return _combined("-", self, other)

    def __rsub__(self, other: object) -> Shape:
        return _combined("-", other, self)


def _combined(operator: str, a: object, b: object) -> Shape:
    from pibls.geometry.csg import combine
    from pibls.geometry.protocol import is_domain

    return combine(operator, a, b) if is_domain(a) and is_domain(b) else NotImplemented


def inside_condition(shape: Domain) -> Logical:
    """Return a SymPy condition that is true inside a domain, built in or user-defined."""
    return shape.inside if isinstance(shape, Shape) else containment_condition(shape)


def affine_image(shape: Domain, affine: Affine) -> Shape:
    """Return the image of a domain, built in or user-defined, under an affine map."""
    if isinstance(shape, Shape):
        return shape.mapped(affine)
    from pibls.geometry.mapped import Mapped

    return Mapped(shape, affine)


def containment_condition(shape: Domain) -> Logical:
    """Return a SymPy condition that calls ``shape.contains``, for shapes without a formula."""
    # The shape is attached so that its boundary is known as a discontinuity of this function.
    function = ImplementedFunction.of("within_shape", _WithinShape(shape), shape=shape)
    return function(*shape.coordinates) > 0


@dataclass(frozen=True)
class _WithinShape:
    """The function that is 1 inside a shape and -1 outside."""

    shape: Domain

    def __call__(self, *columns: Array) -> Array:
        X = np.column_stack([np.ravel(c) for c in np.broadcast_arrays(*columns)]).astype(float)
        return np.where(np.asarray(self.shape.contains(X)), 1.0, -1.0).reshape(np.shape(columns[0]))
