"""What all built-in shapes can do besides being a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pibls.domain.protocol import Domain
    from pibls.domain.time import During


class Shape:
    """A domain in space; `during` adds time to it."""

    def during(self, t: Any, t0: Any, t1: Any) -> During:
        """Ω × (t0, t1).

        >>> import sympy as sp, pibls
        >>> x, t = sp.symbols("x t")
        >>> pibls.Interval(x, 0, 1).during(t, 0, 2).coordinates
        (x, t)
        """
        from pibls.domain.time import During

        return During(cast("Domain", self), t, t0, t1)
