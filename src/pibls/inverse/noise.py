r"""εᵢ = (gᵢ - yᵢ)/σᵢ: do the residuals look like noise?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array

_SUSPECT = 0.01  # probability below which chance is no explanation


@dataclass(frozen=True)
class Residuals:
    """Residuals in units of σ, with the tests of what noise is: independent, and as large as was said."""

    values: Array
    """(g - y)/σ, in the order of the data."""
    chi2: float
    degrees: int
    """Data less parameters."""
    chi2_p: float | None
    """How probable a misfit that large is; None where σ was estimated from it."""
    runs_p: float
    """How probable so few changes of sign are between neighbours."""
    durbin_watson: float
    """2 for independent neighbours, towards 0 where they are alike."""
    neighbours_p: float
    """How probable a number that far below 2 is."""

    @property
    def look_like_noise(self) -> bool:
        """Whether no test is against it."""
        return min(self.runs_p, self.neighbours_p, 1.0 if self.chi2_p is None else self.chi2_p) > _SUSPECT

    def __str__(self) -> str:
        words = []
        if self.chi2_p is not None and self.chi2_p <= _SUSPECT:
            words.append(f"the misfit is larger than sigma allows (chi2 {self.chi2:.4g}, not {self.degrees})")
        if min(self.runs_p, self.neighbours_p) <= _SUSPECT:
            words.append(
                f"neighbours err alike (runs test p = {self.runs_p:.1g}, "
                f"Durbin-Watson {self.durbin_watson:.2f}): the model lacks something, or noise is correlated"
            )
        return "; ".join(words) if words else "the residuals look like noise"


def residuals_of(r: Array, orders: list[Array], parameters: int, estimated: bool) -> Residuals:
    """``orders``: for each set of data, the indices of its values along a way through its points."""
    from scipy import special

    degrees = max(len(r) - parameters, 1)
    chi2 = float(r @ r)
    chains = [r[o] for o in orders if len(o) > 1]
    differences = np.concatenate([np.diff(c) for c in chains]) if chains else np.zeros(1)
    positive = np.concatenate([c > 0 for c in chains]) if chains else r > 0
    changes = sum(int(np.count_nonzero(np.diff(c > 0))) for c in chains)
    n1, n2 = int(positive.sum()), int((~positive).sum())
    p = 1.0
    if n1 > 3 and n2 > 3:
        n = n1 + n2
        mean = 2.0 * n1 * n2 / n + 1.0
        variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0)
        runs = changes + len(chains)
        mean += 0.5 * (len(chains) - 1)  # a chain that ends begins a run, whatever its sign
        p = float(special.ndtr((runs - mean) / np.sqrt(max(variance, 1e-12))))
    watson = float(np.sum(differences**2) / max(chi2, 1e-300))
    return Residuals(
        r,
        chi2,
        degrees,
        None if estimated else float(special.chdtrc(degrees, chi2)),
        p,
        watson,
        # 2(1 - ρ), where ρ of n independent values is normal with σ = 1/√n.
        float(special.ndtr((watson - 2.0) / (2.0 / np.sqrt(len(differences))))),
    )


def way_through(X: Array) -> Array:
    """The indices of points from one to the next: later coordinates (time) outermost, the first fastest."""
    return np.asarray(np.lexsort(X.T) if X.shape[1] else range(len(X)))
