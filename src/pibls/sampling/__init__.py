"""Sampling of solutions for output: fields, sections of a domain, grids and simplex meshes."""

from pibls.sampling.computed_domain import computed_domain
from pibls.sampling.grid import Grid, grid_of
from pibls.sampling.sampled_field import SampledField, fields_of, units_of
from pibls.sampling.section import Section, fixed_values
from pibls.sampling.simplex_mesh import SimplexMesh, mesh_section

__all__ = [
    "Grid",
    "SampledField",
    "Section",
    "SimplexMesh",
    "computed_domain",
    "fields_of",
    "fixed_values",
    "grid_of",
    "mesh_section",
    "units_of",
]
