"""Solutions on grids: named fields, sections of a domain, meshes that end where the domain ends."""

from pibls.sample.field import Sampled, fields_of, units_of
from pibls.sample.grid import Grid, grid_of
from pibls.sample.patch import Simplices, patch_of
from pibls.sample.reach import reach_of
from pibls.sample.section import Section, fixed_values

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
