r"""Comparison of two fitted models by AIC, BIC and F = ((S₁ - S₂)/(p₂ - p₁)) / (S₂/(n - p₂))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.errors import ProblemError

_SIGNIFICANCE = 0.05  # p-value below which the additional parameters are needed
_MIN_AIC_DIFFERENCE = 2.0  # below which AIC does not distinguish the models


@dataclass(frozen=True)
class Comparison:
    """Comparison of two fits to the same data."""

    aic: float
    """AIC of the first minus that of the second: negative if the first is better."""
    bic: float
    """BIC of the first minus that of the second."""
    p: float | None
    """p-value of the F-test (of the likelihood-ratio test if σ is given) for the smaller of two nested
    models; None if both have the same number of parameters."""
    words: str
    """The result as a sentence."""

    def __str__(self) -> str:
        return self.words


def compare_fits(
    first: tuple[int, float, float, bool], second: tuple[int, float, float, bool], aic: float, bic: float
) -> Comparison:
    """Compare two fits, each given as (data, parameters, Σr², whether σ is estimated).

    Σr² must be in the same units for both; ``aic`` and ``bic`` are the differences.
    """
    from scipy import special

    (n, p1, s1, estimated), (m, p2, s2, _) = first, second
    if n != m:
        raise ProblemError(
            "compare(other)",
            expected=f"a fit to the same {n} values",
            got=f"one to {m}",
            remedy="Fit both models to the same data.",
        )
    better = "the first" if aic < 0 else "the second"
    words = f"AIC prefers {better} by {abs(aic):.3g}"
    if abs(aic) < _MIN_AIC_DIFFERENCE:
        words += ", which is not significant"
    if p1 == p2:
        return Comparison(
            aic, bic, None, words + "; no test of nested models, as both have as many parameters"
        )
    (p_small, s_small), (p_large, s_large) = sorted([(p1, s1), (p2, s2)])
    gain = max(s_small - s_large, 0.0)
    if estimated:
        F = (gain / (p_large - p_small)) / (s_large / max(n - p_large, 1))
        p = float(special.fdtrc(p_large - p_small, max(n - p_large, 1), F))
        test = f"F = {F:.3g}"
    else:
        p = float(special.chdtrc(p_large - p_small, gain))
        test = f"chi2 = {gain:.3g}"
    enough = "needed" if p < _SIGNIFICANCE else "not needed"
    more = "first" if p1 > p2 else "second"
    words += f"; if nested, the additional parameters of the {more} are {enough} ({test}, p = {p:.2g})"
    return Comparison(aic, bic, p, words)


def information_criteria(
    n: int, parameters: float, squares: float, log_sigma: float, estimated: int
) -> tuple[float, float]:
    """Return AIC = -2 ln L + 2p and BIC = -2 ln L + p ln n; each estimated σ counts as a parameter.

    ``squares`` is Σ(r/σ)², ``log_sigma`` Σ ln σ.
    """
    deviance = squares + 2.0 * log_sigma + n * np.log(2.0 * np.pi)
    p = parameters + estimated
    return float(deviance + 2 * p), float(deviance + p * np.log(n))
