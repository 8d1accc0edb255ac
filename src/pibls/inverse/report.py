"""The text report of a fit, with lines such as "D = 310 ± 42 (13 %)"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pibls.inverse.field import Field
    from pibls.inverse.result import Fit

_MIN_CORRELATION = 0.9  # absolute value from which correlations are listed
_POINTS_PER_AXIS = 5  # at which functions are listed


def summary(fit: Fit) -> str:
    """Return the report: parameters, noise, information criteria, and warnings."""
    n, p = len(fit.misfit.y), len(fit.unknowns)
    wanted = p - sum(len(f.symbols) for f in fit.fields)
    parts = [f"{wanted} parameter{'s' * (wanted != 1)}"] if wanted or not fit.fields else []
    if fit.fields:
        parts.append(f"{len(fit.fields)} function{'s' * (len(fit.fields) != 1)}")
    solves = sum(e.fixed_space_solves for e in fit.experiments)
    full_solves = sum(e.full_solves for e in fit.experiments)
    lines = [
        f"{' and '.join(parts)} from {n} values; {solves} solves in a fixed space, "
        f"{full_solves} full solves, {fit.seconds:.3g} s",
        f"converged: {'yes' if fit.converged else 'no: ' + fit.descent.message}",
    ]
    u = fit.unknowns
    coefficients = {s for f in fit.fields for s in f.symbols}
    width = max((len(str(s)) for s in fit.parameters if s not in coefficients), default=0)
    for i, (s, value) in enumerate(fit.values.items()):
        if s in coefficients:
            continue
        std = fit.std[s]
        percent = f" ({100 * std / abs(value):.1f} %)" if value and np.isfinite(std) else ""
        low, high = fit.interval(s, 0.95)
        lines.append(
            f"  {s!s:{width}} = {value:.6g} ± {std:.2g}{percent}, 95 %: {low:.5g} … {high:.5g}"
            f"  (from {u.start[i]:.4g}, bounds {u.low[i]:g} … {u.high[i]:g})"
        )
    for f in fit.fields:
        lines += field_lines(fit, f)
    C = fit.correlation
    for i in range(p):
        for j in range(i):
            if abs(C[i, j]) > _MIN_CORRELATION and not {fit.parameters[i], fit.parameters[j]} & coefficients:
                lines.append(f"  {fit.parameters[j]} and {fit.parameters[i]} are correlated: {C[i, j]:+.3f}")
    kinds = ["given" if g else "estimated" for g in fit.misfit.sigma_is_given]
    lines.append("sigma: " + ", ".join(f"{s:.3g} ({k})" for s, k in zip(fit.sigma, kinds, strict=True)))
    remark = (
        "the misfit is the error of the solves, not noise: lower tol" if fit.is_exact else str(fit.residuals)
    )
    lines.append(f"AIC {fit.aic:.5g}, BIC {fit.bic:.5g}; {remark}")
    lines.append(f"identifiable: {'yes' if fit.identifiable else 'no: ' + str(fit.identifiable)}")
    if fit.at_bounds:
        names = ", ".join(map(str, fit.at_bounds))
        lines.append(f"at a bound: {names}: check whether the bound is intended, and use method='profile'")
    if fit.moved > 0.1 and not fit.is_exact:
        lines.append(f"a further full solve changes the predictions by {fit.moved:.2g} sigma: lower tol")
    return "\n".join(lines)


def field_lines(fit: Fit, f: Field) -> list[str]:
    """Return lines with the values and bands of a function along each axis through its centre."""
    middle = [0.5 * (a + b) for a, b in f.ranges]
    lines = [f"  {f.name}: {len(f.symbols)} coefficients, smoothness estimated from the data"]
    for axis, (a, b) in enumerate(f.ranges):
        for s in np.linspace(a, b, _POINTS_PER_AXIS):
            at = [s if i == axis else m for i, m in enumerate(middle)]
            value, low, high = (float(v) for v in fit.function(f, *at))
            place = ", ".join(f"{v:.4g}" for v in at)
            lines.append(f"    {f.name}({place}) = {value:.4g}, 95 %: {low:.4g} … {high:.4g}")
    return lines
