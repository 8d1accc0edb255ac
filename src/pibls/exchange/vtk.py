"""Solutions for ParaView: a regular grid where the domain is a box, cells that end at its boundary else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError, target
from pibls.exchange.about import about
from pibls.exchange.vtkxml import Mesh, RegularGrid, write_series
from pibls.geometry import box_of, time_of
from pibls.sampling import Grid, Sampled, Section, fields_of, fixed_values, grid_of, patch_of, reach_of
from pibls.solution import Solution

_TIMES = 21
_SUFFIXES = (".vti", ".vtu", ".pvd", ".vtk", ".vtp", ".vts", ".vtr")
_SIMPLICES = {1: 3, 2: 5, 3: 10}  # VTK's numbers for segment, triangle, tetrahedron
_CELLS = {1: 3, 2: 9, 3: 12}  # segment, quadrilateral, hexahedron
_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


@dataclass(frozen=True)
class Body:
    """Where values are written: the points of the domain, and the file that holds cells over them."""

    geometry: RegularGrid | Mesh
    points: Array
    """(n, d), in the order of the file."""


def to_vtk(
    solution: Solution,
    path: str | Path,
    /,
    *what: Any,
    vectors: Mapping[str, Sequence[Any]] | None = None,
    at: Mapping[Any, Any] | None = None,
    **grid: Any,
) -> Path:
    """Write a file for ParaView and other programs that read VTK's XML formats.

    `Solution.to_vtk` says more.
    """
    path = target(path, "solution.to_vtk(path)")
    domain = reach_of(solution)
    fixed = fixed_values(domain, at)
    names = [str(c) for c in domain.coordinates]
    time = None if time_of(domain) is None else names.index(str(time_of(domain)))
    time = None if time in fixed else time
    space = tuple(i for i in range(len(names)) if i not in fixed and i != time)
    if not 1 <= len(space) <= 3:
        raise ProblemError(
            "at",
            expected="one to three free coordinates in space",
            got=", ".join(names[i] for i in space) or "none",
            remedy="Fix the others with at={…}.",
        )
    mesh = grid_of(domain, grid, default=None if len(names) <= 2 else (41 if len(space) == 3 else 101))
    fields = _columns(solution, what, vectors or {})
    notes = about(solution)
    if time is None:
        body = _body(Section(domain, space, fixed), mesh)
        path = _ending(path, body.geometry.suffix)
        body.geometry.write(path, _values(body, fields), notes)
        return path
    start, stop = box_of(domain)[time]
    moments = mesh.axes[time] if names[time] in grid else np.linspace(start, stop, _TIMES)
    path = _ending(path, ".pvd")
    files = []
    for k, t in enumerate(moments):
        body = _body(Section(domain, space, {**fixed, time: float(t)}), mesh)
        part = path.with_name(f"{path.stem}_{k:04d}{body.geometry.suffix}")
        body.geometry.write(part, _values(body, fields), notes | {"time": float(t)})
        files.append((float(t), part.name))
    write_series(path, files)
    return path


def _columns(
    solution: Solution, what: tuple[Any, ...], vectors: Mapping[str, Sequence[Any]]
) -> dict[str, tuple[Sampled, ...]]:
    columns: dict[str, tuple[Sampled, ...]] = {f.name: (f,) for f in fields_of(solution, what)}
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


def _values(body: Body, columns: Mapping[str, tuple[Sampled, ...]]) -> dict[str, Array]:
    out = {}
    for name, fields in columns.items():
        parts = [field(body.points) for field in fields]
        # VTK's vectors have three components.
        parts += [np.zeros(len(body.points))] * (3 - len(parts)) if len(parts) > 1 else []
        out[name] = parts[0] if len(parts) == 1 else np.column_stack(parts)
    return out


def _ending(path: Path, suffix: str) -> Path:
    if path.suffix not in _SUFFIXES:
        return path.with_name(path.name + suffix)
    if path.suffix == suffix:
        return path
    raise ProblemError(
        "path",
        expected=f"a file that ends in {suffix}, which suits this domain",
        got=repr(path.name),
        remedy="Leave the ending out, and it is chosen.",
    )


def _body(section: Section, grid: Grid) -> Body:
    """Cells over a section, from the grid of the whole domain."""
    axes = [grid.axes[i] for i in section.free]
    P = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inside = section.inside(P.reshape(-1, len(axes))).reshape(P.shape[:-1])
    if inside.all() and all(_is_regular(a) for a in axes):
        return _image(section, axes)
    if not inside.all():
        patch = patch_of(section, axes)
        mesh = Mesh(_in_space(patch.points), patch.cells, _SIMPLICES[len(axes)])
        return Body(mesh, section.points(patch.points))
    return _blocks(section, P)


def _is_regular(values: Array) -> bool:
    return len(values) > 1 and bool(np.ptp(np.diff(values)) <= 1e-9 * np.ptp(values))


def _image(section: Section, axes: list[Array]) -> Body:
    """All of a regular grid; VTK wants the first coordinate to run fastest."""
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
    return Body(image, section.points(P))


def _blocks(section: Section, P: Array) -> Body:
    """All cells of a grid that is not evenly spaced: segments, rectangles or bricks."""
    *shape, k = P.shape
    number = np.arange(int(np.prod(shape))).reshape(shape)
    corners = _CORNERS[: 2**k, :k]
    windows = [tuple(slice(c, c + n - 1) for c, n in zip(corner, shape, strict=True)) for corner in corners]
    cells = np.stack([number[w].ravel() for w in windows], axis=1)
    Q = P.reshape(-1, k)
    return Body(Mesh(_in_space(Q), cells, _CELLS[k]), section.points(Q))


def _in_space(P: Array) -> Array:
    """Points of one to three coordinates as points of three."""
    return np.column_stack([P, np.zeros((len(P), 3 - P.shape[1]))])
