"""What all built-in shapes can do besides being a domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pibls.arrays import Rng
from pibls.geometry.faces.cloud import Cloud
from pibls.geometry.faces.face import Boundary, Face, draw
from pibls.geometry.maps import Affine
from pibls.pickling import DropsCaches, ImplementedFunction

if TYPE_CHECKING:
    from pibls.geometry.extrusion import Extrusion
    from pibls.geometry.protocol import Domain
    from pibls.geometry.revolution import Revolution
    from pibls.geometry.time import During


class FullyKnown(DropsCaches):
    """A domain that answers all that the library asks: faces, the space without time, the time, leaves."""

    @property
    def has_sides(self) -> bool:
        """Whether (a, b) for each of its coordinates says all of it."""
        return False

    def between(self, axis: int, start: float, stop: float) -> Domain | None:
        """The same with one of its coordinates from start to stop; None where that is another shape."""
        return None


class Shape(FullyKnown):
    """A domain in space: joined by ``|``, ``&`` and ``-``, moved, turned, scaled, and put into time.

    A shape of your own that derives from it needs `coordinates`, `bounds`, `interior`, `contains`, and
    `boundary` or `faces`; what follows here may stay as it is.
    """

    def boundary(self, n: int, rng: Rng) -> Boundary:
        """n points, evenly over the faces; a shape without `faces` of its own says its own points."""
        return draw(self.faces, n, np.ones(len(cast("Domain", self).coordinates)), rng)

    @property
    def faces(self) -> tuple[Face, ...]:
        """The smooth pieces of the boundary; unless a shape says more, one from which one can only draw."""
        return (Cloud(cast("Domain", self)),)

    @property
    def space(self) -> Domain:
        """Itself: there is no time in it."""
        return cast("Domain", self)

    @property
    def time(self) -> Any:
        """None: there is no time in it."""
        return None

    @property
    def leaves(self) -> tuple[object, ...]:
        """The shapes that own its boundary: itself."""
        return (self,)

    @property
    def inside(self) -> Any:
        """A SymPy condition that holds inside, for `sympy.Piecewise`: two materials, a local source."""
        return asked(self)

    def mapped(self, affine: Affine) -> Any:
        """Its image under an affine map."""
        from pibls.geometry.mapped import Mapped

        return Mapped(cast("Domain", self), affine)

    def moved(self, *distances: Any) -> Any:
        """{x + d : x ∈ Ω}, one distance per coordinate.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Disk((x, y), (0, 0), 1).moved(2, 0.5)
        Disk((x, y), center=(2, 0.5), radius=1)
        """
        from pibls.geometry.moving import moved

        return moved(self, distances)

    def turned(self, angle: Any, *, center: Any = None, axis: Any = None) -> Any:
        """Ω turned by an angle in radians, counter-clockwise, about ``center`` (the middle of its bounds).

        A body is turned about an ``axis``: the coordinate that stays.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Disk((x, y), (1, 0), 1).turned(sp.pi / 2, center=(0, 0)).center[1]
        1.0
        """
        from pibls.geometry.moving import turned

        return turned(self, angle, center, axis)

    def scaled(self, factor: Any, *, center: Any = None) -> Any:
        """Ω made larger or smaller about ``center`` (the middle of its bounds); one factor per coordinate
        stretches it.

        >>> import sympy as sp, pibls
        >>> x, y = sp.symbols("x y")
        >>> pibls.Box({x: (0, 2), y: (0, 2)}).scaled(0.5)
        Box({x: (0.5, 1.5), y: (0.5, 1.5)})
        """
        from pibls.geometry.moving import scaled

        return scaled(self, factor, center)

    def extruded(self, z: Any, low: Any, high: Any) -> Extrusion:
        """Ω × (low, high): a body with this base."""
        from pibls.geometry.extrusion import Extrusion

        return Extrusion(cast("Domain", self), z, low, high)

    def revolved(self, x: Any, y: Any) -> Revolution:
        """A body of revolution: this shape, in (r, z), turned about the z-axis; (x, y) has the distance r."""
        from pibls.geometry.revolution import Revolution

        return Revolution(cast("Domain", self), x, y)

    def during(self, t: Any, t0: Any, t1: Any) -> During:
        """Ω × (t0, t1).

        >>> import sympy as sp, pibls
        >>> x, t = sp.symbols("x t")
        >>> pibls.Interval(x, 0, 1).during(t, 0, 2).coordinates
        (x, t)
        """
        from pibls.geometry.time import During

        return During(cast("Domain", self), t, t0, t1)

    def __or__(self, other: Any) -> Any:
        return _combined("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return _combined("|", other, self)

    def __and__(self, other: Any) -> Any:
        return _combined("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return _combined("&", other, self)

    def __sub__(self, other: Any) -> Any:
        return _combined("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combined("-", other, self)


def _combined(sign: str, a: Any, b: Any) -> Any:
    from pibls.geometry.csg import combine

    return combine(sign, a, b)


def inside_of(shape: Any) -> Any:
    """The condition that holds inside any domain, a user's own too."""
    return shape.inside if isinstance(shape, Shape) else asked(shape)


def map_of(shape: Any, affine: Affine) -> Any:
    """The image of any domain under an affine map."""
    if isinstance(shape, Shape):
        return shape.mapped(affine)
    from pibls.geometry.mapped import Mapped

    return Mapped(shape, affine)


def asked(shape: Any) -> Any:
    """A condition that asks the shape itself, point by point, where there is no formula."""
    # Its values change on the boundary of the shape.
    function = ImplementedFunction.of("within_shape", _WithinShape(shape), shape=shape)
    return function(*shape.coordinates) > 0


@dataclass(frozen=True)
class _WithinShape:
    """1 inside of a shape, -1 outside."""

    shape: Any

    def __call__(self, *columns: Any) -> Any:
        X = np.column_stack([np.ravel(c) for c in np.broadcast_arrays(*columns)]).astype(float)
        return np.where(np.asarray(self.shape.contains(X)), 1.0, -1.0).reshape(np.shape(columns[0]))
