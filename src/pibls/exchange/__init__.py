"""Solutions for other programs: `to_xarray`, `to_vtk`, `to_csv`, as methods of a solution."""

from pibls.exchange.table import to_csv
from pibls.exchange.vtk import to_vtk
from pibls.exchange.xarray import to_xarray

__all__ = ["to_csv", "to_vtk", "to_xarray"]
