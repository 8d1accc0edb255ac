"""Default numbers and rules of collocation points for a basis of N functions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from pibls.adaptive.basis_parts import BoundarySpec, GridSpec, ScaledSpec, parts_of
from pibls.adaptive.thresholds import POINT_COUNTS
from pibls.assembly.points import Points
from pibls.basis.protocol import interior_size
from pibls.geometry import Domain, faces_of, time_of
from pibls.geometry.faces.face import FacesKey
from pibls.spaces import Choice


def default_points(spec: Choice, domain: Domain, density: float) -> Points:
    """Return ``density``·N interior points (2 N on a line) and boundary points clustered at the edges.

    An anisotropic basis needs more points on the faces that contain its dominant coordinates.
    """
    d, nodes = len(domain.coordinates), interior_size(spec)
    if isinstance(spec, GridSpec):
        return _points_in_cells(spec, domain, density)
    if d == 1:
        return Points(2 * nodes, 2, 1, rule="chebyshev")
    anisotropy = _anisotropy(spec, d)
    face = 1.5 * (2 * nodes) ** ((d - 1) / d)
    lean = [math.prod(s for i, s in enumerate(anisotropy) if i != axis) for axis in range(d)]
    faces = [face * max(1.0, s) for s in lean]
    space = d - 1 if time_of(domain) is not None else d
    rule = "chebyshev" if d == 2 else "sobol"
    if d > POINT_COUNTS.max_uniform_dimension:
        faces = [min(face, POINT_COUNTS.max_face_density * nodes / (2 * d)) for face in faces]
    boundary = int(2 * space * max(faces[:space]) * (_perimeter_ratio(domain) if d == 2 else 1.0))
    if needs_dense_boundary(spec):
        boundary *= POINT_COUNTS.singular_boundary_factor
    return Points(int(density * nodes), boundary, int(faces[-1]), rule="sobol", boundary_rule=rule)


def _points_in_cells(spec: GridSpec, domain: Domain, density: float) -> Points:
    """Return the points of the local basis, in all cells of a grid."""
    local, cells = default_points(spec.local, domain, density), spec.cells
    across = max(math.prod(cells) // c for c in cells)
    return replace(
        local, interior=local.interior * math.prod(cells), boundary=local.boundary * across,
        initial=local.initial * across, rule="sobol",
    )  # fmt: skip


def needs_dense_boundary(spec: Choice) -> bool:
    """Whether the basis has corner functions, which need more boundary points."""
    return any(
        (isinstance(part, BoundarySpec) and part.needs_dense_boundary) or needs_dense_boundary(part)
        for part in parts_of(spec)
    )


def _perimeter_ratio(domain: Domain) -> float:
    """Return the perimeter of a 2D domain relative to its box, so that holes get additional points."""
    lengths = tuple(float(b) - float(a) for a, b in domain.bounds)
    return _perimeter_ratio_of(FacesKey(faces_of(domain)), lengths, time_of(domain) is not None)


@lru_cache(maxsize=32)
def _perimeter_ratio_of(key: FacesKey, lengths: tuple[float, ...], timed: bool) -> float:
    charts = [face for face in key.faces if face.has_chart and face.dimension == 1]
    sides = 2.0 * len(charts) if timed else 4.0
    return max(sum(face.measure(np.array(lengths)) for face in charts) / sides, 1.0) if charts else 1.0


def _anisotropy(spec: Choice, d: int) -> list[float]:
    """Return the anisotropy of the basis along each coordinate, with geometric mean 1."""
    scale = spec.scale if isinstance(spec, ScaledSpec) else 1.0
    if not isinstance(scale, tuple) or len(scale) != d:
        return [1.0] * d
    mean = math.prod(scale) ** (1.0 / d)
    return [s / mean for s in scale]
