"""Pictures of solutions, as methods of a solution: `plot`, `plot_error`, `plot_cells`, `animate`, …"""

from pibls.plot.against import plot_error, plot_residual
from pibls.plot.cells import plot_cells
from pibls.plot.film import animate
from pibls.plot.show import plot

__all__ = ["animate", "plot", "plot_cells", "plot_error", "plot_residual"]
