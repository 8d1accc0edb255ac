"""D = 310 ± 42 (13 %): the report that experimenters like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pibls.fitting.result import Fit

_STRONG = 0.9


def summary(fit: Fit) -> str:
    """A few lines: parameters, noise, criteria, and every doubt there is."""
    n, p = len(fit.misfit.y), len(fit.unknowns)
    solves = sum(e.solves for e in fit.experiments)
    searches = sum(e.searches for e in fit.experiments)
    lines = [
        f"{p} parameter{'s' * (p != 1)} from {n} values; "
        f"{solves} solves, {searches} searches, {fit.seconds:.3g} s",
        f"converged: {'yes' if fit.converged else 'no: ' + fit.descent.why}",
    ]
    u = fit.unknowns
    width = max(len(str(s)) for s in fit.parameters)
    for i, (s, value) in enumerate(fit.values.items()):
        std = fit.std[s]
        share = f" ({100 * std / abs(value):.1f} %)" if value and np.isfinite(std) else ""
        low, high = fit.interval(s, 0.95)
        lines.append(
            f"  {s!s:{width}} = {value:.6g} ± {std:.2g}{share}, 95 %: {low:.5g} … {high:.5g}"
            f"  (from {u.start[i]:.4g}, bounds {u.low[i]:g} … {u.high[i]:g})"
        )
    C = fit.correlation
    for i in range(p):
        for j in range(i):
            if abs(C[i, j]) > _STRONG:
                lines.append(f"  {fit.parameters[j]} and {fit.parameters[i]} are correlated: {C[i, j]:+.3f}")
    kinds = ["given" if g else "estimated" for g in fit.misfit.given]
    lines.append("sigma: " + ", ".join(f"{s:.3g} ({k})" for s, k in zip(fit.sigma, kinds, strict=True)))
    lines.append(f"AIC {fit.aic:.5g}, BIC {fit.bic:.5g}; {fit.residuals}")
    lines.append(f"identifiable: {'yes' if fit.identifiable else 'no: ' + str(fit.identifiable)}")
    if fit.at_bounds:
        names = ", ".join(map(str, fit.at_bounds))
        lines.append(f"at a bound: {names}: look whether the bound is meant, and take method='profile'")
    if fit.moved > 0.1:
        lines.append(f"a finer solve moves the values by {fit.moved:.2g} sigma: lower tol")
    return "\n".join(lines)
