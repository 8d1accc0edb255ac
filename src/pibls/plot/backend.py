"""Import of Matplotlib on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pibls.errors import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from types import ModuleType
from typing import TYPE_CHECKING, cast


def matplotlib(module: str) -> ModuleType:
    """Return a module of Matplotlib, such as "figure"; raise an error with the remedy if not installed."""
    return import_optional(f"matplotlib.{module}", extra="plot", purpose="A picture")


def figure_of(ax: Axes) -> Figure:
    """Return the figure of axes, which axes in use always have."""
    return cast("Figure", ax.get_figure())
