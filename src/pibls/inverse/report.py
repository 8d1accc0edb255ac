"""The text report of a fit, with lines such as "D = 310 ± 42 (13 %)"."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

import numpy as np

from pibls.expressions import Parameter

if TYPE_CHECKING:
    from pibls.inverse.result import Fit
    from pibls.inverse.unknown_function import Field

_MIN_CORRELATION = 0.9  # absolute value from which correlations are listed
_POINTS_PER_AXIS = 5  # at which functions are listed


def summary(fit: Fit) -> str:
    """Return the report: parameters, noise, information criteria, and warnings."""
    coefficients = {s for f in fit.fields for s in f.symbols}
    lines = [
        _size_line(fit),
        f"converged: {'yes' if fit.converged else 'no: ' + fit.descent.message}",
        *_parameter_lines(fit, coefficients),
        *(line for f in fit.fields for line in field_lines(fit, f)),
        *_correlation_lines(fit, coefficients),
        *_quality_lines(fit),
    ]
    return "\n".join(lines)


def _size_line(fit: Fit) -> str:
    """Return the numbers of unknowns, values and solves."""
    wanted = len(fit.unknowns) - sum(len(f.symbols) for f in fit.fields)
    parts = [f"{wanted} parameter{'s' * (wanted != 1)}"] if wanted or not fit.fields else []
    if fit.fields:
        parts.append(f"{len(fit.fields)} function{'s' * (len(fit.fields) != 1)}")
    solves = sum(e.fixed_space_solves for e in fit.experiments)
    full_solves = sum(e.full_solves for e in fit.experiments)
    return (
        f"{' and '.join(parts)} from {len(fit.misfit.y)} values; {solves} solves in a fixed space, "
        f"{full_solves} full solves, {fit.seconds:.3g} s"
    )


def _parameter_lines(fit: Fit, coefficients: Set[Parameter]) -> Iterator[str]:
    """Yield value, standard deviation, interval, start and bounds of each parameter."""
    u = fit.unknowns
    width = max((len(str(s)) for s in fit.parameters if s not in coefficients), default=0)
    for i, (s, value) in enumerate(fit.values.items()):
        if s in coefficients:
            continue
        std = fit.std[s]
        percent = f" ({100 * std / abs(value):.1f} %)" if value and np.isfinite(std) else ""
        low, high = fit.interval(s, 0.95)
        yield (
            f"  {s!s:{width}} = {value:.6g} ± {std:.2g}{percent}, 95 %: {low:.5g} … {high:.5g}"
            f"  (from {u.start[i]:.4g}, bounds {u.low[i]:g} … {u.high[i]:g})"
        )


def _correlation_lines(fit: Fit, coefficients: Set[Parameter]) -> Iterator[str]:
    """Yield the pairs of parameters that are strongly correlated."""
    C = fit.correlation
    for i in range(len(fit.unknowns)):
        for j in range(i):
            if abs(C[i, j]) > _MIN_CORRELATION and not {fit.parameters[i], fit.parameters[j]} & coefficients:
                yield f"  {fit.parameters[j]} and {fit.parameters[i]} are correlated: {C[i, j]:+.3f}"


def _quality_lines(fit: Fit) -> Iterator[str]:
    """Yield the noise, the information criteria, and warnings."""
    kinds = ["given" if g else "estimated" for g in fit.misfit.sigma_is_given]
    yield "sigma: " + ", ".join(f"{s:.3g} ({k})" for s, k in zip(fit.sigma, kinds, strict=True))
    remark = (
        "the misfit is the error of the solves, not noise: lower tol" if fit.is_exact else str(fit.residuals)
    )
    yield f"AIC {fit.aic:.5g}, BIC {fit.bic:.5g}; {remark}"
    yield f"identifiable: {'yes' if fit.identifiable else 'no: ' + str(fit.identifiable)}"
    if fit.at_bounds:
        names = ", ".join(map(str, fit.at_bounds))
        yield f"at a bound: {names}: check whether the bound is intended, and use method='profile'"
    if fit.moved > 0.1 and not fit.is_exact:
        yield f"a further full solve changes the predictions by {fit.moved:.2g} sigma: lower tol"


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
