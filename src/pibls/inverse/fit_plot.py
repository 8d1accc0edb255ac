"""Plot of a fit: data, fitted curves and confidence bands, one colour for each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.expressions import Expression
from pibls.geometry import box_of, time_of
from pibls.inverse.data import Data
from pibls.plot.backend import matplotlib
from pibls.plot.labels import typeset
from pibls.plot.style_sheet import COLOURS, GREY, INK, styled
from pibls.problem.forms.integral import integral
from pibls.text.typeset import name_latex, short_latex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pibls.inverse.result import Fit
    from pibls.inverse.unknown_function import Field

_MAX_CURVES = 8  # number of times beyond which fitted values are drawn against measured ones
_CURVE_POINTS = 161
_BAND_OPACITY = 0.25
_MARKER: dict[str, Any] = {"marker": "o", "markeredgecolor": INK, "markeredgewidth": 0.5}
_MAX_LARGE_MARKERS = 60  # number of points of a curve up to which markers are large
_MAX_MARKERS = 300  # number of points beyond which markers are small and transparent


@styled
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
        width = 5.2 if columns == 1 else 4.4
        figure = matplotlib("figure").Figure(
            figsize=(width * columns, 3.4 * rows + 0.3), layout="constrained"
        )
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
    _add_legend(figure, ax, level)
    return figure


def _add_legend(figure: Figure, ax: Axes | None, level: float) -> None:
    """Explain points, curves and bands above the panels, or beside the times on given axes."""
    lines = matplotlib("lines")
    band = f"{level:.0%} band".replace("%", " %")
    entries = [
        lines.Line2D([], [], linestyle="", color=INK, **_MARKER, markersize=5, label="data"),
        lines.Line2D([], [], color=INK, label="fit"),
        matplotlib("patches").Patch(color=INK, alpha=_BAND_OPACITY, linewidth=0, label=band),
    ]
    if ax is None:
        figure.legend(handles=entries, loc="outside upper center", ncols=3)
        return
    times, _ = ax.get_legend_handles_labels()
    ax.legend(handles=[*entries, *times], fontsize="small", frameon=False)


def _panel(fit: Fit, axis: Axes, problem: int, data: Data, level: float) -> None:
    p = fit.experiments[problem].problem
    X = data.points_in(p)
    time = time_of(p.domain)
    if data.expression.has(integral):
        _integral(fit, axis, problem, data, X, level)
        return
    names = [str(c) for c in p.coordinates]
    axis.set_ylabel(_expression(data.expression))
    if len(names) == 1:
        axis.set_xlabel(_symbol(names[0]))
        _curve(fit, axis, problem, data, X, {}, 0, COLOURS[0], None, level)
    elif len(names) == 2 and time is not None:
        slow = p.coordinates.index(time)
        fast = 1 - slow
        times = np.unique(X[:, slow])
        if len(times) > _MAX_CURVES:
            _fitted_against_measured(fit, axis, problem, data, X, names)
            return
        axis.set_xlabel(_symbol(names[fast]))
        for k, t in enumerate(times):
            at = X[:, slow] == t
            label = f"{names[slow]} = {t:g}"
            part = (X[at], data.values[at])
            _curve(fit, axis, problem, data, part[0], {slow: t}, fast, COLOURS[k], label, level, part[1])
        axis.legend(fontsize="small", frameon=False)
    else:
        _fitted_against_measured(fit, axis, problem, data, X, names)


def _integral(fit: Fit, axis: Axes, problem: int, data: Data, X: Array, level: float) -> None:
    """Draw an integral over space, as a function of time or as single numbers."""
    axis.set_ylabel(_expression(data.expression))
    time = time_of(fit.experiments[problem].problem.domain)
    if time is None:
        middle, low, high = (float(v) for v in fit.band(data.expression, {}, level, problem=problem))
        axis.axhspan(low, high, color=COLOURS[0], alpha=_BAND_OPACITY, lw=0)
        axis.axhline(middle, color=COLOURS[0])
        _points(axis, np.arange(len(data), dtype=float), data.values, COLOURS[0])
        axis.set_xlabel("measurement")
        return
    s = np.linspace(X.min(), X.max(), _CURVE_POINTS)
    value, bottom, top = fit.band(data.expression, {time: s}, level, problem=problem)
    _band(axis, s, (value, bottom, top), COLOURS[0])
    _points(axis, X[:, 0], data.values, COLOURS[0])
    axis.set_xlabel(_symbol(time))


def _curve(
    fit: Fit,
    axis: Axes,
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
    _band(axis, s, (value, bottom, top), colour, label)
    _points(axis, X[:, along], data.values if values is None else values, colour)


def _points(axis: Axes, x: Array, y: Array, colour: str) -> None:
    """Draw data over curves and bands: dark edges contrast with a curve of the same colour."""
    n = len(y)
    size = 5.0 if n <= _MAX_LARGE_MARKERS else 3.5 if n <= _MAX_MARKERS else 2.2
    look = {**_MARKER, "markeredgewidth": 0.0, "alpha": 0.5} if n > _MAX_MARKERS else _MARKER
    axis.plot(x, y, linestyle="", color=colour, markersize=size, zorder=3, **look)


def _band(
    axis: Axes, s: Array, band: tuple[Array, Array, Array], colour: str, label: str | None = None
) -> None:
    """Draw a curve (value, lower, upper) with its band."""
    value, bottom, top = band
    axis.fill_between(s, bottom, top, color=colour, alpha=_BAND_OPACITY, lw=0)
    axis.plot(s, value, color=colour, label=label)


def _symbol(symbol: Expression) -> str:
    return typeset(name_latex(str(symbol)), str(symbol))


def _expression(expression: Expression) -> str:
    return typeset(short_latex(expression), str(expression))


def _function(fit: Fit, axis: Axes, f: Field, level: float) -> None:
    s = np.linspace(*f.ranges[0], _CURVE_POINTS)
    value, low, high = fit.function(f, s, level=level)
    _band(axis, s, (value, low, high), COLOURS[1])
    axis.set_xlabel(f"argument of {_symbol(f.name)}")
    axis.set_ylabel(_symbol(f.name))


def _fitted_against_measured(
    fit: Fit, axis: Axes, problem: int, data: Data, X: Array, names: list[str]
) -> None:
    """Draw fitted against measured values, for scattered points."""
    p = fit.experiments[problem].problem
    points = {c: X[:, i] for i, c in enumerate(p.coordinates)}
    value, low, high = fit.band(data.expression, points, problem=problem)
    ends = [min(data.values.min(), value.min()), max(data.values.max(), value.max())]
    axis.plot(ends, ends, color=GREY, lw=1.0, zorder=1, label="fitted = measured")
    axis.legend(fontsize="small", frameon=False)
    axis.vlines(data.values, low, high, color=COLOURS[0], alpha=0.4, lw=1.5, zorder=2)
    _points(axis, data.values, value, COLOURS[0])
    axis.set_xlabel("measured")
    axis.set_ylabel(f"fitted: {_expression(data.expression)}")
