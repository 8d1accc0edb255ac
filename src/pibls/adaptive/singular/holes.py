"""Functions around the holes of a plane domain, and in the boundary layers of its outer boundary."""

from __future__ import annotations

from collections.abc import Iterator

from pibls.adaptive.singular.functions import SingularFunctions
from pibls.adaptive.thresholds import ENRICHMENT
from pibls.analysis.analysis import Analysis
from pibls.analysis.boundary_layers import find_boundary_layers
from pibls.analysis.holes.enrichment import holes_of, outer_faces


def functions_around_holes(analysis: Analysis) -> Iterator[SingularFunctions]:
    """Yield the functions around all holes."""
    holes, efolds = holes_of(analysis.compiled, analysis.domain), ENRICHMENT.validation_hole_exponent
    if holes:
        yield SingularFunctions(
            family=holes,
            validation_points=holes.domain_points(efolds, analysis.domain, 0.4),
            boundary_validation_points=holes.boundary_points(efolds, 0.3),
        )


def functions_in_layers(analysis: Analysis) -> Iterator[SingularFunctions]:
    """Yield the functions of the boundary layers, if these are thin."""
    layers = find_boundary_layers(analysis.compiled, analysis.domain, outer_faces(analysis.domain))
    if layers is not None:
        yield SingularFunctions(
            family=layers,
            validation_points=layers.validation_points,
            boundary_validation_points=layers.boundary_points(ENRICHMENT.validation_hole_exponent),
        )
