r"""L⁻¹ r: rows of products along the axes, solved through the nearest sum, or box by box.

Through the nearest sum of one operator along each axis: at once where L is such a sum, else by GMRES with
that in front. In the plane, where that takes too many steps, all boxes are eliminated, and the factors then
stand in front of what comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.tensor_products.condensed import Condensed
from pibls.assembly.tensor_products.nearest import Nearest
from pibls.assembly.tensor_products.products import Linear, ProductRows
from pibls.deadline import go_on
from pibls.linalg.krylov import gmres

_KRYLOV = 150
_FEW, _FEWER = 24, 12  # steps of GMRES in the plane: with the nearest sum in front, and with old factors
_ENTRIES = 1.5e8  # of all vectors that GMRES keeps
_SINGULAR = 1e-6
"""The least eigenvalue, in units of what a function that varies over the box has, below which others
are asked whether anything is undetermined."""


@dataclass
class Inverse:
    """L⁻¹ for one L after another."""

    rows: ProductRows
    nearest: Nearest | None = None
    condensed: Condensed | None = None
    solves: int = 0
    eliminations: int = 0
    _of: list[Linear] = field(default_factory=list)
    """What was eliminated last."""

    @property
    def front(self) -> Nearest | Condensed | None:
        """What stands in front."""
        return self.condensed or self.nearest

    def apply(self, L: Linear, r: list[Array], left: float) -> Array | None:
        """L⁻¹ r, but for ``left`` of it; None where that is not found."""
        if self.condensed is not None:
            if self._of[-1] is L:
                return self.condensed.solve(r)
            again = self._iterated(self.condensed, L, r, left, _FEWER)
            return self._eliminated(L, r) if again is None else again
        if not self.rows.boxed.is_plain:
            return self._eliminated(L, r)
        self.nearest = Nearest.of(self.rows, L)
        if self.nearest is None or (self._is_singular(self.nearest) and not self.nearest.exact):
            return self._eliminated(L, r)
        if self._is_singular(self.nearest):
            return None
        self.solves += 1
        if self.nearest.exact:
            return self.nearest.solve(r)
        plane = len(self.rows.axes) == 2
        found = self._iterated(self.nearest, L, r, left, _FEW if plane else _KRYLOV)
        return self._eliminated(L, r) if found is None and plane else found

    def _iterated(
        self, front: Nearest | Condensed, L: Linear, r: list[Array], left: float, most: int
    ) -> Array | None:
        b = front.solve(r)
        most = int(min(most, max(_ENTRIES / b.size, 10)))
        found = gmres(lambda V: front.solve(L(V)), b, left=left, most=most, patience=max(most // 5, 8))
        self.solves += found.steps
        return found.z if found.left < max(30.0 * left, 1e-4 if most > _FEW else 0.0) else None

    def _eliminated(self, L: Linear, r: list[Array]) -> Array | None:
        go_on(__name__)
        self.condensed = Condensed.of(self.rows, L)
        self.eliminations += 1
        if self.condensed is None or self._is_soft(self.condensed, L):
            return None
        self._of = [L]
        return self.condensed.solve(r)

    def _is_singular(self, nearest: Nearest) -> bool:
        total = np.abs(nearest.factors.sums)
        least, most = float(total.min()), float(total.max())
        return least <= max(_SINGULAR * nearest.natural, 10 * np.finfo(float).eps * most)

    def _is_soft(self, condensed: Condensed, L: Linear) -> bool:
        """Whether rows of their natural size make a function that is far larger than one."""
        rng = np.random.default_rng(0)
        lengths = self.rows.boxed.box[:, 1] - self.rows.boxed.box[:, 0]
        r = []
        for g, a in zip(self.rows.groups, L.coefficients, strict=True):
            natural = [np.prod(lengths ** -np.array(alpha, dtype=float)) for _, alpha in g.terms]
            size = max(float(np.abs(c).max()) * s for c, s in zip(a, natural, strict=True))
            r.append(size * rng.uniform(-1.0, 1.0, g.shape))
        r += [np.ones(1)] if self.rows.boxed.single else []
        return not float(self.rows.sizes(condensed.solve(r)).max()) < 1.0 / _SINGULAR
