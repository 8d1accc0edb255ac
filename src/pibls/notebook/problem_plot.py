"""``problem.plot()``: the domain with its conditions, drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.geometry import Boundary, Face, box_of, faces_of, space_of, time_of, within
from pibls.notebook.condition_legend import condition_labels
from pibls.notebook.condition_numbers import NumberedPart, place_numbers
from pibls.notebook.problem_axes import ProblemAxes
from pibls.notebook.svg import runs
from pibls.plot.backend import figure_of, matplotlib
from pibls.plot.labels import typeset
from pibls.plot.style_sheet import COLOURS, GREY, styled
from pibls.problem.interfaces.decomposition import SubdomainDecomposition, subdomain_decomposition
from pibls.problem.problem import condition_regions
from pibls.problem.regions.selection import Region
from pibls.text.typeset import name_latex

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pibls.geometry.protocol import Domain
    from pibls.problem.problem import Problem

_CURVE_POINTS, _SURFACE_POINTS = 401, 700
_RASTER = 240  # pixels along each side of the raster of materials
_MATERIAL_COLOURS = ("#f0f0f0", "#cfdce8", "#e8d9c4", "#d3e3d0", "#e3d3e0", "#dddddd")
_INTERFACE_LABEL = "where materials or sources change"
_MAX_NUMBERS = 4  # of one set of conditions
_MIN_NUMBERED_LENGTH = 0.3  # relative to the longest part of the same conditions
_ConditionSet: TypeAlias = tuple[int, ...]
"""The indices of the conditions that hold at a place."""


@styled
def plot_problem(problem: Problem, *, ax: Axes | None = None) -> Axes:
    """Draw the domain, with each part of its boundary in the colour of its condition, and its number.

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
    '$x$'
    """
    d = len(space_of(problem.domain).coordinates)
    if d > 3:
        raise ProblemError(
            "plot()",
            expected="a domain of at most three dimensions",
            got=f"one of {d}",
            remedy="Plot a problem on a section of the domain instead.",
        )
    picture = ProblemAxes.of(box_of(space_of(problem.domain)), ax)
    axes: Axes = picture.axes
    drawn = _ConditionParts(axes, condition_regions(problem), d)
    if d == 2:
        _shade_materials(problem, axes)
    for face in faces_of(problem.domain):
        drawn.draw(*_sampled(face, time_of(problem.domain) is not None))
    interface = _draw_interfaces(problem, axes, d)
    drawn.draw_isolated_points(problem.domain)
    if d == 1:
        axes.plot(picture.box[0], [0, 0], color=GREY, linewidth=1.0, zorder=0)
    labels = condition_labels(problem, figure_of(axes), picture.legend_width)
    handles = [drawn.handle(i) for i in range(len(labels))]
    if interface is not None:
        handles, labels = [*handles, interface], [*labels, _INTERFACE_LABEL]
    picture.add_legend(handles, labels)
    picture.set_limits([typeset(name_latex(str(c)), str(c)) for c in problem.coordinates])
    if d < 3:
        place_numbers(axes, drawn.labelled_parts(), drawn.boundary_points())
    return axes


def _sampled(face: Face, extends_in_time: bool) -> tuple[Boundary, bool]:
    """Return points of a face, at the middle of the time interval, and whether they are along a curve."""
    rng = np.random.default_rng(0)
    k = face.dimension - extends_in_time
    is_curve = k == 1 and face.has_chart
    U = (
        np.linspace(1e-6, 1 - 1e-6, _CURVE_POINTS)[:, None]
        if is_curve
        else rng.random((_SURFACE_POINTS if k else 1, k))
    )
    if extends_in_time:
        U = np.column_stack([U, np.full(len(U), 0.5)])
    return face.at(U, rng), is_curve


def _shade_materials(problem: Problem, axes: Axes) -> None:
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


def _interface_faces(materials: SubdomainDecomposition | None) -> list[Face]:
    """Return the faces between materials, each once."""
    if materials is None:
        return []
    return list({id(f): f for own in materials.interface_faces for f in own}.values())


def _draw_interfaces(problem: Problem, axes: Axes, d: int) -> Artist | None:
    """Draw the interfaces between materials: curves and coordinate planes; return one, or None."""
    rng = np.random.default_rng(0)
    space = space_of(problem.domain)
    lines: list[Array] = []
    materials = _materials(problem)
    for face in _interface_faces(materials):
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
    style = ":" if d == 2 else "."
    shown = [axes.plot(*X.T, style, color="black", linewidth=1.2, markersize=1)[0] for X in lines]
    return shown[0] if shown else None


class _ConditionParts:
    """The parts of the boundary by the set of conditions that hold there, each set in its own colour."""

    def __init__(self, axes: Axes, regions: Sequence[Region], d: int) -> None:
        self.axes, self.regions, self.d = axes, regions, d
        self.colours: dict[_ConditionSet, str] = {}
        self.parts: dict[_ConditionSet, list[NumberedPart]] = {}
        self.points: list[Array] = []

    def draw(self, found: Boundary, is_curve: bool) -> None:
        """Draw points of a face, which are ordered along it if it is a curve."""
        masks = np.array([r.mask(found) for r in self.regions], dtype=bool).reshape(len(self.regions), -1)
        X, normals = found.points[:, : self.d], found.normals[:, : self.d]
        if self.d < 3:
            self.points.append(_planar(X))
        for column in np.unique(masks, axis=1).T[::-1]:  # in the order of the first condition
            here = (masks == column[:, None]).all(axis=0)
            conditions = tuple(np.flatnonzero(column).tolist())
            style: dict[str, Any] = {"color": self._colour(conditions)}
            if is_curve:
                line = np.where(here[:, None], X, np.nan).T
                axes_style = {"linewidth": 2.5} if conditions else {"linewidth": 1.2, "linestyle": "--"}
                self.axes.plot(*line, **style, **axes_style)
            else:
                points = X[here] if self.d > 1 else _planar(X[here])
                self.axes.plot(
                    *points.T, "." if self.d > 1 else "o", markersize=3 if self.d > 1 else 7, **style
                )
            if self.d < 3:
                self._add_parts(conditions, X, normals, here, is_curve)

    def draw_isolated_points(self, domain: Domain) -> None:
        """Draw the points at which conditions hold."""
        for i, region in enumerate(self.regions):
            X = region.isolated_points(domain)[:, : self.d]
            if len(X):
                points = X if self.d > 1 else _planar(X)
                self.axes.plot(*points.T, "o", color=self._colour((i,)), markersize=4)
                if self.d < 3:
                    up = np.tile([0.7, 0.7], (1, 1))
                    self.parts.setdefault((i,), []).extend(self._part((i,), x[None], up) for x in X)

    def handle(self, i: int) -> Artist:
        """Return the entry of a condition in the legend, empty if it holds on no part of the boundary."""
        sets = [conditions for conditions in self.colours if i in conditions]
        colour = self.colours[min(sets, key=len)] if sets else "none"
        look: dict[str, Any] = (
            {"linewidth": 2.5} if self.d == 2 else {"linestyle": "", "marker": "o", "markersize": 6}
        )
        entry: Artist = matplotlib("lines").Line2D([], [], color=colour, **look)
        return entry

    def labelled_parts(self) -> list[NumberedPart]:
        """Return the parts to be numbered: of each set of conditions the longest ones."""
        chosen = []
        for parts in self.parts.values():
            longest = sorted(parts, key=lambda p: -_length(p.points))[:_MAX_NUMBERS]
            least = _MIN_NUMBERED_LENGTH * _length(longest[0].points)
            chosen += [p for p in longest if _length(p.points) >= least]
        return chosen

    def boundary_points(self) -> Array:
        """Return all points of the boundary that were drawn."""
        return np.concatenate(self.points)

    def _colour(self, conditions: _ConditionSet) -> str:
        if not conditions:
            return GREY
        if conditions not in self.colours:
            # The colour of the first condition; if another set has it, one after those of all conditions.
            firsts = [other[0] for other in self.colours]
            repeated = len(firsts) - len(set(firsts))
            index = len(self.regions) + repeated if conditions[0] in firsts else conditions[0]
            self.colours[conditions] = COLOURS[index % len(COLOURS)]
        return self.colours[conditions]

    def _part(self, conditions: _ConditionSet, X: Array, normals: Array) -> NumberedPart:
        text = ", ".join(str(i + 1) for i in conditions)
        return NumberedPart(text, self._colour(conditions), _planar(X), _planar(normals))

    def _add_parts(
        self, conditions: _ConditionSet, X: Array, normals: Array, here: Mask, is_curve: bool
    ) -> None:
        if not conditions:
            return
        own = self.parts.setdefault(conditions, [])
        if self.d == 1:
            own.append(self._part(conditions, X[here], np.tile([0.0, 1.0], (int(here.sum()), 1))))
        elif is_curve:
            if here[0] and here[-1] and not here.all() and np.hypot(*(X[0] - X[-1])) < _length(X) / 100:
                # A closed curve, whose parts are counted from one that ends there.
                shift = -int(np.argmin(here))
                X, normals = np.roll(X, shift, axis=0), np.roll(normals, shift, axis=0)
                here = np.roll(here, shift)
            own += [self._part(conditions, X[a:b], normals[a:b]) for a, b in runs(here)]
        else:
            own.append(self._part(conditions, X[here], normals[here]))


def _planar(X: Array) -> Array:
    """Return points (n, 1) or (n, 2) as points of the plane, (n, 2)."""
    return X if X.shape[1] == 2 else np.column_stack([X[:, 0], np.zeros(len(X))])


def _length(points: Array) -> float:
    return float(np.hypot(*np.diff(points, axis=0).T).sum())
