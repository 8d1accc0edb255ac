"""Export for ParaView: a uniform grid, the cells of a nonuniform grid, or a mesh fitted to the boundary.

The mesh is used if points of the grid are outside the domain. There is one file per time, and a .pvd file
that lists them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.errors import ProblemError, output_path
from pibls.exchange.metadata import metadata
from pibls.exchange.vtkxml import Mesh, RegularGrid, write_series
from pibls.expressions import Coordinate, Expression, Number
from pibls.geometry import Domain, box_of, time_of
from pibls.sampling import (
    Grid,
    SampledField,
    Section,
    computed_domain,
    fields_of,
    fixed_values,
    grid_of,
    mesh_section,
)
from pibls.solution import Solution

_DEFAULT_TIMES = 21
_SUFFIXES = (".vti", ".vtu", ".pvd", ".vtk", ".vtp", ".vts", ".vtr")
_VTK_SIMPLICES = {1: 3, 2: 5, 3: 10}  # VTK cell types of segment, triangle, tetrahedron
_VTK_CELLS = {1: 3, 2: 9, 3: 12}  # segment, quadrilateral, hexahedron
_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


@dataclass(frozen=True)
class SampledMesh:
    """The points of the domain where values are written, and the grid or mesh over them."""

    geometry: RegularGrid | Mesh
    points: Array
    """Shape (n, d), in the order of the file."""


def to_vtk(
    solution: Solution,
    path: str | Path,
    /,
    *what: Expression,
    vectors: Mapping[str, Sequence[Expression]] | None = None,
    at: Mapping[Coordinate | str, Number] | None = None,
    **grid: npt.ArrayLike,
) -> Path:
    """Write a file in the XML formats of VTK, which ParaView and other programs read.

    See `Solution.to_vtk`.
    """
    path = output_path(path, "solution.to_vtk(path)")
    domain = computed_domain(solution)
    fixed = fixed_values(domain, at)
    names = [str(c) for c in domain.coordinates]
    space, time = _free_coordinates(domain, fixed)
    mesh = grid_of(domain, grid, default=None if len(names) <= 2 else (41 if len(space) == 3 else 101))
    fields = _fields_by_name(solution, what, vectors or {})
    properties = metadata(solution)
    if time is None:
        sampled = _sampled_mesh(Section(domain, space, fixed), mesh)
        path = _with_suffix(path, sampled.geometry.suffix)
        sampled.geometry.write(path, _values(sampled, fields), properties)
        return path
    start, stop = box_of(domain)[time]
    times = mesh.axes[time] if names[time] in grid else np.linspace(start, stop, _DEFAULT_TIMES)
    path = _with_suffix(path, ".pvd")
    files = []
    for k, t in enumerate(map(float, times)):
        sampled = _sampled_mesh(Section(domain, space, {**fixed, time: t}), mesh)
        part = path.with_name(f"{path.stem}_{k:04d}{sampled.geometry.suffix}")
        sampled.geometry.write(part, _values(sampled, fields), properties | {"time": t})
        files.append((t, part.name))
    write_series(path, files)
    return path


def _free_coordinates(domain: Domain, fixed: Mapping[int, float]) -> tuple[tuple[int, ...], int | None]:
    """Return the space coordinates that are not fixed, and the time coordinate or None if it is fixed."""
    names = [str(c) for c in domain.coordinates]
    time = None if time_of(domain) is None else names.index(str(time_of(domain)))
    space = tuple(i for i in range(len(names)) if i not in fixed and i != time)
    if not 1 <= len(space) <= 3:
        raise ProblemError(
            "at",
            expected="one to three free space coordinates",
            got=", ".join(names[i] for i in space) or "none",
            remedy="Fix the others with at={…}.",
        )
    return space, None if time in fixed else time


def _fields_by_name(
    solution: Solution, what: tuple[Expression, ...], vectors: Mapping[str, Sequence[Expression]]
) -> dict[str, tuple[SampledField, ...]]:
    columns: dict[str, tuple[SampledField, ...]] = {f.name: (f,) for f in fields_of(solution, what)}
    for name, components in vectors.items():
        if isinstance(components, str) or not 2 <= len(components) <= 3:
            raise ProblemError(
                f"vectors[{name!r}]",
                expected="two or three components",
                got=repr(components),
                remedy=f"Write vectors={{{name!r}: (u, v)}}.",
            )
        columns[name] = fields_of(solution, list(components))
    return columns


def _values(sampled: SampledMesh, columns: Mapping[str, tuple[SampledField, ...]]) -> dict[str, Array]:
    out = {}
    for name, fields in columns.items():
        parts = [field(sampled.points) for field in fields]
        # Vectors have three components in VTK.
        parts += [np.zeros(len(sampled.points))] * (3 - len(parts)) if len(parts) > 1 else []
        out[name] = parts[0] if len(parts) == 1 else np.column_stack(parts)
    return out


def _with_suffix(path: Path, suffix: str) -> Path:
    if path.suffix not in _SUFFIXES:
        return path.with_name(path.name + suffix)
    if path.suffix == suffix:
        return path
    raise ProblemError(
        "path",
        expected=f"a file name ending in {suffix} for this domain",
        got=repr(path.name),
        remedy="Omit the suffix; it is chosen automatically.",
    )


def _sampled_mesh(section: Section, grid: Grid) -> SampledMesh:
    """Return cells over a section, from the grid of the whole domain."""
    axes = [grid.axes[i] for i in section.free]
    P = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inside = section.inside(P.reshape(-1, len(axes))).reshape(P.shape[:-1])
    if inside.all() and all(_is_regular(a) for a in axes):
        return _regular_grid(section, axes)
    if not inside.all():
        patch = mesh_section(section, axes)
        mesh = Mesh(_pad_to_3d(patch.points), patch.cells, _VTK_SIMPLICES[len(axes)])
        return SampledMesh(mesh, section.points(patch.points))
    return _structured_cells(section, P)


def _is_regular(values: Array) -> bool:
    return len(values) > 1 and bool(np.ptp(np.diff(values)) <= 1e-9 * np.ptp(values))


def _regular_grid(section: Section, axes: list[Array]) -> SampledMesh:
    """Return a complete regular grid; in VTK the first coordinate runs fastest."""
    P = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    P = P.transpose(*reversed(range(len(axes))), len(axes)).reshape(-1, len(axes))
    more = [0.0] * (3 - len(axes))
    origin = [float(a[0]) for a in axes] + more
    spacing = [float((a[-1] - a[0]) / (len(a) - 1)) for a in axes] + [1.0] * len(more)
    counts = [len(a) for a in axes] + [1] * len(more)
    image = RegularGrid(
        (origin[0], origin[1], origin[2]),
        (spacing[0], spacing[1], spacing[2]),
        (counts[0], counts[1], counts[2]),
    )
    return SampledMesh(image, section.points(P))


def _structured_cells(section: Section, P: Array) -> SampledMesh:
    """Return all cells of a nonuniform grid: segments, rectangles or cuboids."""
    *shape, k = P.shape
    number = np.arange(int(np.prod(shape))).reshape(shape)
    corners = _CORNERS[: 2**k, :k]
    corner_slices = [
        tuple(slice(c, c + n - 1) for c, n in zip(corner, shape, strict=True)) for corner in corners
    ]
    cells = np.stack([number[w].ravel() for w in corner_slices], axis=1)
    Q = P.reshape(-1, k)
    return SampledMesh(Mesh(_pad_to_3d(Q), cells, _VTK_CELLS[k]), section.points(Q))


def _pad_to_3d(P: Array) -> Array:
    """Pad points of one to three coordinates with zeros to three."""
    return np.column_stack([P, np.zeros((len(P), 3 - P.shape[1]))])
