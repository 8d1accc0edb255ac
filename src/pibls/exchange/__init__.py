"""Export of solutions to xarray, VTK and CSV; the functions are also methods of `Solution`."""

from pibls.exchange.csv_table import to_csv
from pibls.exchange.vtk import to_vtk
from pibls.exchange.xarray import to_xarray

__all__ = ["to_csv", "to_vtk", "to_xarray"]
