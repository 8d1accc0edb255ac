"""The domain as a small drawing, with the numbers of the conditions where they hold.

Drawn from what every shape offers: its faces where it has them, random points of the boundary where not.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from sympy.printing.pretty.pretty_symbology import pretty_symbol

from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, Face, faces_of, space_of, time_of, within
from pibls.notebook.sheet import MARGIN, Paper, block, dot, line, runs, words
from pibls.problem.regions.on import Region

_SAMPLES = 65
_DOTS = 240
_ROWS = 50
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # for the colour-blind too
_GREY = "#999999"
_Held: TypeAlias = tuple[int, ...]
"""Numbers of the conditions that hold somewhere, from 0."""


def sketch(domain: Domain, regions: Sequence[Region]) -> str:
    """An SVG drawing; empty where there are more coordinates than paper can show.

    ``regions`` are where the conditions hold; at each stands the number of its condition, from 1.
    """
    if len(space_of(domain).coordinates) > 3:
        return ""
    return _Sketch(domain, tuple(regions)).svg()


class _Sketch:
    def __init__(self, domain: Domain, regions: tuple[Region, ...]) -> None:
        self.domain, self.regions, self.paper = domain, regions, Paper(domain)
        self.colours: dict[_Held, str] = {(): _GREY}

    def svg(self) -> str:
        parts = [*self._inside(), *self._boundary(), *self._slices(), *self._spots(), *self._names()]
        w, h = self.paper.width + 2 * MARGIN, self.paper.height + 2 * MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" '
            f'viewBox="0 0 {w:.1f} {h:.1f}" role="img" font-family="sans-serif" font-size="12" '
            f'fill="currentColor">{"".join(parts)}</svg>'
        )

    def _inside(self) -> list[str]:
        """The domain tinted, row by row; a line, or the edges of the bounds, where there is no area."""
        paper = self.paper
        corners = paper.corners()
        if paper.drawn != 2:
            edges = [(a, b) for i, a in enumerate(corners) for b in corners[i + 1 :] if (a != b).sum() == 1]
            return [line(paper.place(np.array(edge)), _GREY, 1.2) for edge in edges]
        middles = (np.arange(_ROWS) + 0.5) / _ROWS
        x, y = (low + (high - low) * middles for low, high in paper.box[:2])
        P = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        mask = within(self.domain, paper.points(P)).reshape(_ROWS, _ROWS)
        w, h = paper.width / _ROWS, paper.height / _ROWS
        # Equal rows in one piece, so that a box is a single one.
        changes = np.flatnonzero((mask[1:] != mask[:-1]).any(axis=1)) + 1
        return [
            block(MARGIN + start * w, MARGIN + paper.height - top * h, (stop - start) * w, (top - row) * h)
            for row, top in pairwise([0, *changes.tolist(), _ROWS])
            for start, stop in runs(mask[row])
        ]

    def _boundary(self) -> list[str]:
        out: list[str] = []
        for face in faces_of(self.domain):
            found, is_curve = self._sample(face)
            held = _held(self.regions, found)
            points, normals = self.paper.place(found.points), self.paper.direction(found.normals)
            out += (self._curve if is_curve else self._dots)(points, normals, held)
        return out

    def _sample(self, face: Face) -> tuple[Boundary, bool]:
        """Points of a face, and whether they follow each other along a curve."""
        rng = np.random.default_rng(0)
        if not face.has_chart:
            return face.at(np.empty((_DOTS, face.dimension)), rng), False
        k = face.dimension - self.paper.hides_time
        # Not to the very ends: a corner belongs to the neighbouring side too. Of a body's side, its middle.
        U = np.linspace(1e-6, 1 - 1e-6, _SAMPLES)[:, None] if k == 1 else np.full((1, k), 0.5)
        if self.paper.hides_time:
            U = np.column_stack([U, np.full(len(U), 0.5)])
        return face.at(U, rng), k == 1

    def _curve(self, points: Array, normals: Array, held: tuple[_Held, ...]) -> list[str]:
        out: list[str] = []
        changes = {i for i in range(1, len(held)) if held[i] != held[i - 1]}
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        jumps = {int(i) + 1 for i in np.flatnonzero(steps > 4 * np.median(steps))}  # where another shape cuts
        for start, stop in pairwise(sorted({0, *changes, *jumps, len(held)})):
            here, middle = held[start], (start + stop) // 2
            joined = stop + 1 if stop in changes - jumps else stop
            out.append(line(points[start:joined], self._colour(here), 3.0 if here else 1.0, dashed=not here))
            out += self._number(points[middle], normals[middle], here)
        return out

    def _dots(self, points: Array, normals: Array, held: tuple[_Held, ...]) -> list[str]:
        """Each point, and at the highest of each kind its number."""
        out: list[str] = []
        seen: set[_Held] = set()
        radius = {1: 4.0, 2: 1.6, 3: 0.0}[self.paper.drawn]
        for i in np.argsort(points[:, 1], kind="stable"):
            out += [dot(points[i], self._colour(held[i]), radius)] if radius else []
            if held[i] not in seen:
                out += self._number(points[i], normals[i], held[i])
                seen.add(held[i])
        return out

    def _slices(self) -> list[str]:
        """x = level: a line in the plane; at the start of a time that is not drawn, the whole domain."""
        out: list[str] = []
        paper = self.paper
        for held, region, (axis, level) in self._grouped_slices():
            if axis >= paper.drawn:
                text = f"{_pretty(time_of(self.domain))} = {level:g}: {_numbers(held)}"
                middle = (MARGIN + paper.width / 2, MARGIN + paper.height / 2)
                out.append(words(middle, text, "middle", colour=self._colour(held), bold=True))
                continue
            U = np.linspace(0.0, 1.0, _SAMPLES if paper.drawn > 1 else 1)[:, None]
            P = paper.box[: paper.drawn, 0] * (1 - U) + paper.box[: paper.drawn, 1] * U
            P[:, axis] = level
            X = paper.points(P)
            keep = within(self.domain, X) & region.holds(X)
            outward = np.zeros((1, paper.drawn))
            outward[0, axis] = -1.0 if level <= paper.box[axis, 0] else 1.0
            for start, stop in runs(keep):
                found = paper.place(X[start:stop])
                colour = self._colour(held)
                out.append(line(found, colour, 3.0) if len(found) > 1 else dot(found[0], colour, 4.0))
                out += self._number(found[len(found) // 2], paper.direction(outward)[0], held)
        return out

    def _grouped_slices(self) -> list[tuple[_Held, Region, tuple[int, float]]]:
        """Equal slices together: u and its rate are often both given at the start."""
        planes = {r: plane for r in self.regions if (plane := r.plane()) is not None}
        return [
            (tuple(i for i, r in enumerate(self.regions) if r == kind), kind, plane)
            for kind, plane in planes.items()
        ]

    def _spots(self) -> list[str]:
        out: list[str] = []
        for i, region in enumerate(self.regions):
            points = self.paper.place(region.spots(self.domain))
            out += [dot(point, self._colour((i,)), 4.0) for point in points]
            if len(points):
                out += self._number(points[0], np.array([0.7, -0.7]), (i,))
        return out

    def _names(self) -> list[str]:
        """The coordinates; along the lower and the left side with their ends."""
        paper = self.paper
        names = [_pretty(c) for c in self.domain.coordinates]
        bottom = MARGIN + paper.height
        (low, high), middle = paper.box[0], MARGIN + paper.base / 2
        out = [
            words((MARGIN, bottom + 32), f"{low:g}", "start"),
            words((middle, bottom + 32), names[0], "middle", italic=True),
            words((MARGIN + paper.base, bottom + 32), f"{high:g}", "end"),
        ]
        if paper.drawn == 2:
            low, high = paper.box[1]
            out += [
                words((MARGIN - 28, bottom), f"{low:g}", "end"),
                words((MARGIN - 28, MARGIN + paper.height / 2 + 4), names[1], "end", italic=True),
                words((MARGIN - 28, MARGIN + 9), f"{high:g}", "end"),
            ]
        for i in range(1, paper.drawn) if paper.drawn == 3 else ():
            ends = np.tile(paper.box[:3, 0], (2, 1))
            ends[1, i] = paper.box[i, 1]
            x, y = paper.place(ends.mean(axis=0, keepdims=True))[0]
            out.append(words((float(x) - 6, float(y)), names[i], "end", italic=True))
        return out

    def _colour(self, held: _Held) -> str:
        if held not in self.colours:
            self.colours[held] = _COLOURS[(len(self.colours) - 1) % len(_COLOURS)]
        return self.colours[held]

    def _number(self, point: Array, normal: Array, held: _Held) -> list[str]:
        if not held:
            return []
        text = _numbers(held)
        away = np.array([10.0 + 3.2 * len(text), 13.0])  # to the side, as far as the text is wide
        x, y = point + away * normal / (float(np.linalg.norm(normal)) or 1.0)
        return [words((float(x), float(y) + 4), text, "middle", colour=self._colour(held), bold=True)]


def _held(regions: tuple[Region, ...], boundary: Boundary) -> tuple[_Held, ...]:
    """For each boundary point, the numbers of the conditions that hold there."""
    masks = {i: r.mask(boundary) for i, r in enumerate(regions)}
    return tuple(tuple(i for i, m in masks.items() if m[p]) for p in range(len(boundary.points)))


def _numbers(held: _Held) -> str:
    return ", ".join(str(i + 1) for i in held)


def _pretty(symbol: Any) -> str:
    return escape(str(pretty_symbol(str(symbol))))
