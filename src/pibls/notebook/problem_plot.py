"""``problem.plot()``: the domain with its conditions, drawn by Matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry import Boundary, box_of, faces_of, space_of, time_of, within
from pibls.notebook.condition_text import PlainNotation, describe_conditions
from pibls.plot.backend import matplotlib
from pibls.problem.interfaces.decomposition import SubdomainDecomposition, subdomain_decomposition
from pibls.problem.problem import condition_regions

if TYPE_CHECKING:
    from pibls.problem.problem import Problem

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # safe for colour blindness
_GREY = "#999999"
_CURVE_POINTS, _SURFACE_POINTS = 401, 700
_RASTER = 240  # pixels along each side of the raster of materials
_MATERIAL_COLOURS = ("#f0f0f0", "#cfdce8", "#e8d9c4", "#d3e3d0", "#e3d3e0", "#dddddd")
_INTERFACE_LABEL = "where materials or sources change"


def plot_problem(problem: Problem, *, ax: Any = None) -> Any:
    """Draw the domain, with each part of its boundary in the colour of its condition.

    Materials are shaded, and dotted lines show their interfaces. Boundary parts without a condition are grey
    and dashed. For an evolution the space is drawn at the middle of the time interval. Returns the Matplotlib
    axes.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> u = sp.Function("u")(x, y)
    >>> disk = pibls.Disk((x, y), (0, 0), 1)
    >>> poisson = pibls.Problem(disk, [u.diff(x, 2) + u.diff(y, 2) + 1], [pibls.Dirichlet(u, 0)])
    >>> poisson.plot().get_xlabel()
    'x'
    """
    d = len(space_of(problem.domain).coordinates)
    if d > 3:
        raise ProblemError(
            "plot()",
            expected="a domain of at most three dimensions",
            got=f"one of {d}",
            remedy="Plot a problem on a section of the domain instead.",
        )
    axes = ax
    if axes is None:
        axes = (
            matplotlib("pyplot").figure(layout="constrained").add_subplot(projection="3d" if d == 3 else None)
        )
    texts = [
        f"{i + 1}: {what}, {where}"
        for i, (what, where) in enumerate(describe_conditions(problem, PlainNotation()))
    ]
    shown: set[int] = set()
    if d == 2:
        _shade_materials(problem, axes)
    for face in faces_of(problem.domain):
        rng = np.random.default_rng(0)
        k = face.dimension - (time_of(problem.domain) is not None)
        is_curve = k == 1 and face.has_chart
        U = (
            np.linspace(1e-6, 1 - 1e-6, _CURVE_POINTS)[:, None]
            if is_curve
            else rng.random((_SURFACE_POINTS if k else 1, k))
        )
        if time_of(problem.domain) is not None:
            U = np.column_stack([U, np.full(len(U), 0.5)])
        _draw_boundary(problem, axes, face.at(U, rng), d, is_curve, texts, shown)
    _draw_interfaces(problem, axes, d)
    for i, region in enumerate(condition_regions(problem)):
        X = region.isolated_points(problem.domain)[:, :d]
        if len(X):
            columns = X.T if d > 1 else (X[:, 0], np.zeros(len(X)))
            axes.plot(*columns, "o", color=_COLOURS[i % len(_COLOURS)], markersize=4, label=texts[i])
            shown.add(i)
    for i, text in enumerate(texts):
        if i not in shown:  # a condition on no part of the boundary, such as an initial condition
            axes.plot([], [], color=_COLOURS[i % len(_COLOURS)], label=text)
    _add_labels(problem, axes, d)
    return axes


def _shade_materials(problem: Problem, axes: Any) -> None:
    space = space_of(problem.domain)
    (a, b), (c, e) = box_of(space)
    x, y = np.linspace(a, b, _RASTER), np.linspace(c, e, _RASTER)
    X = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    inside = within(space, X)
    materials = _materials(problem)
    number = np.zeros(len(X)) if materials is None else materials.locate(X) % len(_MATERIAL_COLOURS)
    shade = np.where(inside, number + 1.0, 0.0).reshape(_RASTER, _RASTER)
    colours = matplotlib("colors").ListedColormap(("white", *_MATERIAL_COLOURS))
    axes.pcolormesh(x, y, shade, cmap=colours, vmin=-0.5, vmax=len(_MATERIAL_COLOURS) + 0.5,
                    shading="nearest", rasterized=True, zorder=0)  # fmt: skip


def _materials(problem: Problem) -> SubdomainDecomposition | None:
    """Return the materials, or None if there are none or they depend on time."""
    found = subdomain_decomposition(problem)
    return None if found is None or len(found.partition.domain.coordinates) != _dimension(problem) else found


def _dimension(problem: Problem) -> int:
    return len(space_of(problem.domain).coordinates)


def _draw_interfaces(problem: Problem, axes: Any, d: int) -> None:
    """Draw the interfaces between materials: curves and coordinate planes."""
    rng = np.random.default_rng(0)
    space = space_of(problem.domain)
    lines: list[Array] = []
    materials = _materials(problem)
    for face in (
        () if materials is None else {id(f): f for own in materials.interface_faces for f in own}.values()
    ):
        curve = face.dimension == 1 and face.has_chart
        U = (
            np.linspace(0.0, 1.0, _CURVE_POINTS)[:, None]
            if curve
            else rng.random((_SURFACE_POINTS, face.dimension))
        )
        lines.append(face.at(U, rng).points)
    box = box_of(space)
    for plane in problem.breaks.planes if d == 2 and materials is None else ():
        if plane.axis < d:
            X = np.full((_CURVE_POINTS, d), plane.level)
            low, high = box[1 - plane.axis].tolist()
            X[:, 1 - plane.axis] = np.linspace(low, high, _CURVE_POINTS)
            lines.append(np.where(within(space, X)[:, None], X, np.nan))
    for i, X in enumerate(lines):
        style = ":" if d == 2 else "."
        axes.plot(
            *X.T, style, color="black", linewidth=1.2, markersize=1, label=None if i else _INTERFACE_LABEL
        )


def _draw_boundary(
    problem: Problem, axes: Any, found: Boundary, d: int, is_curve: bool, texts: list[str], shown: set[int]
) -> None:
    regions = condition_regions(problem)
    masks = np.array([r.mask(found) for r in regions]).reshape(len(regions), -1)
    kind = np.where(masks.any(axis=0), masks.argmax(axis=0), -1)
    for i in np.unique(kind):
        here = kind == i
        columns: tuple[Array, ...] = tuple(found.points[:, :d].T)
        style: dict[str, Any] = {"color": _GREY if i < 0 else _COLOURS[i % len(_COLOURS)]}
        if i >= 0 and i not in shown:
            style["label"] = texts[i]
            shown.add(int(i))
        if is_curve:
            line = [np.where(here, c, np.nan) for c in columns]
            axes.plot(*line, linewidth=2.5 if i >= 0 else 1.2, linestyle="-" if i >= 0 else "--", **style)
        else:
            points = [c[here] for c in columns] if d > 1 else [columns[0][here], np.zeros(int(here.sum()))]
            axes.plot(*points, "." if d > 1 else "o", markersize=3 if d > 1 else 7, **style)


def _add_labels(problem: Problem, axes: Any, d: int) -> None:
    names = [str(c) for c in problem.coordinates]
    axes.set_xlabel(names[0])
    if d == 1:
        (a, b), *_ = box_of(space_of(problem.domain))
        axes.plot([a, b], [0, 0], color=_GREY, linewidth=1.0, zorder=0)
        axes.set_yticks([])
    else:
        axes.set_ylabel(names[1])
        axes.set_aspect("equal")
    if d == 3:
        axes.set_zlabel(names[2])
    axes.use_sticky_edges = False
    axes.margins(0.05)  # otherwise the frame would cover sides of the domain
    lines, labels = axes.get_legend_handles_labels()
    order = np.argsort(
        [math.inf if s == _INTERFACE_LABEL else int(s.partition(":")[0]) for s in labels], kind="stable"
    )
    lines, labels = [lines[i] for i in order], [labels[i] for i in order]
    axes.figure.legend(lines, labels, loc="outside lower center", fontsize="small")
