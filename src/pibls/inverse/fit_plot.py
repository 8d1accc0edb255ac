"""Plot of a fit: data, fitted curves and confidence bands, one colour for each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.geometry import box_of, time_of
from pibls.inverse.data import Data
from pibls.plot.backend import matplotlib
from pibls.problem.forms.integral import integral

if TYPE_CHECKING:
    from pibls.inverse.field import Field
    from pibls.inverse.result import Fit

_MAX_CURVES = 8  # number of times beyond which fitted values are drawn against measured ones
_CURVE_POINTS = 161


def plot_fit(fit: Fit, *, level: float = 0.95, ax: Any = None) -> Any:
    """Draw one panel for each set of data, and one for each unknown function of one argument.

    The abscissa is the only coordinate, or the space coordinate with one curve for each time. Returns the
    figure.
    """
    sets = [(i, d) for i, e in enumerate(fit.experiments) for d in e.data]
    functions = [f for f in fit.fields if len(f.ranges) == 1] if ax is None else []
    if ax is None:
        panels = len(sets) + len(functions)
        columns = min(panels, 3)
        rows = -(-panels // columns)
        figure = matplotlib("figure").Figure(figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
        matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
        axes = list(np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel())
    else:
        figure, axes = ax.figure, [ax] * len(sets)
    for axis, (problem, data) in zip(axes, sets, strict=False):
        _panel(fit, axis, problem, data, level)
    for axis, f in zip(axes[len(sets) :], functions, strict=False):
        _function(fit, axis, f, level)
    for axis in axes[len(sets) + len(functions) :]:
        axis.set_axis_off()
    figure.suptitle(f"data, fit and {level:.0%} band".replace("%", " %"), fontsize=9, color="0.35")
    return figure


def _panel(fit: Fit, axis: Any, problem: int, data: Data, level: float) -> None:
    p = fit.experiments[problem].problem
    X = data.points_in(p)
    time = time_of(p.domain)
    if data.expression.has(integral):
        _integral(fit, axis, problem, data, X, level)
        return
    names = [str(c) for c in p.coordinates]
    axis.set_ylabel(str(data.expression))
    if len(names) == 1:
        axis.set_xlabel(names[0])
        _curve(fit, axis, problem, data, X, {}, 0, "C0", None, level)
    elif len(names) == 2 and time is not None:
        slow = p.coordinates.index(time)
        fast = 1 - slow
        times = np.unique(X[:, slow])
        if len(times) > _MAX_CURVES:
            _fitted_against_measured(fit, axis, problem, data, X, names)
            return
        axis.set_xlabel(names[fast])
        for k, t in enumerate(times):
            at = X[:, slow] == t
            label = f"{names[slow]} = {t:g}"
            part = (X[at], data.values[at])
            _curve(fit, axis, problem, data, part[0], {slow: t}, fast, f"C{k}", label, level, part[1])
        axis.legend(fontsize=8)
    else:
        _fitted_against_measured(fit, axis, problem, data, X, names)


def _integral(fit: Fit, axis: Any, problem: int, data: Data, X: Array, level: float) -> None:
    """Draw an integral over space, as a function of time or as single numbers."""
    axis.set_ylabel(str(data.expression))
    time = time_of(fit.experiments[problem].problem.domain)
    if time is None:
        middle, low, high = (float(v) for v in fit.band(data.expression, {}, level, problem=problem))
        axis.plot(np.arange(len(data)), data.values, "o")
        axis.axhspan(low, high, color="C0", alpha=0.25, lw=0)
        axis.axhline(middle, color="C0")
        axis.set_xlabel("measurement")
        return
    s = np.linspace(X.min(), X.max(), _CURVE_POINTS)
    value, bottom, top = fit.band(data.expression, {time: s}, level, problem=problem)
    axis.plot(X[:, 0], data.values, ".", color="C0", ms=4, alpha=0.7)
    axis.plot(s, value, color="C0")
    axis.fill_between(s, bottom, top, color="C0", alpha=0.25, lw=0)
    axis.set_xlabel(str(time))


def _curve(
    fit: Fit,
    axis: Any,
    problem: int,
    data: Data,
    X: Array,
    fixed: dict[int, float],
    along: int,
    colour: str,
    label: str | None,
    level: float,
    values: Array | None = None,
) -> None:
    p = fit.experiments[problem].problem
    low, high = box_of(p.domain)[along]
    s = np.linspace(low, high, _CURVE_POINTS)
    points = {c: (s if i == along else fixed[i]) for i, c in enumerate(p.coordinates)}
    value, bottom, top = fit.band(data.expression, points, level, problem=problem)
    axis.plot(X[:, along], data.values if values is None else values, ".", color=colour, ms=4, alpha=0.7)
    axis.plot(s, value, color=colour, label=label)
    axis.fill_between(s, bottom, top, color=colour, alpha=0.25, lw=0)


def _function(fit: Fit, axis: Any, f: Field, level: float) -> None:
    s = np.linspace(*f.ranges[0], _CURVE_POINTS)
    value, low, high = fit.function(f, s, level=level)
    axis.plot(s, value, color="C3")
    axis.fill_between(s, low, high, color="C3", alpha=0.25, lw=0)
    axis.set_xlabel(f"argument of {f.name}")
    axis.set_ylabel(f.name)


def _fitted_against_measured(
    fit: Fit, axis: Any, problem: int, data: Data, X: Array, names: list[str]
) -> None:
    """Draw fitted against measured values, for scattered points."""
    p = fit.experiments[problem].problem
    points = {c: X[:, i] for i, c in enumerate(p.coordinates)}
    value, low, high = fit.band(data.expression, points, problem=problem)
    axis.errorbar(data.values, value, yerr=[value - low, high - value], fmt=".", ms=4, lw=0.8)
    ends = [min(data.values.min(), value.min()), max(data.values.max(), value.max())]
    axis.plot(ends, ends, color="0.6", lw=0.8)
    axis.set_xlabel("measured")
    axis.set_ylabel(f"fitted: {data.expression}")
