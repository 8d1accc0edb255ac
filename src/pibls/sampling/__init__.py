"""Solutions on grids: named fields, sections of a domain, meshes that end where the domain ends."""

from pibls.sampling.field import Sampled, fields_of, units_of
from pibls.sampling.grid import Grid, grid_of
from pibls.sampling.patch import Simplices, patch_of
from pibls.sampling.reach import reach_of
from pibls.sampling.section import Section, fixed_values

__all__ = [
    "Grid",
    "Sampled",
    "Section",
    "Simplices",
    "fields_of",
    "fixed_values",
    "grid_of",
    "patch_of",
    "reach_of",
    "units_of",
]
