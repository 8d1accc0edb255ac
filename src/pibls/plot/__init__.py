"""Pictures of solutions: `plot`, `plot_error`, `plot_residual`, `animate`, as methods of a solution."""

from pibls.plot.errors import plot_error, plot_residual
from pibls.plot.film import animate
from pibls.plot.show import plot

__all__ = ["animate", "plot", "plot_error", "plot_residual"]
