r"""Statistical tests of the residuals εᵢ = (gᵢ - yᵢ)/σᵢ: magnitude (χ²) and autocorrelation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array

_SIGNIFICANCE = 0.01  # p-value below which a test rejects


@dataclass(frozen=True)
class Residuals:
    """Residuals in units of σ, with tests of their independence and of their magnitude."""

    values: Array
    """(g - y)/σ, in the order of the data."""
    chi2: float
    degrees: int
    """Degrees of freedom: number of data minus number of parameters."""
    chi2_p: float | None
    """p-value of the χ² test; None if σ was estimated from the misfit."""
    runs_p: float
    """p-value of the runs test: too few changes of sign between neighbours."""
    durbin_watson: float
    """The Durbin-Watson statistic: 2 for independent residuals, towards 0 for autocorrelated ones."""
    neighbours_p: float
    """p-value of the Durbin-Watson statistic against positive autocorrelation."""

    @property
    def look_like_noise(self) -> bool:
        """Whether no test rejects independent residuals of the given σ."""
        return (
            min(self.runs_p, self.neighbours_p, 1.0 if self.chi2_p is None else self.chi2_p) > _SIGNIFICANCE
        )

    def __str__(self) -> str:
        words = []
        if self.chi2_p is not None and self.chi2_p <= _SIGNIFICANCE:
            words.append(f"the misfit is larger than sigma allows (chi2 {self.chi2:.4g}, not {self.degrees})")
        if min(self.runs_p, self.neighbours_p) <= _SIGNIFICANCE:
            words.append(
                f"the residuals are autocorrelated (runs test p = {self.runs_p:.1g}, "
                f"Durbin-Watson {self.durbin_watson:.2f}): the model is incomplete or the noise correlated"
            )
        return "; ".join(words) if words else "the residuals look like noise"


def assess_residuals(r: Array, orders: list[Array], parameters: int, estimated: bool) -> Residuals:
    """Return the residuals r with their tests.

    ``orders`` holds, for each set of data, the indices of its values along a path through its points.
    """
    from scipy import special

    degrees = max(len(r) - parameters, 1)
    chi2 = float(r @ r)
    sequences = [r[o] for o in orders if len(o) > 1]
    differences = np.concatenate([np.diff(c) for c in sequences]) if sequences else np.zeros(1)
    positive = np.concatenate([c > 0 for c in sequences]) if sequences else r > 0
    changes = sum(int(np.count_nonzero(np.diff(c > 0))) for c in sequences)
    n1, n2 = int(positive.sum()), int((~positive).sum())
    p = 1.0
    if n1 > 3 and n2 > 3:
        n = n1 + n2
        mean = 2.0 * n1 * n2 / n + 1.0
        variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0)
        runs = changes + len(sequences)
        mean += 0.5 * (len(sequences) - 1)  # each sequence starts a new run, whatever its sign
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


def path_order(X: Array) -> Array:
    """Return the indices that sort points lexicographically, the first coordinate varying fastest."""
    return np.asarray(np.lexsort(X.T) if X.shape[1] else range(len(X)))
