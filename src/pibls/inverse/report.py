"""D = 310 ± 42 (13 %): the report that experimenters like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pibls.inverse.field import Field
    from pibls.inverse.result import Fit

_STRONG = 0.9
_PLACES = 5


def summary(fit: Fit) -> str:
    """A few lines: parameters, noise, criteria, and every doubt there is."""
    n, p = len(fit.misfit.y), len(fit.unknowns)
    wanted = p - sum(len(f.symbols) for f in fit.fields)
    parts = [f"{wanted} parameter{'s' * (wanted != 1)}"] if wanted or not fit.fields else []
    if fit.fields:
        parts.append(f"{len(fit.fields)} function{'s' * (len(fit.fields) != 1)}")
    solves = sum(e.solves for e in fit.experiments)
    searches = sum(e.searches for e in fit.experiments)
    lines = [
        f"{' and '.join(parts)} from {n} values; {solves} solves, {searches} searches, {fit.seconds:.3g} s",
        f"converged: {'yes' if fit.converged else 'no: ' + fit.descent.why}",
    ]
    u = fit.unknowns
    coefficients = {s for f in fit.fields for s in f.symbols}
    width = max((len(str(s)) for s in fit.parameters if s not in coefficients), default=0)
    for i, (s, value) in enumerate(fit.values.items()):
        if s in coefficients:
            continue
        std = fit.std[s]
        share = f" ({100 * std / abs(value):.1f} %)" if value and np.isfinite(std) else ""
        low, high = fit.interval(s, 0.95)
        lines.append(
            f"  {s!s:{width}} = {value:.6g} ± {std:.2g}{share}, 95 %: {low:.5g} … {high:.5g}"
            f"  (from {u.start[i]:.4g}, bounds {u.low[i]:g} … {u.high[i]:g})"
        )
    for f in fit.fields:
        lines += function_lines(fit, f)
    C = fit.correlation
    for i in range(p):
        for j in range(i):
            if abs(C[i, j]) > _STRONG and not {fit.parameters[i], fit.parameters[j]} & coefficients:
                lines.append(f"  {fit.parameters[j]} and {fit.parameters[i]} are correlated: {C[i, j]:+.3f}")
    kinds = ["given" if g else "estimated" for g in fit.misfit.given]
    lines.append("sigma: " + ", ".join(f"{s:.3g} ({k})" for s, k in zip(fit.sigma, kinds, strict=True)))
    doubts = "the misfit is that of the solves, not noise: lower tol" if fit.is_exact else str(fit.residuals)
    lines.append(f"AIC {fit.aic:.5g}, BIC {fit.bic:.5g}; {doubts}")
    lines.append(f"identifiable: {'yes' if fit.identifiable else 'no: ' + str(fit.identifiable)}")
    if fit.at_bounds:
        names = ", ".join(map(str, fit.at_bounds))
        lines.append(f"at a bound: {names}: look whether the bound is meant, and take method='profile'")
    if fit.moved > 0.1 and not fit.is_exact:
        lines.append(f"a finer solve moves the values by {fit.moved:.2g} sigma: lower tol")
    return "\n".join(lines)


def function_lines(fit: Fit, f: Field) -> list[str]:
    """A function at a few places along each axis through the middle of its ranges, with its band."""
    middle = [0.5 * (a + b) for a, b in f.ranges]
    lines = [f"  {f.name}: {len(f.symbols)} coefficients, smooth as the data want it"]
    for axis, (a, b) in enumerate(f.ranges):
        for s in np.linspace(a, b, _PLACES):
            at = [s if i == axis else m for i, m in enumerate(middle)]
            value, low, high = (float(v) for v in fit.function(f, *at))
            place = ", ".join(f"{v:.4g}" for v in at)
            lines.append(f"    {f.name}({place}) = {value:.4g}, 95 %: {low:.4g} … {high:.4g}")
    return lines
