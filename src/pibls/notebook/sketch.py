"""SVG sketch of a domain with the numbers of the conditions.

Faces with a parametrization are drawn as curves, other boundaries as random points.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from sympy.printing.pretty.pretty_symbology import pretty_symbol

from pibls.arrays import Array
from pibls.expressions import Coordinate
from pibls.geometry import Boundary, Domain, Face, faces_of, space_of, time_of, within
from pibls.notebook.svg import MARGIN, SketchProjection, circle, polyline, rectangle, runs, text_element
from pibls.plot.style_sheet import COLOURS, GREY
from pibls.problem.regions.selection import Region

_CURVE_POINTS = 65
_RANDOM_POINTS = 240
_RASTER = 50  # rows and columns of the raster of the interior
_ConditionSet: TypeAlias = tuple[int, ...]
"""The numbers, from 0, of the conditions at a place."""


def sketch(domain: Domain, regions: Sequence[Region]) -> str:
    """Return an SVG drawing; empty if there are more than three space coordinates.

    ``regions`` are the regions of the conditions; each is labelled with the number of its condition, from 1.
    """
    if len(space_of(domain).coordinates) > 3:
        return ""
    return _Sketch(domain, tuple(regions)).svg()


class _Sketch:
    def __init__(self, domain: Domain, regions: tuple[Region, ...]) -> None:
        self.domain, self.regions, self.projection = domain, regions, SketchProjection(domain)
        self.colours: dict[_ConditionSet, str] = {(): GREY}

    def svg(self) -> str:
        parts = [
            *self._interior(),
            *self._boundary(),
            *self._slices(),
            *self._single_points(),
            *self._coordinate_labels(),
        ]
        w, h = self.projection.width + 2 * MARGIN, self.projection.height + 2 * MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" '
            f'viewBox="0 0 {w:.1f} {h:.1f}" role="img" font-family="sans-serif" font-size="12" '
            f'fill="currentColor">{"".join(parts)}</svg>'
        )

    def _interior(self) -> list[str]:
        """Shade the interior row by row; draw a line or the edges of the bounds if it is not planar."""
        projection = self.projection
        corners = projection.corners()
        if projection.drawn_dimensions != 2:
            edges = [(a, b) for i, a in enumerate(corners) for b in corners[i + 1 :] if (a != b).sum() == 1]
            return [polyline(projection.place(np.array(edge)), GREY, 1.2) for edge in edges]
        middles = (np.arange(_RASTER) + 0.5) / _RASTER
        x, y = (low + (high - low) * middles for low, high in projection.box[:2])
        P = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        mask = within(self.domain, projection.points(P)).reshape(_RASTER, _RASTER)
        w, h = projection.width / _RASTER, projection.height / _RASTER
        # Equal rows are merged, so that a box is a single rectangle.
        changes = np.flatnonzero((mask[1:] != mask[:-1]).any(axis=1)) + 1
        return [
            rectangle(
                MARGIN + start * w, MARGIN + projection.height - top * h, (stop - start) * w, (top - row) * h
            )
            for row, top in pairwise([0, *changes.tolist(), _RASTER])
            for start, stop in runs(mask[row])
        ]

    def _boundary(self) -> list[str]:
        out: list[str] = []
        for face in faces_of(self.domain):
            found, is_curve = self._sample_face(face)
            conditions = _conditions_at(self.regions, found)
            points, normals = self.projection.place(found.points), self.projection.direction(found.normals)
            out += (self._curve if is_curve else self._point_set)(points, normals, conditions)
        return out

    def _sample_face(self, face: Face) -> tuple[Boundary, bool]:
        """Return points of a face, and whether they are ordered along a curve."""
        rng = np.random.default_rng(0)
        if not face.has_chart:
            return face.at(np.empty((_RANDOM_POINTS, face.dimension)), rng), False
        k = face.dimension - self.projection.hides_time
        # Without the ends, as a corner also belongs to the adjacent side; for a face of a body its centre.
        U = np.linspace(1e-6, 1 - 1e-6, _CURVE_POINTS)[:, None] if k == 1 else np.full((1, k), 0.5)
        if self.projection.hides_time:
            U = np.column_stack([U, np.full(len(U), 0.5)])
        return face.at(U, rng), k == 1

    def _curve(self, points: Array, normals: Array, conditions: tuple[_ConditionSet, ...]) -> list[str]:
        out: list[str] = []
        changes = {i for i in range(1, len(conditions)) if conditions[i] != conditions[i - 1]}
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        jumps = {int(i) + 1 for i in np.flatnonzero(steps > 4 * np.median(steps))}  # where another shape cuts
        for start, stop in pairwise(sorted({0, *changes, *jumps, len(conditions)})):
            here, middle = conditions[start], (start + stop) // 2
            joined = stop + 1 if stop in changes - jumps else stop
            out.append(
                polyline(points[start:joined], self._colour(here), 3.0 if here else 1.0, dashed=not here)
            )
            out += self._number_label(points[middle], normals[middle], here)
        return out

    def _point_set(self, points: Array, normals: Array, conditions: tuple[_ConditionSet, ...]) -> list[str]:
        """Draw each point, with the number at the uppermost point of each set of conditions."""
        out: list[str] = []
        seen: set[_ConditionSet] = set()
        radius = {1: 4.0, 2: 1.6, 3: 0.0}[self.projection.drawn_dimensions]
        for i in np.argsort(points[:, 1], kind="stable"):
            out += [circle(points[i], self._colour(conditions[i]), radius)] if radius else []
            if conditions[i] not in seen:
                out += self._number_label(points[i], normals[i], conditions[i])
                seen.add(conditions[i])
        return out

    def _slices(self) -> list[str]:
        """Draw conditions at x = level as lines; label the whole domain if the coordinate is not drawn."""
        out: list[str] = []
        projection = self.projection
        for conditions, region, (axis, level) in self._grouped_slices():
            if axis >= projection.drawn_dimensions:
                text = f"{_pretty(time_of(self.domain))} = {level:g}: {_numbers(conditions)}"
                middle = (MARGIN + projection.width / 2, MARGIN + projection.height / 2)
                out.append(text_element(middle, text, "middle", colour=self._colour(conditions), bold=True))
                continue
            U = np.linspace(0.0, 1.0, _CURVE_POINTS if projection.drawn_dimensions > 1 else 1)[:, None]
            P = (
                projection.box[: projection.drawn_dimensions, 0] * (1 - U)
                + projection.box[: projection.drawn_dimensions, 1] * U
            )
            P[:, axis] = level
            X = projection.points(P)
            keep = within(self.domain, X) & region.holds(X)
            outward = np.zeros((1, projection.drawn_dimensions))
            outward[0, axis] = -1.0 if level <= projection.box[axis, 0] else 1.0
            for start, stop in runs(keep):
                found = projection.place(X[start:stop])
                colour = self._colour(conditions)
                out.append(polyline(found, colour, 3.0) if len(found) > 1 else circle(found[0], colour, 4.0))
                out += self._number_label(
                    found[len(found) // 2], projection.direction(outward)[0], conditions
                )
        return out

    def _grouped_slices(self) -> list[tuple[_ConditionSet, Region, tuple[int, float]]]:
        """Group equal slices, because u and its time derivative are often both given at the start."""
        planes = {r: plane for r in self.regions if (plane := r.plane()) is not None}
        return [
            (tuple(i for i, r in enumerate(self.regions) if r == kind), kind, plane)
            for kind, plane in planes.items()
        ]

    def _single_points(self) -> list[str]:
        out: list[str] = []
        for i, region in enumerate(self.regions):
            points = self.projection.place(region.isolated_points(self.domain))
            out += [circle(point, self._colour((i,)), 4.0) for point in points]
            if len(points):
                out += self._number_label(points[0], np.array([0.7, -0.7]), (i,))
        return out

    def _coordinate_labels(self) -> list[str]:
        """Label the coordinates, with their bounds along the lower and the left side."""
        projection = self.projection
        names = [_pretty(c) for c in self.domain.coordinates]
        bottom = MARGIN + projection.height
        (low, high), middle = projection.box[0], MARGIN + projection.x_length / 2
        out = [
            text_element((MARGIN, bottom + 32), f"{low:g}", "start"),
            text_element((middle, bottom + 32), names[0], "middle", italic=True),
            text_element((MARGIN + projection.x_length, bottom + 32), f"{high:g}", "end"),
        ]
        if projection.drawn_dimensions == 2:
            low, high = projection.box[1]
            out += [
                text_element((MARGIN - 28, bottom), f"{low:g}", "end"),
                text_element((MARGIN - 28, MARGIN + projection.height / 2 + 4), names[1], "end", italic=True),
                text_element((MARGIN - 28, MARGIN + 9), f"{high:g}", "end"),
            ]
        for i in range(1, projection.drawn_dimensions) if projection.drawn_dimensions == 3 else ():
            ends = np.tile(projection.box[:3, 0], (2, 1))
            ends[1, i] = projection.box[i, 1]
            x, y = projection.place(ends.mean(axis=0, keepdims=True))[0]
            out.append(text_element((float(x) - 6, float(y)), names[i], "end", italic=True))
        return out

    def _colour(self, conditions: _ConditionSet) -> str:
        if conditions not in self.colours:
            self.colours[conditions] = COLOURS[(len(self.colours) - 1) % len(COLOURS)]
        return self.colours[conditions]

    def _number_label(self, point: Array, normal: Array, conditions: _ConditionSet) -> list[str]:
        if not conditions:
            return []
        text = _numbers(conditions)
        away = np.array([10.0 + 3.2 * len(text), 13.0])  # horizontal distance by text width
        x, y = point + away * normal / (float(np.linalg.norm(normal)) or 1.0)
        return [
            text_element((float(x), float(y) + 4), text, "middle", colour=self._colour(conditions), bold=True)
        ]


def _conditions_at(regions: tuple[Region, ...], boundary: Boundary) -> tuple[_ConditionSet, ...]:
    """Return, for each boundary point, the numbers of the conditions that hold there."""
    masks = {i: r.mask(boundary) for i, r in enumerate(regions)}
    return tuple(tuple(i for i, m in masks.items() if m[p]) for p in range(len(boundary.points)))


def _numbers(conditions: _ConditionSet) -> str:
    return ", ".join(str(i + 1) for i in conditions)


def _pretty(symbol: Coordinate) -> str:
    return escape(str(pretty_symbol(str(symbol))))
