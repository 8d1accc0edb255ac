r"""F = ((S₁ - S₂)/(p₂ - p₁)) / (S₂/(n - p₂)): which of two models do the data support?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.errors import ProblemError

_RELIABLE = 0.05
_CLEAR = 2.0  # difference of AIC below which it says nothing


@dataclass(frozen=True)
class Comparison:
    """Two fits to the same data."""

    aic: float
    """AIC of the first less that of the second: negative where the first is better."""
    bic: float
    p: float | None
    """Of an F-test (a likelihood-ratio test where σ is given) that the smaller of two nested models will do;
    None for as many parameters in both."""
    words: str

    def __str__(self) -> str:
        return self.words


def compared(
    first: tuple[int, float, float, bool], second: tuple[int, float, float, bool], aic: float, bic: float
) -> Comparison:
    """Each is (data, parameters, Σr², whether σ is estimated); Σr² in the same units for both."""
    from scipy import special

    (n, p1, s1, estimated), (m, p2, s2, _) = first, second
    if n != m:
        raise ProblemError(
            "compare(other)",
            expected=f"a fit to the same {n} values",
            got=f"one to {m}",
            remedy="Models are compared on the same data.",
        )
    better = "the first" if aic < 0 else "the second"
    words = f"AIC prefers {better} by {abs(aic):.3g}"
    if abs(aic) < _CLEAR:
        words += ", which says nothing"
    if p1 == p2:
        return Comparison(aic, bic, None, words + "; as many parameters: no test of one within the other")
    (p_small, s_small), (p_large, s_large) = sorted([(p1, s1), (p2, s2)])
    gain = max(s_small - s_large, 0.0)
    if estimated:
        F = (gain / (p_large - p_small)) / (s_large / max(n - p_large, 1))
        p = float(special.fdtrc(p_large - p_small, max(n - p_large, 1), F))
        test = f"F = {F:.3g}"
    else:
        p = float(special.chdtrc(p_large - p_small, gain))
        test = f"chi2 = {gain:.3g}"
    enough = "needed" if p < _RELIABLE else "not needed"
    more = "first" if p1 > p2 else "second"
    words += f"; if nested, the further parameters of the {more} are {enough} ({test}, p = {p:.2g})"
    return Comparison(aic, bic, p, words)


def information(
    n: int, parameters: float, squares: float, log_sigma: float, estimated: int
) -> tuple[float, float]:
    """AIC and BIC: -2 ln L + 2p, -2 ln L + p ln n; each estimated σ is a parameter too.

    ``squares`` is Σ(r/σ)², ``log_sigma`` Σ ln σ.
    """
    deviance = squares + 2.0 * log_sigma + n * np.log(2.0 * np.pi)
    p = parameters + estimated
    return float(deviance + 2 * p), float(deviance + p * np.log(n))
