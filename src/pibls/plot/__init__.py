"""Plots of solutions, which are also methods of `Solution`: `plot`, `plot_error`, `plot_cells`, `animate`.

All figures of the package are drawn in `style`, a dictionary for ``matplotlib.rcParams``.
"""

from pibls.plot.animation import animate
from pibls.plot.cells import plot_cells
from pibls.plot.drawing import plot
from pibls.plot.error_plots import plot_error, plot_residual
from pibls.plot.style_sheet import style

__all__ = ["animate", "plot", "plot_cells", "plot_error", "plot_residual", "style"]
