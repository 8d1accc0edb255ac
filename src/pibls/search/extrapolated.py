"""The Taylor polynomial of the last window in time: where the next one starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.problem import Jet
from pibls.space import Space


@dataclass(frozen=True)
class Extrapolated(Space):
    """u(x, t) ≈ Σ_m (t - t₀)^m/m! ∂_t^m u(x, t₀): where the next window starts from."""

    space: Space
    w: Array
    axis: int
    t: float
    order: int

    @property
    def columns(self) -> int:
        return 0

    @property
    def nodes(self) -> int:
        return self.space.nodes

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        out = np.zeros((len(jets), len(sites[0])))
        for site, X in enumerate(sites):
            h = X[:, self.axis] - self.t
            held = X[:1].copy() if X.shape[1] == 1 else X.copy()  # on a line, the start is one place
            held[:, self.axis] = self.t
            terms: list[tuple[int, Jet, Array]] = []
            for i, j in enumerate(jets):
                if j.site != site:
                    continue
                factor = np.ones(len(X))
                for m in range(j.alpha[self.axis], max(self.order, j.alpha[self.axis]) + 1):
                    extra = m - j.alpha[self.axis]
                    if extra:
                        factor = factor * h / extra
                    alpha = tuple(m if a == self.axis else v for a, v in enumerate(j.alpha))
                    terms.append((i, Jet(j.unknown, alpha), factor))
            if terms:
                found = self.space.values((held,), tuple(jet for _, jet, _ in terms), self.w)
                for (i, _, factor), values in zip(terms, found, strict=True):
                    out[i] += factor * values
        return out
