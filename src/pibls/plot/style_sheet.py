"""The style sheet of the figures of the package, and the context in which they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from pibls.errors import import_optional
from pibls.plot.backend import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_P = ParamSpec("_P")
_T = TypeVar("_T")

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c510a", "#4d4d4d")
"""Colours of curves and conditions, the first six by Okabe and Ito, suitable for colour-blind readers."""
INK = "#262626"
"""The colour of data points and their edges."""
GREY = "#999999"
"""The colour of everything without a condition or a value."""

style: dict[str, object] = {
    "font.size": 10.0,
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
    "legend.fontsize": "small",
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    # As text, because the cycler of Matplotlib would have to be imported.
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
}
"""Settings for ``matplotlib.rcParams``; font sizes other than ``font.size`` are relative to it."""


@contextmanager
def style_context() -> Iterator[None]:
    """Apply the style sheet; settings that differ from Matplotlib's defaults are the user's and stay."""
    mpl = import_optional("matplotlib", extra="plot", purpose="A picture")
    chosen = {k: value for k, value in style.items() if mpl.rcParams[k] == mpl.rcParamsDefault[k]}
    with mpl.rc_context(chosen):
        yield


def styled(draw: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that draws in the style of the package.

    ``draw`` returns a figure or axes, or the path of a file; axes that it was given as ``ax`` keep the
    style in which they were created.
    """

    @wraps(draw)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with style_context():
            answer = draw(*args, **kwargs)
            if kwargs.get("ax") is None:
                _create_ticks(answer)
        return answer

    return wrapper


def _create_ticks(answer: Any) -> None:
    """Create the first tick of each axis, from which the others are copied.

    Matplotlib creates ticks when a figure is drawn, which is after the style context was left.
    """
    first = np.ravel(np.asarray(answer, dtype=object))[0]
    if not isinstance(first, matplotlib("artist").Artist):  # the path of a file
        return
    kind = matplotlib("axis").Axis
    for axis in (child for ax in first.figure.axes for child in ax.get_children() if isinstance(child, kind)):
        axis.get_major_ticks(1)
        axis.get_minor_ticks(1)


def draw_frame(ax: Axes) -> None:
    """Draw all four spines and no grid, as for maps."""
    if ax.name == "rectilinear":
        ax.spines[:].set_visible(True)
    ax.grid(visible=False)
