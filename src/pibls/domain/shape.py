"""What all built-in shapes can do besides being a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pibls.domain.cloud import Cloud

if TYPE_CHECKING:
    from pibls.domain.face import Face
    from pibls.domain.protocol import Domain, FullDomain
    from pibls.domain.time import During


class Known:
    """A domain that answers all that the library asks (`FullDomain`)."""


class Shape(Known):
    """A domain in space; `during` adds time to it.

    A shape of your own that derives from it needs `coordinates`, `bounds`, `interior`, `boundary` and
    `contains`; what follows here may stay as it is.
    """

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

    def between(self, start: float, stop: float) -> FullDomain | None:
        """None: its last coordinate is no time."""
        return None

    def during(self, t: Any, t0: Any, t1: Any) -> During:
        """Ω × (t0, t1).

        >>> import sympy as sp, pibls
        >>> x, t = sp.symbols("x t")
        >>> pibls.Interval(x, 0, 1).during(t, 0, 2).coordinates
        (x, t)
        """
        from pibls.domain.time import During

        return During(cast("Domain", self), t, t0, t1)
